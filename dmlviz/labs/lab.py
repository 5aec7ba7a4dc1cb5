"""A lab: a question, the trials that answer it, and the figures that grow from the results. Loads no torch."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import Spec
from dmlviz.studies.trial import Size, Trial, TrialResult

if TYPE_CHECKING:
    from dmlviz.data import Dataset


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """One point or bar of a figure.

    Attributes:
        figure: Name of the figure.
        series: The line or the color that it belongs to.
        x: Position on the first axis: a number or a category.
        y: The value.
        low: Lower end of its interval; None where there is none (one run has no interval).
        high: Upper end of its interval.
        n: Number of things of which the value is the mean; they are named in the caption of the figure.
    """

    figure: str
    series: str
    x: float | str
    y: float
    low: float | None = None
    high: float | None = None
    n: int = 1

    def within(self, bounds: tuple[float, float]) -> Self:
        """Return the row with its interval, if it has one, ended at what is possible."""
        if self.low is None or self.high is None:
            return self
        least, most = bounds
        return replace(self, low=max(self.low, least), high=min(self.high, most))


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """The form of a lab's figure.

    Attributes:
        name: Its name in `FigureRow.figure`.
        title: Title above it.
        caption: The images, their number, the training, what `n` counts, the kind of interval.
        kind: "line" joins the points of a series; "bar" groups bars by x; "points" joins nothing; "cells" is a table
            of colored cells with x as columns and series as rows.
        x_title: Title of the first axis.
        y_title: Title of the second axis, or of the color.
        log_x: Whether the first axis is logarithmic.
        log_y: Whether the second axis is logarithmic.
        star_below: Cells below this value get a star; None for no stars.
        bounds: The lowest and the highest value that is possible, where intervals end; None where any is.
    """

    name: str
    title: str
    caption: str
    kind: Literal["line", "bar", "points", "cells"] = "line"
    x_title: str
    y_title: str
    log_x: bool = False
    log_y: bool = False
    star_below: float | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class PrintedRow(FigureRow):
    """A value printed in a paper, shown beside ours and never mixed with it; `source` says where it is printed."""

    source: str


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A question to a visitor before the answer is shown.

    Attributes:
        question: The question.
        options: The answers to choose from.
        answer: The outcome in one or two sentences, from the finished results; shown after the guess.
    """

    question: str
    options: tuple[str, ...]
    answer: Callable[[Sequence[TrialResult]], str]


@dataclass(frozen=True, kw_only=True)
class PicturePair:
    """A picture behind a point of a figure, or two that belong together.

    Attributes:
        images: One or two arrays: uint8, h × w, or h × w × 3, or × 4 with a clear ground.
        caption: Description, for instance "two identities, distance 0.31: accepted".
    """

    images: tuple[Any, ...]
    caption: str


@dataclass(frozen=True, kw_only=True)
class Plane:
    """A net's plane, as a map of its own beside others of the same images.

    Attributes:
        title: Name of the net.
        note: Its result, in a few words.
        points: Position of each image, n × 2.
        centers: A template for each class, k × 2, where only directions count; None otherwise.
    """

    title: str
    note: str
    points: np.ndarray
    centers: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class LinkedPlanes:
    """Maps of the same images, drawn side by side.

    Attributes:
        planes: The maps; point i is the same image in all of them.
        labels: Class of each image, n, from 0.
        tests: Number of images, the first ones, that are test images; the others are training images.
        classes: Class of the data set for each label.
    """

    planes: tuple[Plane, ...]
    labels: np.ndarray
    tests: int
    classes: tuple[int, ...]


Activity = Literal[
    "",
    "pairs",
    "gallery",
    "places",
    "metric",
    "video",
    "planes",
    "sketch",
    "tricks",
    "episode map",
    "gallery size",
]


@dataclass(frozen=True, kw_only=True)
class Lab(Spec):
    """An experiment: a question, trials that answer it, figures.

    Attributes:
        question: The question that it asks, one sentence.
        datasets: Names of the data sets that it can use, the usual one first.
        made: What its trials make themselves, where they look at no data set; "" otherwise.
        plan: The trials wanted, given the size, the data set and the results so far. A lab whose later trials depend
            on earlier results returns more of them when it is asked again. The same arguments give the same trials.
        measure: "module:function", a `dmlviz.studies.trial.Measurement`.
        rows: The figures' rows from any part of the results, so that a figure grows. Their intervals end at the bounds
            of the figure, whatever the given function returns.
        figures: The figures, the most important first.
        guess: Question to the visitor before the answer.
        literature: Printed values to show beside ours.
        printed_figure: The form of a figure of printed values only, rows of `literature`; None for no such figure.
        literature_note: Findings of the literature, and reasons why small data may differ.
        estimate: Number of trials in the end, and their processor seconds on one core; None where the plan
            names all of them before there is a result.
        live: Whether a trial reports values while it goes on, so that figures draw them too: some of those at its end,
            or where it stands. `rows` takes what there is.
        strip: Pictures that stand below the figures without a click, in a row, from any part of the results.
        pictures: The pictures behind a point: (results, figure, series, x) to pictures, best first.
        activity: Activity of the visitor beside the figure: guess "pairs" of pictures, fill a
            "gallery" with drawings, click "places" of a picture, drag a "metric" in the plane, follow a thing through
            a "video", point at an image in all of several "planes", search by a "sketch", compare losses with the
            "tricks" of papers, go through the episodes of an "episode map", choose a "gallery size"; "" for nothing.
        planes: The maps for that, from any part of the results; None as long as there is none.
        plane_images: Their images, n × h × w, made from the data set.
        playground: "module:function" that answers what the activity asks a net that a trial kept, in a worker; "" where
            the browser needs no help. It takes the question as a JSON object, returns one, and may load torch.
    """

    question: str
    datasets: tuple[str, ...]
    plan: Callable[[Size, str, Sequence[TrialResult]], Sequence[Trial]]
    measure: str
    rows: Callable[[Sequence[TrialResult]], Sequence[FigureRow]]
    figures: tuple[FigureSpec, ...]
    guess: Guess
    made: str = ""
    literature: tuple[PrintedRow, ...] = ()
    printed_figure: FigureSpec | None = None
    literature_note: str = ""
    estimate: Callable[[Size, str], tuple[int, float]] | None = None
    live: bool = False
    strip: Callable[[Sequence[TrialResult]], Sequence[PicturePair]] | None = None
    pictures: Callable[[Sequence[TrialResult], str, str, float | str], Sequence[PicturePair]] | None = None
    activity: Activity = ""
    planes: Callable[[Sequence[TrialResult]], LinkedPlanes | None] | None = None
    plane_images: "Callable[[Dataset], np.ndarray] | None" = None
    playground: str = ""

    def __post_init__(self) -> None:
        rows = self.rows
        bounds = {spec.name: spec.bounds for spec in self.figures if spec.bounds is not None}

        def bounded_rows(results: Sequence[TrialResult]) -> list[FigureRow]:
            return [row.within(bounds[row.figure]) if row.figure in bounds else row for row in rows(results)]

        object.__setattr__(self, "rows", bounded_rows)

    @property
    def all_figures(self) -> tuple[FigureSpec, ...]:
        """The figures, and that of printed values only."""
        return (*self.figures, *([self.printed_figure] if self.printed_figure is not None else []))

    def data_title(self, dataset: str) -> str:
        """Return what a study with this data set is on, in words."""
        return self.made or DATASETS[dataset].title

    def total(self, size: Size, dataset: str) -> tuple[int, float]:
        """Return how many trials there will be in the end, and their processor seconds on one core."""
        if self.estimate is not None:
            return self.estimate(size, dataset)
        trials = self.plan(size, dataset, [])
        return len(trials), sum(trial.seconds for trial in trials)


def read_lab(module: str, *, answer: Callable[[Sequence[TrialResult]], str], **code: Any) -> Lab:
    """Return the lab of a folder, in which `lab.toml` holds words, figures and printed values.

    Args:
        module: `__file__` of the folder's `__init__.py`.
        answer: That of the guess.
        code: The fields of `Lab` that are functions or are computed.
    """
    folder = Path(module).parent
    fields = _with_tuples(tomllib.loads((folder / "lab.toml").read_text(encoding="utf-8")))
    fields["guess"] = Guess(answer=answer, **fields["guess"])
    fields["figures"] = tuple(FigureSpec(name=name, **figure) for name, figure in fields["figures"].items())
    fields["literature"] = tuple(PrintedRow(**row) for row in fields.get("literature", ()))
    if "printed_figure" in fields:
        fields["printed_figure"] = FigureSpec(**fields["printed_figure"])
    measure = f"dmlviz.labs.{folder.name}.measure:measure"
    return Lab(name=folder.name.replace("_", "-"), measure=measure, **fields | code)


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_tuples(field) for name, field in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value
