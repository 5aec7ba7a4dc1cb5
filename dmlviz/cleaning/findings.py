"""What a run has found in its training data, as rows of a review sheet. No torch."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.corrections import Corrections
from dmlviz.storage.files import atomic_write

if TYPE_CHECKING:
    import pyarrow

Kind = Literal["suspect", "duplicate", "leak", "outlier"]


@dataclass(frozen=True)
class Finding:
    """A training image that a person should look at.

    Attributes:
        kind: why.
        image: index of the training image.
        label: its class ID.
        score: the share of neighbors that agree on another label; the difference of pixels; how many times as far as
            usual its neighbors are.
        reason: the same in words.
        suggestion: another class ID, where its neighbors agree on one.
        other: the image that it is compared with: of the training images, or for a leak of the test images.
        other_label: that image's class ID.
    """

    kind: Kind
    image: int
    label: int
    score: float
    reason: str
    suggestion: int | None = None
    other: int | None = None
    other_label: int | None = None


@dataclass(frozen=True)
class Findings:
    """What a run found in its training data.

    Attributes:
        run: ID of the run.
        dataset: name of the data set.
        images: the number of training images that it looked at.
        uncompared: how many of these have labels that were not compared, since their classes are too small.
        steps: of the nets that embedded them.
        rows: the findings, those of a kind together, the clearest first.
    """

    run: str
    dataset: str
    images: int
    uncompared: int
    steps: tuple[int, ...]
    rows: tuple[Finding, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self) | {"rows": [asdict(row) for row in self.rows], "steps": list(self.steps)}

    def undecided(self, corrections: Corrections) -> "Findings":
        """Return those about whose image nothing was decided; a pair is settled, too, where its other was left out."""
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

    def table(self, corrections: Corrections | None = None) -> "pyarrow.Table":
        """Return a row for each finding, with class names, and what was decided about its image.

        Columns: kind, image, label, suggestion, score, reason, other, other_label, decision, new_label, tag; null where
        there is nothing to say.
        """
        import pyarrow

        decisions = {} if corrections is None else corrections.images
        made = [decisions.get(row.image) for row in self.rows]
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
            "decision": (text, [one.action if one and one.action != "tag" else None for one in made]),
            "new_label": (text, [_name(classes, one.label) if one else None for one in made]),
            "tag": (text, [(one.tag or None) if one else None for one in made]),
        }
        return pyarrow.table({name: pyarrow.array(values, kind) for name, (kind, values) in columns.items()})

    def to_csv(self, path: str | Path, corrections: Corrections | None = None) -> None:
        """Write the table as CSV (RFC 4180, UTF-8) with a header."""
        from pyarrow import csv

        with atomic_write(Path(path)) as file:
            csv.write_csv(self.table(corrections), file, csv.WriteOptions(quoting_style="needed"))


def _name(classes: Sequence[str], label: int | None) -> str | None:
    return None if label is None else classes[label]
