"""Props of the preview of uploaded files."""

from typing import NotRequired

from typing_extensions import TypedDict


class ImportedClass(TypedDict):
    """A class that was found, with its counts."""

    name: str
    train: NotRequired[int]
    test: int


class LeftOut(TypedDict):
    """Why files were left out, how many, and the first of their names."""

    reason: str
    count: int
    names: list[str]


class ImportedTiles(TypedDict):
    """The first pictures of each class on one sheet."""

    url: str
    columns: int
    counts: list[int]


class ImportPreviewProps(TypedDict):
    """What was understood of somebody's files."""

    summary: str
    notes: list[str]
    warnings: list[str]
    left_out: list[LeftOut]
    classes: list[ImportedClass]
    tiles: ImportedTiles | None
