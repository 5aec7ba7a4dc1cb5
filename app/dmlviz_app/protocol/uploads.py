"""Props of the preview of uploaded files."""

from dmlviz.data.import_report import ImportReport
from dmlviz.workers.imports import ImportedTiles


class ImportPreviewProps(ImportReport):
    """The preview of uploaded files."""

    summary: str
    tiles: ImportedTiles | None
