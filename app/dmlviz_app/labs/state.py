"""State of the page Labs: at the cards, or in a lab, with a guess, a study and a point of a figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import describe_unknown
from dmlviz.labs.lab import FigureRow, Lab
from dmlviz.labs.lab_study import ready_made, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.studies.study import Study
from dmlviz.studies.trial import Size
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.messages import Messages

KEY = "page.labs"
SIZES: tuple[Size, ...] = ("quick", "full")
OWN, READY_MADE = "own", "ready"
NO_GUESS = -1  # the answer was looked at without one


@dataclass
class LabsState:
    """The state of the page Labs.

    Attributes:
        lab: Name of the lab; empty at the cards.
        size: Size of the study to run.
        dataset: Data set of the study to run; empty for the lab's usual one.
        source: The results to show: "own", "ready", or empty for own ones where there are any.
        guess: Number of the guess from 1; 0 before it, `NO_GUESS` when the answer was asked for without one.
        figure: Name of the figure shown; empty for the main one.
        point: Series and x (as text) of the point whose pictures are shown; None for none.
        messages: What of the address cannot be followed: "lab", "data", "figure".
    """

    lab: str = ""
    size: Size = "quick"
    dataset: str = ""
    source: str = ""
    guess: int = 0
    figure: str = ""
    point: tuple[str, str] | None = None
    last_query: dict[str, str] | None = None
    messages: Messages = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        causes = {"lab": lambda: self.lab, "data": lambda: self.dataset, "figure": lambda: self.figure}
        self.messages = Messages(lambda place: causes[place]())

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults."""
        if not self.lab:
            return {}
        values = {
            "lab": self.lab,
            "size": "" if self.size == SIZES[0] else self.size,
            "data": self.dataset,
            "results": self.source,
            "guess": str(self.guess) if self.guess else "",
            "figure": self.figure,
        }
        return {name: value for name, value in values.items() if value}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "LabsState":
        """Decode URL parameters; names that do not exist are noted, other invalid ones ignored."""
        name = query.get("lab", "")
        if name not in LABS:
            titles = {lab.name: lab.title for lab in LABS.values()}
            state = cls()
            if name:
                state.messages.say("lab", describe_unknown("lab", name, titles))
            return state
        lab = LABS[name]
        size, dataset, guess = query.get("size", ""), query.get("data", ""), query.get("guess", "")
        figures = {figure.name: figure.title for figure in lab.figures}
        choices = {"data": {dataset: DATASETS[dataset].title for dataset in lab.datasets}, "figure": figures}
        nouns = {"data": "data set of this lab", "figure": "figure of this lab"}
        guesses = {str(number): number for number in (NO_GUESS, *range(1, len(lab.guess.options) + 1))}
        state = cls(
            lab=name,
            size=next((each for each in SIZES if each == size), SIZES[0]),
            dataset=dataset if dataset in lab.datasets else "",
            source=query.get("results", "") if query.get("results") in (OWN, READY_MADE) else "",
            guess=guesses.get(guess, 0),
            figure=query["figure"] if query.get("figure") in figures else "",
        )
        for key, titles in choices.items():
            if query.get(key) and query[key] not in titles:
                state.messages.say(key, describe_unknown(nouns[key], query[key], titles))
        return state


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
