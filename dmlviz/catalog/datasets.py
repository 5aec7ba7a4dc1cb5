"""The specs of the data sets and of the samplers."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.parameters import Catalog, Spec, brief, describe_unknown, parse_literal, specs
from dmlviz.errors import UnknownNameError, UserError
from dmlviz.storage.paths import data_root
from dmlviz.storage.run_schema.descriptions import DATASET


class Datasets(Catalog[DatasetSpec]):
    """The declared data sets and the imported ones, found in data folders at run time or described by a run."""

    def __init__(self, entries: Iterable[DatasetSpec]) -> None:
        super().__init__("data set", entries)
        self._in_folders: dict[str, DatasetSpec] = {}  # in data folders
        self._by_runs: dict[str, DatasetSpec] = {}  # by runs
        self._apart: ContextVar[dict[str, DatasetSpec] | None] = ContextVar("apart", default=None)
        self._roots: list[Path] = []

    @property
    def builtin(self) -> tuple[str, ...]:
        """The names of the data sets that every installation has."""
        return tuple(super().__iter__())

    def add_search_path(self, root: Path) -> None:
        """Look for people's own data in this data folder too, besides the usual one."""
        if root not in self._roots:
            self._roots.append(root)

    def folder(self, name: str) -> Path | None:
        """Return the folder of an imported data set; None if it is not on this machine."""
        folders = (root / custom_datasets.FOLDER / name for root in self._search_paths())
        return next((folder for folder in folders if (folder / custom_datasets.DESCRIBED).exists()), None)

    def find(self, name: str) -> str:
        """Return the name of the data set with this name, or else of the only one of one's own with this title.

        A title may be spelled like the file it came from: my_pets is "my pets".

        Raises:
            UserError: If several have this title.
        """
        if name in self:
            return name
        titles = {own: self[own].title for own in self if custom_datasets.is_custom(own)}
        found = [own for own, title in titles.items() if title == name]
        found = found or [own for own, title in titles.items() if title.replace("_", " ") == name.replace("_", " ")]
        if len(found) > 1:
            raise UserError(f"{len(found)} data sets are called {name!r}: give the name of one: {', '.join(found)}.")
        return found[0] if found else name

    def register(self, description: Mapping[str, Any]) -> None:
        """Register a data set that need not be on this machine; an unreadable description is ignored.

        The description in a data folder takes precedence over that of a run, now and later.
        """
        name = str(description.get("name")) if isinstance(description, Mapping) else ""
        spec = _spec_of(description) if custom_datasets.is_custom(name) and self._look(name) is None else None
        if spec is not None:
            apart = self._apart.get()
            (self._by_runs if apart is None else apart)[name] = spec

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Forget at the end of the block what is registered in it, by this thread: for runs that may be refused."""
        token = self._apart.set({})
        try:
            yield
        finally:
            self._apart.reset(token)

    @property
    def is_apart(self) -> bool:
        """Return whether this thread is in a block of `apart`."""
        return self._apart.get() is not None

    def _look(self, name: str) -> DatasetSpec | None:
        """Return the description of an imported data set: that of its folder, or else that of a run."""
        for root in () if name in self._in_folders else self._search_paths():
            described = custom_datasets.load_description(root, name)
            spec = None if described is None else _spec_of(described)
            if spec is not None and spec.name == name:
                self._in_folders[name] = spec
                break
        return self._in_folders.get(name) or (self._apart.get() or {}).get(name) or self._by_runs.get(name)

    def __getitem__(self, name: str) -> DatasetSpec:
        if not custom_datasets.is_custom(name):
            if super().__contains__(name):
                return super().__getitem__(name)
            titles = {key: spec.title for key, spec in self._entries.items()}
            own = [spec.title for key, spec in self.items() if key not in titles]
            raise UnknownNameError(describe_unknown(self.noun, name, titles, own))
        spec = self._look(name)
        if spec is None:
            raise UnknownNameError(f"The data set {name} is not on this machine: add it with dmlviz data add.")
        return spec

    def __contains__(self, name: object) -> bool:
        if not custom_datasets.is_custom(name):
            return super().__contains__(name)
        return self._look(str(name)) is not None

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        own = dict.fromkeys(name for root in self._search_paths() for name in custom_datasets.list_names(root))
        yield from filter(self._look, own)  # not one whose description is damaged

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _search_paths(self) -> list[Path]:
        return list(dict.fromkeys([*self._roots, data_root()]))


def _spec_of(description: Mapping[str, Any]) -> DatasetSpec | None:
    try:
        fields = DATASET.validate_python(dict(description) | {"classes": [*description.get("classes", ())]})
        return DatasetSpec.from_dict(fields)
    except (ValidationError, TypeError):
        return None


@dataclass(frozen=True, kw_only=True)
class SamplerSpec(Spec):
    """A way to put batches together: from P classes with K images each when `by_class`, else so many images.

    `tuple_kind` is "pairs" or "triplets" for one that decides itself what the loss compares, so that no miner does.
    `class_power` is q for one that draws classes with p ∝ n^q of their n images; None for others.
    """

    by_class: bool = False
    tuple_kind: str = ""
    class_power: float | None = None
    in_ball: bool = True

    @property
    def needs_labels(self) -> bool:
        """Return whether it makes batches by class labels."""
        return self.by_class or bool(self.tuple_kind) or self.class_power is not None


# Numbered classes: how many, and with how many digits.
_CLASSES = {"identities": (1501, 4), "sketches": (8000, 4), "patches": (2160, 4), "tracks": (250, 3)}

DATASETS = Datasets(
    specs(
        DatasetSpec,
        "dataset",
        {
            name: {"classes": tuple(f"{number:0{digits}d}" for number in range(count))}
            for name, (count, digits) in _CLASSES.items()
        },
    )
)

SAMPLERS = Catalog("sampler", specs(SamplerSpec, "sampler"))


AUGMENTATION = specs(Spec, "setting")[0]


def check_strengths(value: Any) -> dict[str, float]:
    """Return the strengths that are not the default, by name; raise UserError for an unknown name or a wrong number.

    Examples:
        >>> check_strengths({"rotate": 15, "crop": 0})
        {'rotate': 15.0}
    """
    value = parse_literal(value)
    if not isinstance(value, Mapping):
        raise UserError(f'augmentation is strengths by name, as in {{"rotate": 15}}; got {brief(value)}.')
    given = AUGMENTATION.with_defaults(value)
    return {one.name: given[one.name] for one in AUGMENTATION.parameters if given[one.name] != one.default}


_SHAPES = {"crop": 0.5, "shift": 0.1, "rotate": 15.0, "erase": 0.2}  # found by measuring, see docs/WITHOUT_LABELS.md
_COLORS = {"jitter": 0.4, "hue": 0.1}


def usual_strengths(data: DatasetSpec) -> dict[str, float]:
    """Return the strengths that suit the images of a data set: photographs may be mirrored, points move."""
    if data.of_points:
        return {"shift": _SHAPES["shift"]}
    return {**_SHAPES, **({} if may_not_mirror(data) else {"flip": 0.5}), **(_COLORS if data.channels == 3 else {})}


def may_not_mirror(data: DatasetSpec) -> str:
    """Return why a mirrored image may not be one of its class, as the end of a sentence; empty where it is."""
    if all(len(name) <= 2 for name in data.classes):
        return "as their classes are digits, letters or short names that may be some"
    if data.channels == 3 or (data.framing is not None and data.framing.photographs):
        return ""
    return "as they are neither in color nor known to be photographs"
