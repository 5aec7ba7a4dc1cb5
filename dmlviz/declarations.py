"""How a choice is declared once: from a declaration come widget, option, validation, page and test row.

This file and every `declared.py` import no torch, because the server shows the choices and has none.
"""

import math
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from dmlviz.errors import UnknownName, UserError

LONGEST = 2000  # characters of a text that may spell a value
TRIES = 5


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One knob: `kind` is float, int, bool or str; numbers lie in [minimum, maximum] when these are given.

    `choices` lists the words a str may be; `words` lists words a number may be instead (a margin of "soft").
    """

    name: str
    kind: type
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def check(self, owner: str, value: Any) -> Any:
        """Return `value` as `kind`; raise UserError when it is of another kind or out of range."""
        if isinstance(value, str) and value in self.words:
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
            also = f" or {' or '.join(map(repr, self.words))}" if self.words else ""
            raise UserError(f"{owner}: {self.name} is {noun}{also}; got {brief(value)}.")
        if self.kind is int and int(value) != value:
            raise UserError(f"{owner}: {self.name} is a whole number; got {brief(value)}.")
        low = -float("inf") if self.minimum is None else self.minimum
        high = float("inf") if self.maximum is None else self.maximum
        if not low <= value <= high:
            raise UserError(f"{owner}: {self.name} lies between {low:g} and {high:g}; got {brief(value)}.")
        return self.kind(value)


@dataclass(frozen=True, kw_only=True)
class Numbers(Parameter):
    """`length` numbers, each within the range; also read from text like "1, 0.5"."""

    length: int

    @property
    def each(self) -> Parameter:
        """Any one of the numbers."""
        limits: dict[str, Any] = {"minimum": self.minimum, "maximum": self.maximum, "step": self.step}
        return Parameter(name=self.name, kind=float, default=0.0, help=self.help, **limits)

    def check(self, owner: str, value: Any) -> list[float]:
        """Return `value` as a list; raise UserError when it is not so many numbers or one is out of range."""
        numbers = literal(value)
        if not isinstance(numbers, list | tuple) or len(numbers) != self.length:
            raise UserError(f"{owner}: {self.name} is {self.length} numbers, as in 1, 0.5; got {brief(value)}.")
        return [self.each.check(owner, number) for number in numbers]


def _is_finite(value: float | int) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def literal(value: Any) -> Any:
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


def brief(value: Any, most: int = 80) -> str:
    """A value as Python writes it, cut where it is long: what a person gave, told back in a sentence."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with more digits than Python writes
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """One choice: its name, what a person reads about it, and its parameters; `when` says when to use it."""

    name: str
    title: str
    summary: str
    when: str = ""
    formula: str = ""
    reference: str = ""
    family: str = ""
    parameters: tuple[Parameter, ...] = ()

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every parameter with its value, defaults filled in; raise UserError for a wrong one."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                offered = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
                raise UserError(f"{self.name} has no parameter {brief(name)}; {offered}.")
        return {
            name: parameter.check(self.name, given.get(name, parameter.default)) for name, parameter in known.items()
        }


@dataclass(frozen=True, kw_only=True)
class LossDeclaration(Declaration):
    """A loss. `accepts` holds the kinds of tuples a miner may hand it ("pairs", "triplets").

    `recommended` maps TrainConfig fields to the values this loss was found to train well with; they stand in for
    whatever a config leaves out. `in_dimensions` holds, by the embedding's dimensions, what is recommended beyond that,
    its "loss_params" being parameters of the loss. `on_sphere` says that it looks at directions only. `lesson` is
    not empty for a loss that fails on purpose and says what it teaches.
    """

    accepts: frozenset[str] = frozenset()
    needs_classes: bool = False
    on_sphere: bool = False
    recommended: Mapping[str, Any] = field(default_factory=dict)
    in_dimensions: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    lesson: str = ""

    @property
    def needs_partners(self) -> bool:
        """Whether it compares images of a batch with each other, so that a class alone in it teaches nothing."""
        return not (self.needs_classes and not self.accepts)

    def recommended_in(self, embedding_dim: int) -> dict[str, Any]:
        """Return the recommended values of TrainConfig fields for an embedding of so many dimensions."""
        return {**self.recommended, **self.in_dimensions.get(embedding_dim, {})}

    def params_in(self, embedding_dim: int) -> dict[str, Any]:
        """Return every parameter with the value that it has when nobody says, in so many dimensions."""
        return self.complete(self.recommended_in(embedding_dim).get("loss_params", {}))

    def given(self, params: Mapping[str, Any]) -> "LossDeclaration":
        """Return what holds with these parameters; only a loss made of other losses changes with them."""
        return self


@dataclass(frozen=True, kw_only=True)
class MinerDeclaration(Declaration):
    """A miner; `makes` is "pairs" or "triplets"."""

    makes: str


D = TypeVar("D", bound=Declaration)


class Catalogue(Mapping[str, D], Generic[D]):
    """Declarations by name, in the order in which they are offered."""

    def __init__(self, noun: str, entries: Iterable[D]) -> None:
        self.noun = noun
        self._entries: dict[str, D] = {}
        for entry in entries:
            if entry.name in self._entries:
                raise ValueError(f"two {noun} entries are called {entry.name!r}")
            self._entries[entry.name] = entry

    def __getitem__(self, name: str) -> D:
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            near = get_close_matches(name[:80], self._entries, n=1) if isinstance(name, str) else []
            hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(self._entries)}."
            raise UnknownName(f"There is no {self.noun} called {brief(name)}: {hint}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
