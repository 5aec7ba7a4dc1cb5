"""A link as a QR code."""

from functools import lru_cache

import segno

BORDER = 4  # modules of quiet zone that the standard asks for


@lru_cache(maxsize=64)
def qr_path(text: str) -> tuple[str, int]:
    """Return a QR code as the path of an SVG, one unit a module, and the side of the whole in units.

    Args:
        text: What the code says.

    Returns:
        The path's `d`, and the side with the quiet zone.
    """
    code = segno.make(text, error="m", micro=False)
    row: list[int] = []
    runs = []
    for y, modules in enumerate(code.matrix_iter(border=BORDER)):
        row = list(modules)
        x = 0
        while x < len(row):
            end = x
            while end < len(row) and row[end]:
                end += 1
            if end > x:
                runs.append(f"M{x} {y}h{end - x}v1H{x}z")
            x = end + 1
    return "".join(runs), len(row)
