"""The film of a training: the map from step to step, as an animated WebP or GIF."""

import contextlib
import io
import unicodedata
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont, features

from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.moments import Moment, moments
from dmlviz.export.painted import flat, groups
from dmlviz.figures.style import ACCENT, GROUND, LINE, MUTED, TEXT

SIDE = WIDTH, HEIGHT = 720, 600  # pixels
HEAD, FOOT = 40, 56  # of the height
LEGEND = 20  # classes named at most
FRAMES = (60, 40, 25)  # fewer where the file would be too large
MOST_BYTES = 6_000_000
FRAME_MS, LAST_MS = 100, 2500
FINE = 2  # times as large are points drawn, for smooth edges
TURN = np.pi / 60  # of a map of three dimensions, from frame to frame
FONTS = (  # which have most scripts; the first that has all letters of the names is taken
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "Arial.ttf",
    "arial.ttf",
    "NotoSansCJK-Regular.ttc",
    "Arial Unicode.ttf",
    "msyh.ttc",
    "Hiragino Sans GB.ttc",
)

Save = Callable[[list[Image.Image]], bytes]


def write_film(export: RunExport, file: IO[bytes]) -> None:
    """Write the film as an animated WebP."""
    file.write(_fitting(export, _webp))


def write_gif(export: RunExport, file: IO[bytes]) -> None:
    """Write the film as a GIF."""
    file.write(_fitting(export, _gif))


def _fitting(export: RunExport, save: Save) -> bytes:
    kept = moments(export)
    if problem := export.problem("film"):
        raise UserError(problem)
    for count in FRAMES:
        data = save([*_frames(export, kept, count)])
        if len(data) <= MOST_BYTES:
            break
    return data


def _webp(frames: list[Image.Image]) -> bytes:
    first, *rest = frames
    options = {"duration": _durations(frames), "loop": 0, "quality": 75, "method": 3}
    first.save(file := io.BytesIO(), "WEBP", save_all=True, append_images=rest, **options)
    return file.getvalue()


def _gif(frames: list[Image.Image]) -> bytes:
    colors = frames[-1].quantize(255, dither=Image.Dither.NONE)  # one palette, so that colors stay
    colors.putpalette([255 if value > 249 else value for value in colors.getpalette() or []])  # white stays white
    first, *rest = (frame.quantize(palette=colors, dither=Image.Dither.NONE) for frame in frames)
    options = {"duration": _durations(frames), "loop": 0, "optimize": False}
    first.save(file := io.BytesIO(), "GIF", save_all=True, append_images=rest, **options)
    return file.getvalue()


def _durations(frames: list[Image.Image]) -> list[int]:
    return [FRAME_MS] * (len(frames) - 1) + [LAST_MS]


def _frames(export: RunExport, kept: list[Moment], count: int) -> Iterator[Image.Image]:
    """Yield `count` pictures, evenly spread over the layouts; between two of them points move in a line."""
    picture = _Picture(export)
    area = export.look.area
    for number, place in enumerate(np.linspace(0, len(kept) - 1, count)):
        left = int(place)
        share, here, there = place - left, kept[left], kept[min(left + 1, len(kept) - 1)]
        items, rows, other = np.intersect1d(here.items, there.items, return_indices=True)
        places = (1 - share) * here.places[rows] + share * there.places[other]
        center = (1 - share) * np.array(here.box.center) + share * np.array(there.box.center)
        half = (1 - share) * here.box.scale + share * there.box.scale
        if len(center) == 3:
            places, center = flat(places, center, export.look.turn, TURN * number), np.zeros(3)
            order = np.argsort(places[:, 2])
            places, items, half = places[order], items[order], half * np.sqrt(2)
        elif area is not None:
            center = center + half * np.array([area[0] + area[2], area[1] + area[3]]) / 2
            half *= max(area[2] - area[0], area[3] - area[1]) / 2
        shown = here if share < 0.5 else there
        step = round((1 - share) * here.step + share * there.step)
        yield picture.drawn(places, items, center, half, step, kept[-1].step, shown.words)


class _Picture:
    """What all pictures of a film share: colors, legend, fonts."""

    def __init__(self, export: RunExport) -> None:
        self.export = export
        painted = groups(export)
        shown = ~np.isin(export.labels, list(export.look.hidden))
        self.groups = dict(zip(export.items[shown].tolist(), painted.of[shown].tolist(), strict=True))
        self.colors = painted.colors
        texts = [*painted.names, export.run.title]
        self.small, self.large = _font(15, texts), _font(18, texts)
        self.ground = Image.new("RGB", SIDE, GROUND["light"])
        draw = ImageDraw.Draw(self.ground)
        view = PROJECTIONS[export.view].title
        draw.text((16, 12), _cut(f"{export.run.title} · {view}", self.large, WIDTH - 32), TEXT["light"], self.large)
        named = {group: painted.names[group] for group in sorted(set(self.groups.values()))}
        nameless = [group for group, name in named.items() if _lacks(self.small, name)]
        named |= {group: f"class {group}" for group in nameless}
        self.legend = [*named.items()]
        self.note = f"no font of this machine has the letters of {len(nameless)} names" if nameless else ""

    def drawn(
        self, places: np.ndarray, items: np.ndarray, center: np.ndarray, half: float, step: int, of: int, words: str
    ) -> Image.Image:
        """Return the picture of places (n × 2, or 3 with the depth last)."""
        width, height = FINE * WIDTH, FINE * (HEIGHT - HEAD - FOOT)
        sheet = Image.new("RGB", (width, height), GROUND["light"])
        draw = ImageDraw.Draw(sheet)
        radius = FINE * float(np.clip(120 / len(items) ** 0.5, 1.4, 4.5))
        scale = (height / 2 - 2 * radius) / half
        xy = np.array([width / 2, height / 2]) + (places[:, :2] - center[:2]) * [scale, -scale]
        edge = GROUND["light"] if radius > 4 else None
        for (x, y), item in zip(xy.tolist(), items.tolist(), strict=True):
            group = self.groups.get(item)
            if x == x and group is not None:
                draw.ellipse((x - radius, y - radius, x + radius, y + radius), self.colors[group], edge)
        frame = self.ground.copy()
        frame.paste(sheet.reduce(FINE), (0, HEAD))
        self._write(ImageDraw.Draw(frame), step, of, words)
        return frame

    def _write(self, draw: ImageDraw.ImageDraw, step: int, of: int, words: str) -> None:
        for row, (group, name) in enumerate(self.legend[:LEGEND]):
            y = HEAD + 8 + 22 * row
            draw.ellipse((16, y + 5, 26, y + 15), self.colors[group])
            room = 150 if self.export.look.color == "class" else 400
            draw.text((34, y), _cut(name, self.small, room), TEXT["light"], self.small)
        if len(self.legend) > LEGEND:
            more = f"and {len(self.legend) - LEGEND:,} classes more"
            draw.text((16, HEAD + 8 + 22 * LEGEND), more, MUTED["light"], self.small)
        y = HEIGHT - FOOT + 10
        note = _cut(self.export.note, self.small, WIDTH - 32)
        draw.text((16, y - 24), note, MUTED["light"], self.small)
        draw.line((16, y, WIDTH - 16, y), LINE["light"], 3)
        draw.line((16, y, 16 + (WIDTH - 32) * step / max(of, 1), y), ACCENT["light"], 3)
        draw.text(
            (16, y + 14), " · ".join(filter(None, (f"step {step:,} of {of:,}", self.note))), TEXT["light"], self.small
        )
        draw.text((WIDTH - 16, y + 14), words, TEXT["light"], self.small, anchor="ra")


def _font(size: int, texts: list[str]) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font of this machine that has the letters of most texts, else Pillow's own."""
    found = []
    for name in FONTS:
        with contextlib.suppress(OSError):
            found.append(ImageFont.truetype(name, size))
    return min(found, key=lambda font: sum(_lacks(font, text) for text in texts), default=ImageFont.load_default(size))


def _lacks(font: ImageFont.FreeTypeFont | ImageFont.ImageFont, text: str) -> bool:
    """Return whether a text cannot be written: letters that join or run to the left need Raqm, all need the font.

    For a letter that a font lacks it draws what it draws for one that nobody has.
    """
    if not features.check("raqm") and any(unicodedata.bidirectional(letter) in ("R", "AL", "NSM") for letter in text):
        return True
    drawn: Any = font.getmask
    missing = bytes(drawn("\U0010fffe"))
    return any(bytes(drawn(letter)) == missing for letter in set(text) - set(" "))


def _cut(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: int) -> str:
    """Return as much of a text as fits: whole words, where one fits."""
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}…") > width:
        text = text.rpartition(" ")[0] or text[:-1]
    return f"{text}…"
