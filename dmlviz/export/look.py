"""What a person looks at of a map: hidden classes, step, selection, as a page's address has them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from dmlviz.config.subset import unpack_items
from dmlviz.errors import UserError

KEYS = ("hide", "step", "select")
RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
MAX_CLASSES = 100_000


@dataclass(frozen=True)
class Look:
    """What films and figures show of a map.

    Attributes:
        hidden: Classes that are left out.
        step: The step that a figure is of; None for the last.
        selected: Images that a figure marks.
    """

    hidden: frozenset[int] = frozenset()
    step: int | None = None
    selected: frozenset[int] = frozenset()

    @classmethod
    def of_address(cls, query: Mapping[str, str], dataset: str) -> Self:
        """Read the parameters `hide`, `step` and `select` of a page's address; those of another data set are nothing.

        Raises:
            UserError: For what no page writes.
        """
        words = {name: query.get(name, "").rpartition(".") for name in ("hide", "select")}
        hide, select = (word if named == dataset else "" for named, _, word in words.values())
        step = query.get("step", "")
        if step and not re.fullmatch("[0-9]{1,9}", step):
            raise UserError(f"A step is a whole number; got {step[:40]!r}.")
        selected = frozenset(unpack_items(select).tolist()) if select else frozenset()
        return cls(read_classes(hide), int(step) if step else None, selected)


def read_classes(ranges: str) -> frozenset[int]:
    """Return class numbers as in "0-3,7"; raise UserError for anything else."""
    found: set[int] = set()
    for part in filter(None, ranges.split(",")):
        match = RANGE.fullmatch(part)
        if match is None or int(match[2] or 0) >= MAX_CLASSES:
            raise UserError(f"Classes are numbers and ranges of numbers, as 0-3,7; got {ranges[:40]!r}.")
        found |= {*range(int(match[1]), int(match[2] or match[1]) + 1)}
    return frozenset(found)
