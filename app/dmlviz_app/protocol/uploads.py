"""Props of the field that takes files, and of the preview of what has come."""

from typing_extensions import TypedDict

from dmlviz.data.import_report import ImportReport
from dmlviz.workers.imports import ImportedTiles


class ImportPreviewProps(ImportReport):
    """The preview of uploaded files."""

    summary: str
    tiles: ImportedTiles | None


class UploadProps(TypedDict):
    """The field that takes files: one with such an ending, or several and folders where `accept` is empty.

    `limit` is in bytes, `held` the name of a file that is here already.
    """

    url: str
    accept: list[str]
    limit: int
    held: str
