"""Findings of a run in its training data, or in own vectors, as rows of a review sheet. No torch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired

import numpy as np
from typing_extensions import TypedDict

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.measures import Disagreement, outlier_ratios, outliers, suspects
from dmlviz.data.corrections import Corrections
from dmlviz.ops.training_dynamics import TrainingDynamics
from dmlviz.storage.csv_table import write_csv
from dmlviz.storage.files import atomic_write
from dmlviz.storage.text import counted

if TYPE_CHECKING:
    import pyarrow

    from dmlviz.runs.run import Run


Kind = Literal["suspect", "ambiguous", "duplicate", "leak", "outlier"]


class ReviewRow(TypedDict):
    """A `Finding` on the review sheet, with the numbers of its tiles on the sheet of pictures, if there are any."""

    kind: Kind
    image: int
    label: int
    score: float
    reason: str
    suggestion: int | None
    other: int | None
    other_label: int | None
    tile: int | None
    other_tile: int | None


class Cell(TypedDict):
    """The training images of a range of variability and of confidence over the training.

    Attributes:
        variability: Number of the range of `CELL_VARIABILITY`, from 0.
        confidence: Number of the range of `CELL_CONFIDENCE`, from 0.
        images: How many there are.
        image: One of them.
        tile: The number of its picture on the sheet.
    """

    variability: int
    confidence: int
    images: int
    image: int
    tile: NotRequired[int]


class StoredFindings(TypedDict):
    """The content of `findings.json`; `tile` is the side of a tile of `PART.png`, `columns` the tiles in a row.

    `tile` is 0 without pictures. `part` is 1 for the suspects among the first images, 2 for all findings. Of `images`
    training images or own vectors, the labels of `uncompared` were not compared, since their classes are too small.
    `recall` is the share of the correct neighbors.
    """

    part: int
    rows: list[ReviewRow]
    images: int
    uncompared: int
    recall: float
    steps: list[int]
    noun: str
    notes: list[str]
    cells: list[Cell]
    tile: int
    columns: int


@dataclass(frozen=True)
class Finding:
    """A training image, or an own vector, that a person should look at.

    Attributes:
        kind: The reason; "decided" where there is none but a person's decision.
        image: Index of the training image, or number of the row.
        label: Its class ID.
        score: The share of neighbors that agree on another label; the variability over the training; the
            difference of pixels, or the distance of two vectors as a share of the usual; how many times as far as
            usual its neighbors are.
        reason: The same in words.
        suggestion: Another class ID, where its neighbors agree on one.
        other: The image that it is compared with: of the training images, or for a leak of the test images.
        other_label: That image's class ID.
    """

    kind: Kind | Literal["decided"]
    image: int
    label: int
    score: float
    reason: str
    suggestion: int | None = None
    other: int | None = None
    other_label: int | None = None


@dataclass(frozen=True)
class Findings:
    """The findings of a run in its training data, or in own vectors.

    Attributes:
        run: ID of the run.
        dataset: Name of the data set.
        images: The number of training images, or of own vectors, that it looked at.
        uncompared: Number of these that have labels that were not compared, since their classes are too small.
        steps: Training steps of the nets that embedded them; none for an imported table.
        recall: The share of the neighbors that are right, as measured on some of the images; that of the worst net.
        rows: The findings, those of a kind together, the clearest first.
        noun: What is looked at: a training image or point; or of own vectors a row or an image.
        notes: Sentences about what was not compared.
        cells: How many training images were easy, ambiguous and hard to learn; none of own vectors.

    Examples:
        >>> suspect = Finding("suspect", 846, 1, 0.83, "83% of its neighbors are 5", suggestion=5)
        >>> found = Findings("run", "digits", 1201, uncompared=0, steps=(47,), recall=1.0, rows=(suspect,))
        >>> found.table().select(["image", "label", "suggestion"]).to_pylist()
        [{'image': 846, 'label': '1', 'suggestion': '5'}]
        >>> decided = Corrections("digits").decide(3, "confirm", 1201, 10)
        >>> len(found.undecided(decided).rows), len(found.with_decided(decided, [0] * 1201).rows)
        (1, 2)
        >>> import tempfile
        >>> found.to_csv(Path(tempfile.mkdtemp(), "findings.csv"))
    """

    run: str
    dataset: str
    images: int
    uncompared: int
    steps: tuple[int, ...]
    recall: float
    rows: tuple[Finding, ...] = field(repr=False)
    noun: str = "training image"
    notes: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()

    @property
    def of_vectors(self) -> bool:
        """Whether own vectors were looked through, in place of training data."""
        return not DATASETS[self.dataset].trainable

    @property
    def about(self) -> str:
        """What was looked at, and by which nets or vectors."""
        if self.of_vectors:
            by = ", ".join(["by their own vectors", *(f"of step {step:,}" for step in self.steps)])
        else:
            by = f"embedded by {len(self.steps)} nets, of steps {', '.join(map(str, self.steps))}"
        return f"{counted(self.images, self.noun)}, {by}"

    def undecided(self, corrections: Corrections) -> "Findings":
        """Return those about whose image nothing was decided; a pair is settled, too, where its other was left out.

        Args:
            corrections: The decisions.
        """
        decided = {image for image, one in corrections.images.items() if one.action != "tag"}
        excluded = {image for image, one in corrections.images.items() if one.action == "exclude"}
        return replace(
            self,
            rows=tuple(
                row
                for row in self.rows
                if row.image not in decided and not (row.kind == "duplicate" and row.other in excluded)
            ),
        )

    def with_decided(self, corrections: Corrections, labels: Sequence[int] | np.ndarray) -> "Findings":
        """Return them with a row for each image that a person decided about without finding it in them.

        Args:
            corrections: The decisions.
            labels: Class IDs of all images.
        """
        images = sorted(set(corrections.images) - {row.image for row in self.rows})
        rows = (Finding("decided", image, int(labels[image]), float("nan"), "") for image in images)
        return replace(self, rows=(*self.rows, *rows))

    def table(self, corrections: Corrections | None = None) -> "pyarrow.Table":
        """Return a row for each finding, with class names, and what was decided about its image.

        Columns: kind, image, label, suggestion, score, reason, other, other_label, decision, new_label, tag; null where
        there is nothing to say.

        Args:
            corrections: The decisions.
        """
        import pyarrow

        decisions = {} if corrections is None else corrections.images
        row_decisions = [decisions.get(row.image) for row in self.rows]
        classes = DATASETS[self.dataset].classes
        text, number = pyarrow.string(), pyarrow.int64()
        columns: dict[str, tuple[Any, list[Any]]] = {
            "kind": (text, [row.kind for row in self.rows]),
            "image": (number, [row.image for row in self.rows]),
            "label": (text, [classes[row.label] for row in self.rows]),
            "suggestion": (text, [_name(classes, row.suggestion) for row in self.rows]),
            "score": (pyarrow.float64(), [row.score for row in self.rows]),
            "reason": (text, [row.reason for row in self.rows]),
            "other": (number, [row.other for row in self.rows]),
            "other_label": (text, [_name(classes, row.other_label) for row in self.rows]),
            "decision": (text, [one.action if one and one.action != "tag" else None for one in row_decisions]),
            "new_label": (text, [_name(classes, one.label) if one else None for one in row_decisions]),
            "tag": (text, [(one.tag or None) if one else None for one in row_decisions]),
        }
        return pyarrow.table({name: pyarrow.array(values, kind) for name, (kind, values) in columns.items()})

    def to_csv(self, path: str | Path, corrections: Corrections | None = None) -> None:
        """Write the table as CSV (RFC 4180, UTF-8) with a header.

        Args:
            path: The file.
            corrections: The decisions.
        """
        with atomic_write(Path(path)) as file:
            write_csv(self.table(corrections), file)


def findings_of(run: "Run", stored: StoredFindings) -> Findings:
    """Return the findings that a search has written."""
    return Findings(
        run=run.id,
        dataset=run.config.dataset,
        images=stored["images"],
        uncompared=stored["uncompared"],
        steps=tuple(stored["steps"]),
        recall=stored["recall"],
        rows=tuple(_finding(**row) for row in stored["rows"]),
        noun=stored["noun"],
        notes=tuple(stored["notes"]),
        cells=tuple(stored["cells"]),
    )


def _finding(tile: int | None, other_tile: int | None, **row: Any) -> Finding:
    return Finding(**row)


def _name(classes: Sequence[str], label: int | None) -> str | None:
    return None if label is None else classes[label]


Progress = Callable[[str, float], object]  # called with what is being done, and the share that is done; may raise

K = 10  # neighbors; for labels no more than there are others of an image's class
CANDIDATES = 20  # nearest neighbors by embedding among which near duplicates are sought
RECALL = 0.97  # of the neighbors, wanted of the index
MEASURED = 250  # images on which the recall is measured
MAX_LISTED = 400  # findings of a kind
FAR = 2.0  # times the median distance to the neighbors
MOST_OUTLIERS = 0.01  # of all images
AMBIGUOUS = 0.25  # variability
CELL_CONFIDENCE, CELL_VARIABILITY = 0.1, 0.05


def say(go_on: Progress, words: str, share: float) -> None:
    """Say what is being done."""
    go_on(words, share)


def suspect_rows(
    items: np.ndarray, labels: np.ndarray, classes: Sequence[str], disagreement: Disagreement, when: str = ""
) -> Iterator[Finding]:
    """Return the suspect labels.

    Args:
        items: Numbers of the images or vectors (n).
        labels: Their class IDs (n).
        classes: Class names.
        disagreement: That of their neighbors.
        when: Words about these neighbors.
    """
    for row in suspects(disagreement)[:MAX_LISTED].tolist():
        other = int(disagreement.suggestion[row])
        support = float(disagreement.support[row])
        yield Finding(
            kind="suspect",
            image=int(items[row]),
            label=int(labels[row]),
            score=support,
            reason=f"{support:.0%} of its neighbors{when} are {classes[other]}",
            suggestion=other,
        )


def ambiguous_rows(
    items: np.ndarray, labels: np.ndarray, dynamics: TrainingDynamics, suggestions: np.ndarray
) -> Iterator[Finding]:
    """Return the images whose neighbors changed most over the training; `suggestions` are other class IDs (n)."""
    variability = np.nan_to_num(dynamics.variability)
    order = np.argsort(-variability, kind="stable")
    for row in order[variability[order] >= AMBIGUOUS][:MAX_LISTED].tolist():
        times = int(dynamics.forgotten[row])
        forgotten = "" if not times else f"; forgotten {'once' if times == 1 else f'{times} times'}"
        yield Finding(
            kind="ambiguous",
            image=int(items[row]),
            label=int(labels[row]),
            score=float(variability[row]),
            reason=f"{dynamics.confidence[row]:.0%} of its neighbors have its label on average, with a deviation of "
            f"{variability[row]:.0%} over the training{forgotten}",
            suggestion=int(suggestions[row]) if suggestions[row] != labels[row] else None,
        )


def dynamics_cells(items: np.ndarray, dynamics: TrainingDynamics) -> Iterator[Cell]:
    """Return how many images there are of each variability and confidence, with one in the middle of them."""
    known = np.flatnonzero(np.isfinite(dynamics.confidence))
    sides = ((dynamics.variability, CELL_VARIABILITY), (dynamics.confidence, CELL_CONFIDENCE))
    column, row = (np.minimum(values[known] / side + 1e-9, 9).astype(int) for values, side in sides)
    for cell in np.unique(10 * row + column).tolist():
        members = known[10 * row + column == cell]
        middle = int(items[members[len(members) // 2]])
        yield Cell(variability=cell % 10, confidence=cell // 10, images=len(members), image=middle)


def outlier_rows(items: np.ndarray, labels: np.ndarray, distances: np.ndarray) -> Iterator[Finding]:
    """Return the outliers by the distances to the nearest others (n × K or more); the others as above."""
    ratios = outlier_ratios(distances[:, :K])
    for row in outliers(ratios, FAR, MOST_OUTLIERS)[:MAX_LISTED].tolist():
        ratio = float(min(ratios[row], 1e6))
        yield Finding(
            kind="outlier",
            image=int(items[row]),
            label=int(labels[row]),
            score=ratio,
            reason=f"Its neighbors are {ratio:.1f} times as far as usual",
        )
