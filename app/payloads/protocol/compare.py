"""Props of the comparison of two runs."""

from typing import NotRequired

from typing_extensions import TypedDict

from app.payloads.protocol.common import Source


class ComparedSide(Source):
    """One of two runs."""

    title: str
    steps: int


class AgreementCell(TypedDict):
    """How many test images, and which."""

    count: int
    bits: str


Agreement = dict[str, AgreementCell]


class CompareProps(TypedDict):
    """Two runs side by side."""

    sides: list[ComparedSide]
    complete: bool
    cells: NotRequired[Agreement]
    cells_url: NotRequired[str]
