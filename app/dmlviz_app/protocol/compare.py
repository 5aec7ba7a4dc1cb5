"""Props of the comparison of two runs."""

from typing import NotRequired

from typing_extensions import TypeAliasType, TypedDict

from dmlviz_app.protocol.common import Source


class ComparedSide(Source):
    """One of two runs."""

    title: str
    steps: int


class AgreementCell(TypedDict):
    """A number of test images, and their indices."""

    count: int
    bits: str


Agreement = TypeAliasType("Agreement", dict[str, AgreementCell])


class MapQuality(TypedDict):
    """The faithfulness of two maps: a row for each measure, with a value for each map."""

    titles: list[str]
    rows: list[tuple[str, list[float | None]]]
    note: str


class CompareProps(TypedDict):
    """Two runs side by side; `sides` is empty for two maps of one run, `quality` is that of maps of different kinds."""

    sides: list[ComparedSide]
    complete: bool
    quality: NotRequired[MapQuality]
    cells: NotRequired[Agreement]
    cells_url: NotRequired[str]
