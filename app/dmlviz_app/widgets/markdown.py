"""Escapes user-supplied text for Markdown."""

import re

_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|<>$:~&-])")


def escape_markdown(text: object) -> str:
    """Escape `text`, so that Markdown renders no link, image, color or formula."""
    return _MARKS.sub(r"\\\1", str(text))
