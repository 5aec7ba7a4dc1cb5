"""State of the page Labs: at the cards, or in a lab, with a guess, a study and a point of a figure."""

from collections.abc import Sequence
from dataclasses import dataclass

from dmlviz.catalog.datasets import DATASETS
from dmlviz.labs.lab import FigureRow, Lab
from dmlviz.labs.lab_study import ready_made, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.studies.study import Study
from dmlviz.studies.trial import Size
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.address import Address, Param, Type, UrlState, choice, one_of

KEY = "page.labs"
SIZES: tuple[Size, ...] = ("quick", "full")
OWN, READY_MADE = "own", "ready"
NO_GUESS = -1  # the answer was looked at without one


def _datasets(state: "LabsState") -> dict[str, str]:
    return {dataset: DATASETS[dataset].title for dataset in LABS[state.lab].datasets}


def _figures(state: "LabsState") -> dict[str, str]:
    return {figure.name: figure.title for figure in LABS[state.lab].figures}


def _guess(text: str, state: "LabsState") -> int:
    numbers = (NO_GUESS, *range(1, len(LABS[state.lab].guess.options) + 1))
    return next((number for number in numbers if text == str(number)), 0)


@dataclass
class LabsState(UrlState):
    """The state of the page Labs.

    Attributes:
        lab: Name of the lab; empty at the cards.
        size: Size of the study to run.
        dataset: Data set of the study to run; empty for the lab's usual one.
        source: The results to show: "own", "ready", or empty for own ones where there are any.
        guess: Number of the guess from 1; 0 before it, `NO_GUESS` when the answer was asked for without one.
        figure: Name of the figure shown; empty for the main one.
        point: Series and x (as text) of the point whose pictures are shown; None for none.
    """

    lab: str = ""
    size: Size = "quick"
    dataset: str = ""
    source: str = ""
    guess: int = 0
    figure: str = ""
    point: tuple[str, str] | None = None
    last_query: dict[str, str] | None = None

    def cause(self, place: str) -> object:
        """Return what the sentence at a place is about."""
        return {"data": self.dataset, "figure": self.figure}.get(place, self.lab)

    ADDRESS = Address(
        Param("lab", choice("lab", lambda state: {lab.name: lab.title for lab in LABS.values()}), ""),
        Param("size", one_of(*SIZES), SIZES[0], after="lab"),
        Param("data", choice("data set of this lab", _datasets), "", after="lab", field="dataset"),
        Param("results", one_of("", OWN, READY_MADE), "", after="lab", field="source"),
        Param("guess", Type(_guess), 0, after="lab"),
        Param("figure", choice("figure of this lab", _figures), "", after="lab"),
    )


@dataclass(frozen=True)
class LabView:
    """A lab as the page shows it now.

    Attributes:
        lab: The lab.
        dataset: Data set of the study to run.
        own: The study with the chosen size and data set; None before it was begun.
        ready_made: The ready-made study; None where there is none.
        study: The study whose results are shown; None where there is nothing yet.
    """

    lab: Lab
    dataset: str
    own: Study | None
    ready_made: Study | None
    study: Study | None

    @property
    def is_ready_made(self) -> bool:
        """Return whether the results shown come with the program."""
        return self.study is not None and self.study == self.ready_made


def view_lab(ui: LabsState, services: Services) -> LabView:
    """Return the lab that the state names, with its studies."""
    lab = LABS[ui.lab]
    dataset = ui.dataset or default_dataset(lab, services)
    own, ready = services.studies.get(lab.name, ui.size, dataset), ready_made(lab.name)
    return LabView(lab, dataset, own, ready, ready if ui.source == READY_MADE or own is None else own)


def default_dataset(lab: Lab, services: Services) -> str:
    """Return the first data set of a lab that is on disk, or its usual one."""
    available = services.datasets.available()
    return next((name for name in lab.datasets if name in available), lab.datasets[0])


def view_rows(view: LabView) -> list[FigureRow]:
    """Return the figures' rows that are shown now."""
    return [] if view.study is None else study_rows(view.study)


def first_figure(lab: Lab, rows: Sequence[FigureRow]) -> str:
    """Return the figure to show where none was chosen: the first that has something to show, else the first."""
    figures = {row.figure for row in rows}
    return next((figure.name for figure in lab.figures if figure.name in figures), lab.figures[0].name)
