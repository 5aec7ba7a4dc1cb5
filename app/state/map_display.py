"""How the map of Explore shows its images: as the map tells it, and as an address holds it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

from app.state.explore_options import COLUMN

FLAGS = ("names", "trails", "contours", "pictures")
IMAGES = ("test", "both", "train")
MAX_CLASSES = 100_000  # that an address may hide
_ROLE = "show."
_HIDDEN = "hide"


@dataclass(frozen=True)
class MapDisplay:
    """What a person has set on the map.

    Attributes:
        names: Whether classes are named on the map.
        trails: Whether pinned and selected images draw their paths.
        contours: Whether contours show where points are dense.
        pictures: Whether images are drawn wherever there is room.
        images: Which images are shown: "test", "both" or "train".
        markers: What the shape of a marker tells: "plain", "class", or `column.` and a name.
        hidden: Numbers of the hidden classes, or of the hidden categories of the column that colors the points.
        dataset: Whose classes these are.
    """

    names: bool = True
    trails: bool = True
    contours: bool = False
    pictures: bool = False
    images: str = IMAGES[0]
    markers: str = "plain"
    hidden: tuple[int, ...] = ()
    dataset: str = ""

    @classmethod
    def told(cls, display: Mapping[str, Any], dataset: str) -> Self:
        """What the map has told; what makes no sense is as on a new map."""
        flags = {name: display[name] for name in FLAGS if isinstance(display.get(name), bool)}
        images, markers, hidden = display.get("images"), str(display.get("markers")), display.get("hidden")
        return cls(
            **flags,
            images=images if images in IMAGES else cls.images,
            markers=markers if _is_marker(markers) else cls.markers,
            **_classes(hidden if isinstance(hidden, list) else (), dataset),
        )

    def props(self, dataset: str) -> dict[str, Any]:
        """What the map of a run of this data set is told: all that differs from a new map."""
        changed = {name: value for name, value in self._changes().items() if name not in ("hidden", "dataset")}
        return changed | ({"hidden": list(self.hidden)} if self.hidden and self.dataset == dataset else {})

    def to_query(self) -> dict[str, str]:
        """The parameters of an address, without defaults."""
        changes = self._changes()
        query = {_ROLE + name: str(int(changes[name])) for name in FLAGS if name in changes}
        query |= {_ROLE + name: changes[name] for name in ("images", "markers") if name in changes}
        return query | ({_HIDDEN: f"{self.dataset}.{_ranges(self.hidden)}"} if self.hidden else {})

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Read the parameters of an address; what cannot be followed is left out."""
        display: dict[str, Any] = {name: query.get(_ROLE + name) for name in ("images", "markers")}
        display |= {name: query[_ROLE + name] == "1" for name in FLAGS if query.get(_ROLE + name) in ("0", "1")}
        dataset, _, ranges = query.get(_HIDDEN, "").rpartition(".")
        return cls.told(display | {"hidden": _numbers(ranges)}, dataset)

    def _changes(self) -> dict[str, Any]:
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}


def is_display_key(name: str) -> bool:
    """Whether a parameter of an address says how the map shows its images."""
    return name == _HIDDEN or name.startswith(_ROLE)


def _is_marker(name: str) -> bool:
    return name == "class" or (name.startswith(COLUMN) and len(name) <= 100)


def _classes(numbers: Iterable[object], dataset: str) -> dict[str, Any]:
    hidden = sorted({number for number in numbers if isinstance(number, int) and 0 <= number < MAX_CLASSES})
    return {"hidden": tuple(hidden), "dataset": dataset} if hidden and dataset else {}


def _ranges(numbers: tuple[int, ...]) -> str:
    """Ascending numbers in short: 0-3,7."""
    starts = [numbers[0], *(b for a, b in pairwise(numbers) if b > a + 1)]
    ends = [*(a for a, b in pairwise(numbers) if b > a + 1), numbers[-1]]
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _numbers(ranges: str) -> list[int]:
    """The numbers of `_ranges`; none where a part is no range."""
    numbers: list[int] = []
    for part in ranges.split(",")[:MAX_CLASSES]:
        if not re.fullmatch("[0-9]{1,6}(-[0-9]{1,6})?", part):
            return []
        first, _, last = part.partition("-")
        numbers += range(int(first), min(int(last or first), MAX_CLASSES) + 1)
        if len(numbers) > MAX_CLASSES:
            return []
    return numbers
