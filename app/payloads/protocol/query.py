"""What the drawing pad and the paste field are given, and what they send."""

from typing_extensions import TypedDict


class PadProps(TypedDict):
    """The drawing pad."""

    hint: str


class Drawing(TypedDict):
    """What was drawn: side × side bytes of ink, base64."""

    side: int
    strokes: int
    ink: str


class PastedPicture(TypedDict):
    """What was pasted, base64 of a JPEG; `count` tells the same picture twice from once."""

    count: int
    jpeg: str


class PasteProps(TypedDict):
    """Nothing."""
