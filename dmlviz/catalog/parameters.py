"""Specs: one declaration of a choice, from which widget, option, validation, page and tests are made.

This module does not import torch, since the server shows the choices and loads none.
"""

import ast
import importlib.util
import inspect
import math
import sys
import tomllib
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import ConfigDict, TypeAdapter

from dmlviz.catalog import class_scores
from dmlviz.catalog.formula import Of, read_formula
from dmlviz.catalog.pair_thresholds import PairThresholds, default_thresholds
from dmlviz.errors import UnknownNameError, UserError

Params: TypeAlias = Mapping[str, Any]  # values of parameters by name
Fields: TypeAlias = dict[str, Any]  # values of parameters, or of the fields of a config, by name, in types of JSON

NONE = "none"  # None on the command line and in a URL
LONGEST = 2000  # characters of a text that may spell a value
TRIES = 5
OF_FILE = "dmlviz_plugin_"  # how the name of a module begins that was loaded from a file
SIMILAR_NAMES = 3  # at most so many are named where one does not exist
MOST_NAMES = 30  # of a catalog in a sentence


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One setting of a choice: `kind` is float, int, bool or str.

    A number lies in [minimum, maximum], where these are given. `choices` lists the words that a str may be;
    `special_values` lists words that may stand for a number (a margin of "soft"). `step` is that of the page's widget.
    An `optional` one is left out where it has its default, so that runs from before it keep their IDs.
    """

    name: str
    kind: type
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()
    special_values: tuple[str, ...] = ()
    optional: bool = False

    def check(self, owner: str, value: Any) -> Any:
        """Return `value` as `kind`; raise UserError when it is of another kind or out of range."""
        if isinstance(value, str) and value in self.special_values:
            return value
        if self.kind is bool:
            if not isinstance(value, bool):
                raise UserError(f"{owner}: {self.name} is true or false; got {brief(value)}.")
            return value
        if self.kind is str:
            if not isinstance(value, str) or value not in self.choices:
                raise UserError(f"{owner}: {self.name} is one of {', '.join(self.choices)}; got {brief(value)}.")
            return value
        return self._number(owner, value)

    def _number(self, owner: str, value: Any) -> float | int:
        noun = "a whole number" if self.kind is int else "a number"
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            also = f" or {' or '.join(map(repr, self.special_values))}" if self.special_values else ""
            raise UserError(f"{owner}: {self.name} is {noun}{also}; got {brief(value)}.")
        if self.kind is int and int(value) != value:
            raise UserError(f"{owner}: {self.name} is a whole number; got {brief(value)}.")
        low = -float("inf") if self.minimum is None else self.minimum
        high = float("inf") if self.maximum is None else self.maximum
        if not low <= value <= high:
            rule = f"lies between {low:g} and {high:g}" if high < math.inf else f"is {low:g} or more"
            raise UserError(f"{owner}: {self.name} {rule}; got {brief(value)}.")
        number: float | int = self.kind(value)
        return number


@dataclass(frozen=True, kw_only=True)
class VectorParameter(Parameter):
    """`length` numbers, each within the range; also read from text like "1, 0.5"."""

    length: int

    @property
    def each(self) -> Parameter:
        """Any one of the numbers."""
        limits: Fields = {"minimum": self.minimum, "maximum": self.maximum, "step": self.step}
        return Parameter(name=self.name, kind=float, default=0.0, help=self.help, **limits)

    def check(self, owner: str, value: Any) -> list[float]:
        """Return `value` as a list; raise UserError when it is not so many numbers or one is out of range."""
        numbers = parse_literal(value)
        if not isinstance(numbers, list | tuple) or len(numbers) != self.length:
            raise UserError(f"{owner}: {self.name} is {self.length} numbers, as in 1, 0.5; got {brief(value)}.")
        return [self.each.check(owner, number) for number in numbers]


@dataclass(frozen=True, kw_only=True)
class FormulaParameter(Parameter):
    """A formula that a person types, of pairs or of triplets."""

    of: Of

    def check(self, owner: str, value: Any) -> str:
        """Return the formula as Python writes it; raise UserError with the rule that it breaks."""
        if not isinstance(value, str | int | float):
            raise UserError(f"{owner}: {self.name} is a text; got {brief(value)}.")
        return read_formula(str(value), self.of).text


def _is_finite(value: float | int) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def parse_literal(value: Any) -> Any:
    """Return what a text spells (a number, a list, a mapping), or `value` itself where it spells nothing."""
    if not isinstance(value, str) or len(value) > LONGEST:
        return value
    for attempt in range(TRIES):
        try:
            return literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return value
        except SystemError:  # another thread parsed at the same moment: a fault of CPython before 3.11.8 (gh-106905)
            if attempt == TRIES - 1:
                raise
    return value


def flag(name: str) -> str:
    """Return the command-line option of a field: --loss-param for loss_params, --embedding-dim for embedding_dim."""
    return "--" + name.removesuffix("s" if name.endswith("params") else "").replace("_", "-")


def brief(value: Any, most: int = 80) -> str:
    """Return a value as Python writes it, shortened where it is long, to repeat an input in an error message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with more digits than Python writes
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One choice: what it is called, what a person reads about it, and its parameters.

    `name` is what settings and files call it, `title` what the page calls it. `summary` says in one sentence what it
    does, `when_to_use` when it is the right choice, `formula` (LaTeX) what it computes, `reference` where it comes
    from. `family` groups choices on the page; `aliases` are other words by which the search of Learn finds it.
    `in_ball` tells of a loss, a miner or a sampler whether it takes distances of the Poincaré ball, and nothing else;
    `of_training_set` whether it looks at the embeddings of all training images once an epoch. `ascending` names
    parameters each of which is more than the one before.
    """

    name: str
    title: str
    summary: str
    when_to_use: str = ""
    formula: str = ""
    reference: str = ""
    family: str = ""
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    in_ball: bool = False
    of_training_set: bool = False
    ascending: tuple[str, ...] = ()

    __pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    def with_defaults(self, values: Mapping[str, Any]) -> Fields:
        """Return every parameter with its value, defaults filled in; raise UserError for a wrong one."""
        by_name = {parameter.name: parameter for parameter in self.parameters}
        for name in values:
            if name not in by_name:
                rule = f"its parameters are {', '.join(by_name)}" if by_name else "it has no parameters"
                raise UserError(f"{self.name} has no parameter {brief(name)}; {rule}.")
        all_values = {
            name: parameter.check(self.name, values.get(name, parameter.default)) for name, parameter in by_name.items()
        }
        for low, high in pairwise(self.ascending):
            if all_values[high] <= all_values[low]:
                got = f"{all_values[high]:g} and {all_values[low]:g}"
                raise UserError(f"{self.name}: {high} is more than {low}; got {got}: change one.")
        optional = {name: parameter.default for name, parameter in by_name.items() if parameter.optional}
        return {name: v for name, v in all_values.items() if name not in optional or v != optional[name]}


Weights = Mapping[str, np.ndarray]
ClassScores = Callable[[np.ndarray, np.ndarray, Sequence[int], Params, Weights], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class LossSpec(Spec):
    r"""A loss. All that the program must know of it, beside its formula; no other code uses its name.

    Training:

    tuple_kinds: The kinds of tuples that a miner may hand it ("pairs", "triplets"); empty for a loss that looks at the
        whole batch by itself.
    needs_classes: Whether it owns weights for each class, and so must know how many there are.
    on_sphere: Whether it looks at directions only.
    by_number: Whether labels are numbers in an order for it: two classes are the more alike the nearer they are.
    memory: Whether an image may be compared with a memory of earlier batches, too: a loss whose terms belong to one
        anchor each. "mined": where a miner selects them, as without one they are too many.
    recommended: TrainConfig fields with the values that this loss trains well with; they replace the usual defaults.
    in_dimensions: By the embedding's dimensions, what is recommended beyond that; its "loss_params" are parameters of
        the loss.
    without_labels: The same for training without labels, where the views of an image are its positives.
    caveat: A sentence on what goes wrong with it; not empty for a loss that fails on purpose.

    Batch explorer:

    term: The formula of one term in LaTeX, for these parameters, each number in angle brackets by its symbol, as in
        r"[<m> + <d_{ap}> - <d_{an}>]_+"; the loss's function gives the `numbers`. `<m°>` writes an angle in degrees.
        Formulas that come first name one of the numbers: r"p = 1 - <q>,\quad -\log <p>". If it is
        empty, only the value of the term is shown.
    negative_term: The same for a pair of two classes, where it is another formula.
    term_note: A sentence about the term, with numbers in angle brackets.
    compares: Its comparisons in a batch that no miner selected from: "pairs" (every pair), "triplets" (every
        triplet), "positive_pairs" (every positive pair against the anchor's negatives), "anchors" (each image against
        its positives and negatives together), "classes" (each image with the classes).
    compares_dimensions: Whether its terms are of dimensions, so that an image, a pair or a triplet has none.
    thresholds: The distances from which on its terms are 0, from the parameters and the learned weights (arrays, by
        name); None for those that follow from its parameters `margin` and `distance`.
    class_scores: For a loss that compares "classes", how well each image goes with each class.
    class_centers: The center of a class on the map: "weights" (a learned direction for each class), "points" (a
        learned point, called "centers"), "means" (the mean of the batch's images), or "" for nothing.
    angular_margins: The margins m₁, m₂, m₃ of cos(m₁θ + m₂) − m₃ from the parameters; None for a loss without angles.
    """

    tuple_kinds: frozenset[str] = frozenset()
    needs_classes: bool = False
    on_sphere: bool = False
    by_number: bool = False
    memory: Literal["", "mined", "always"] = ""
    recommended: Mapping[str, Any] = field(default_factory=dict)
    in_dimensions: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    without_labels: Mapping[str, Any] = field(default_factory=dict)
    caveat: str = ""
    term: str | Callable[[Params], str] = ""
    negative_term: str = ""
    term_note: str = ""
    compares: Literal["pairs", "triplets", "positive_pairs", "anchors", "classes"] = "anchors"
    compares_dimensions: bool = False
    thresholds: Callable[[Params, Weights], PairThresholds] | None = None
    class_scores: ClassScores = class_scores.by_weight
    class_centers: Literal["", "weights", "points", "means"] = ""
    angular_margins: Callable[[Params], tuple[float, float, float]] | None = None

    @property
    def needs_pairs(self) -> bool:
        """Return whether it compares images of a batch with each other, so that one class alone teaches nothing."""
        return not (self.needs_classes and not self.tuple_kinds)

    def recommended_in(self, embedding_dim: int) -> Fields:
        """Return the recommended values of TrainConfig fields for an embedding of so many dimensions."""
        return {**self.recommended, **self.in_dimensions.get(embedding_dim, {})}

    def params_in(self, embedding_dim: int) -> Fields:
        """Return every parameter, at its default where it is not given, in so many dimensions."""
        return self.with_defaults(self.recommended_in(embedding_dim).get("loss_params", {}))

    def for_params(self, params: Mapping[str, Any]) -> "LossSpec":
        """Return what holds with these parameters; only a loss made of other losses changes with them."""
        return self

    def parts(self, params: Mapping[str, Any]) -> dict[str, tuple[str, Fields]]:
        """Return name and parameters of each loss that this one is made of, by side ("a", "b"); empty for most."""
        return {}

    def term_for(self, params: Params) -> str:
        """Return the formula of a term with these parameters; see `term`."""
        return self.term(params) if callable(self.term) else self.term

    def thresholds_for(self, params: Params, weights: Weights) -> PairThresholds:
        """Return the distances from which on its terms are 0, with these parameters and learned weights."""
        if self.thresholds is None:
            return default_thresholds(params, self.on_sphere, self.needs_classes)
        return self.thresholds(params, weights)


D = TypeVar("D", bound=Spec)
TABLES = tomllib.loads(Path(__file__).with_name("specs.toml").read_text(encoding="utf-8"))
_KINDS: Mapping[str, type] = {"float": float, "int": int, "bool": bool, "str": str}


def parameter(name: str, *, like: str = "", **fields: Any) -> Parameter:
    """Return a parameter with these fields, and those of the line `like` of [parameter] in specs.toml.

    It is of the kind of its default, where no `kind` names one.
    """
    fields = (TABLES["parameter"][like] if like else {}) | fields
    kind = _KINDS[fields.pop("kind", type(fields["default"]).__name__)]
    frozen: Fields = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return (FormulaParameter if "of" in frozen else Parameter)(name=name, kind=kind, **frozen)


def margin(default: float, text: str, *, name: str = "margin", minimum: float = 0, maximum: float = 100) -> Parameter:
    """Return a parameter for a margin on a distance or a cosine.

    Args:
        default: Its value where none is given.
        text: What it does, for a person.
        name: Its name.
        minimum: The smallest value.
        maximum: The largest value.
    """
    return parameter(name, like="margin", default=float(default), minimum=minimum, maximum=maximum, help=text)


def scale(default: float, text: str, *, name: str = "scale", maximum: float = 1000) -> Parameter:
    """Return a parameter for a positive factor on a score.

    Args:
        default: Its value where none is given.
        text: What it does, for a person.
        name: Its name.
        maximum: The largest value.
    """
    return parameter(name, like="scale", default=float(default), maximum=maximum, help=text)


def distance(default: str = "euclidean") -> Parameter:
    """Return a parameter for the distance inside the hinge.

    Args:
        default: The distance where none is chosen.
    """
    return parameter("distance", like="distance", default=default)


def reduction(default: str = "mean") -> Parameter:
    """Return a parameter for the reduction of a batch's terms to one number.

    Args:
        default: The reduction where none is chosen.
    """
    return parameter("reduction", like="reduction", default=default)


def specs(cls: type[D], table: str, code: Mapping[str, Mapping[str, Any]] | None = None) -> list[D]:
    """Return the specs that a table of specs.toml has, in its order.

    `code` has, by name, the fields that are functions or made by one.
    """
    code, rows, read = code or {}, TABLES[table], TypeAdapter(cls).validate_python
    if unknown := code.keys() - rows.keys():
        raise ValueError(f"specs.toml has no [{table}.{min(unknown)}]")
    made = []
    for name, fields in rows.items():
        parameters = tuple(parameter(key, **row) for key, row in fields.get("parameters", {}).items())
        made.append(read({"name": name, **fields, "parameters": parameters, **code.get(name, {})}))
    return made


def describe_unknown(noun: str, name: object, titles: Mapping[str, str], own: Iterable[str] = ()) -> str:
    """Return a sentence that says that a name does not exist, and which similar ones do.

    Args:
        noun: Kind of the name, as in "loss".
        name: The name that was received.
        titles: The title of each name that exists; the name may be spelled like either.
        own: Further names, which are proposed where the name is spelled like them.
    """
    near: list[str] = []
    if isinstance(name, str):
        by_spelling = {title.lower(): key for key, title in titles.items()} | {
            key.lower(): key for key in (*own, *titles)
        }
        spelled_alike = get_close_matches(name[:80].lower().strip(), by_spelling, n=2 * SIMILAR_NAMES)
        near = [*dict.fromkeys(by_spelling[spelling] for spelling in spelled_alike)][:SIMILAR_NAMES]
    others = f", or one of {len(titles) - MOST_NAMES} more" if len(titles) > MOST_NAMES else ""
    choices = f"choose one of {', '.join(list(titles)[:MOST_NAMES])}{others}."
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else choices
    return f"There is no {noun} called {brief(name)}: {hint}"


class Catalog(Mapping[str, D], Generic[D]):
    """Specs by name, in the order in which they are offered.

    `noun` is what a message calls one of them; `plugged` holds the functions of those that plug-ins brought, `code` a
    hash of the files of each.
    """

    def __init__(self, noun: str, entries: Iterable[D]) -> None:
        self.noun = noun
        self.plugged: dict[str, Callable[..., Any]] = {}
        self.code: dict[str, str] = {}
        self._entries: dict[str, D] = {}
        for entry in entries:
            if entry.name in self._entries:
                raise ValueError(f"two {noun} entries are called {entry.name!r}")
            self._entries[entry.name] = entry

    def add(self, entry: D, implementation: Callable[..., Any]) -> None:
        """Add the spec of a plug-in, after all others; raise UserError if there is one of that name already."""
        if entry.name in self._entries:
            raise UserError(f"There is a {self.noun} called {entry.name!r} already: choose another name.")
        self._entries[entry.name] = entry
        self.plugged[entry.name] = implementation
        self.code[entry.name] = sha256(_source(implementation)).hexdigest()[:16]

    def remove(self, name: str) -> None:
        """Remove the spec of a plug-in."""
        del self.plugged[name], self.code[name], self._entries[name]

    def __getitem__(self, name: str) -> D:
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            titles = {key: entry.title for key, entry in self._entries.items()}
            raise UnknownNameError(describe_unknown(self.noun, name, titles)) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._entries  # without the search for a similar name

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _source(function: Callable[..., Any]) -> bytes:
    """Return the files of a plug-in: its package, or its file and what that imports from beside it.

    Where there is no file, as in a notebook, these are the lines of the function.
    """
    package = sys.modules.get(function.__module__.partition(".")[0])
    try:
        if (folders := getattr(package, "__path__", None)) is not None:
            return b"".join(_code_of(*map(Path, folders)).values())
        file = Path(inspect.getfile(function))
        files = _code_of(file)
        unread = [file] if function.__module__.startswith(OF_FILE) else []
        while unread:
            importer = unread.pop()
            for level, name in _imported(files[importer]):
                parts = name.split(".")
                if not level and not _is_beside(parts[0], file.parent):
                    continue
                folder = importer.parents[level - 1] if level else file.parent
                modules = [folder.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]
                more = _code_of(*(path for one in modules for path in (one.with_suffix(".py"), one / "__init__.py")))
                unread += [path for path in more if path not in files]
                files |= more
        return b"".join(files[path] for path in sorted(files))
    except (TypeError, OSError):
        try:
            return inspect.getsource(function).encode()
        except (TypeError, OSError):
            return b""


@cache
def _imported(code: bytes) -> frozenset[tuple[int, str]]:
    """Return what code imports, anywhere in it: how many folders up (0: from the path of imports), and the name."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError):  # which fails, or is never met, when it is imported
        return frozenset()
    names = {(0, one.name) for node in nodes if isinstance(node, ast.Import) for one in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names |= {(node.level, f"{node.module or ''}.{one.name}".strip(".")) for one in node.names}
    return frozenset(names)


def _is_beside(name: str, folder: Path) -> bool:
    """Return whether an import of this name finds it in the folder, which is the last that is searched."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return name != "dmlviz" and any(place is not None and Path(place).parent == folder for place in places)


def _code_of(*paths: Path) -> dict[Path, bytes]:
    """Return the contents of files of Python, and of those in folders."""
    found = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return {file: file.read_bytes() for file in found if file.is_file()}


T = TypeVar("T", bound=Callable[..., Any])


class Registry(dict[str, Callable[..., Any]]):
    """Implementations by name, those of plug-ins included; a name must have a spec, and only one implementation."""

    def __init__(self, catalog: Catalog[Any]) -> None:
        super().__init__()
        self.catalog = catalog

    def __missing__(self, name: str) -> Callable[..., Any]:
        return self.catalog.plugged[name]

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate the function or class that the spec `name` describes."""

        def bind(code: T) -> T:
            if name not in self.catalog:
                raise ValueError(f"{code!r} implements {name!r}, which no {self.catalog.noun} declares")
            if name in self:
                raise ValueError(f"{name!r} is implemented twice: {self[name]!r} and {code!r}")
            self[name] = code
            return code

        return bind
