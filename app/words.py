"""Words that people or files gave, on a page that reads Markdown."""

import re

_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|<>$:~&-])")


def plain(text: object) -> str:
    """A text that Markdown shows letter by letter: no link, no picture, no colour, no formula."""
    return _MARKS.sub(r"\\\1", str(text))
