"""Props of the export menu, of the field that takes files, and of the preview of what has come."""

from typing import NotRequired

from typing_extensions import TypedDict

from dmlviz.data.import_report import ImportReport
from dmlviz.workers.imports import ImportedTiles


class Script(TypedDict):
    """A script that gives the run again."""

    title: str
    text: str


class ExportFile(TypedDict):
    """A file to download, or the problem that it cannot be made here."""

    title: str
    summary: str
    url: str
    name: str
    problem: str


class ExportProps(TypedDict):
    """The files that can be exported from a run."""

    scripts: list[Script]
    files: list[ExportFile]
    figures: dict[str, str]
    note: str
    loading: NotRequired[str]


class ImportPreviewProps(ImportReport):
    """The preview of uploaded files."""

    summary: str
    tiles: ImportedTiles | None


class DrawPointsProps(TypedDict):
    """The plane to draw points on, and where they are sent."""

    url: str


class UploadProps(TypedDict):
    """The field that takes files: one with such an ending, or several and folders where `accept` is empty.

    `limit` is in bytes, `held` the name of a file that is here already.
    """

    url: str
    accept: list[str]
    limit: int
    held: str
