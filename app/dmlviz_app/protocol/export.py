"""Props of the export menu."""

from typing import NotRequired

from typing_extensions import TypedDict


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
    note: str
    loading: NotRequired[str]
