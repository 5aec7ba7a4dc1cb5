"""Addresses: what a page's address says of its state, declared parameter by parameter, and the way there and back."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from dmlviz.catalog.parameters import brief, describe_unknown
from dmlviz.errors import UserError
from dmlviz.storage.files import is_run_id
from dmlviz_app.widgets.messages import Speaking


@dataclass(frozen=True)
class Type:
    """How the values of a parameter are read and written.

    Attributes:
        read: Returns the value of a text, given the state so far; raises UserError with what to say of a text that
            cannot be followed. The value of one that is ignored is the parameter's default.
        write: Returns the text of a value.
        takes_empty: Whether a text without letters has a meaning.
    """

    read: Callable[[str, Any], Any]
    write: Callable[[Any], str] = str
    takes_empty: bool = False


@dataclass(frozen=True)
class Param:
    """A parameter of an address.

    Attributes:
        key: Its name.
        type: How its values are read and written.
        default: The value that is not written.
        after: Key of the parameter without which this one means nothing: it is read after that one, and neither read
            nor written where that one has its default.
        field: The field of the state that holds the value; the key by default.
        place: The place of the page where is said what cannot be followed, as `Messages` have it; the key by default.
        get: Returns the value, where no field holds it.
        set: Sets the value, where no field holds it; raises UserError for one that does not go with the others.
    """

    key: str
    type: Type
    default: Any = None
    _: KW_ONLY
    after: str = ""
    field: str = ""
    place: str = ""
    get: Callable[[Any], Any] | None = None
    set: Callable[[Any, Any], object] | None = None

    def of(self, state: Any) -> Any:
        """Return the value in a state."""
        return getattr(state, self.field or self.key) if self.get is None else self.get(state)

    def refusal(self, text: str, state: Any) -> str:
        """Set the value in a state; return why it cannot be, or ""."""
        try:
            value = self.type.read(text, state)
            if self.set is None:
                setattr(state, self.field or self.key, value)
            else:
                self.set(state, value)
        except UserError as error:
            return str(error)
        return ""


class Address:
    """The parameters of a page's address.

    Args:
        params: The parameters; each comes after the one that it names in `after`.
        more: Each returns some that depend on the state that those before make.
    """

    def __init__(self, *params: Param, more: Sequence[Callable[[Any], Iterable[Param]]] = ()) -> None:
        self.params = {param.key: param for param in params}
        self._more = more
        self._depths: dict[str, int] = {"": -1}
        for param in params:
            self._depths[param.key] = self._depths[param.after] + 1

    def encode(self, state: Any) -> dict[str, str]:
        """Return the parameters for a state, without defaults."""
        params = [*self.params.values(), *(param for more in self._more for param in more(state))]
        return {param.key: param.type.write(param.of(state)) for param in params if self._is_said(param, state)}

    def decode(self, query: Mapping[str, str], state: Any) -> None:
        """Set a new state as an address says; the state hears by `refuse` what cannot be followed."""
        for depth in range(max(self._depths.values()) + 1):
            params = [param for param in self.params.values() if self._depths[param.key] == depth]
            _read([param for param in params if self._has_meaning(param, state)], query, state)
            for param in params:
                if query.get(param.key) and param.after not in query and not self._has_meaning(param, state):
                    state.refuse(
                        self.params[param.after],
                        query[param.key],
                        f"{param.key} goes with {param.after} only, which the address does not name; "
                        f"got {brief(query[param.key])}.",
                    )
        for more in self._more:
            _read(more(state), query, state)

    def _is_said(self, param: Param, state: Any) -> bool:
        return bool(param.of(state) != param.default) and self._has_meaning(param, state)

    def _has_meaning(self, param: Param, state: Any) -> bool:
        return not param.after or self._is_said(self.params[param.after], state)


def _read(params: Iterable[Param], query: Mapping[str, str], state: Any) -> None:
    asked = [param for param in params if query.get(param.key) or (param.type.takes_empty and param.key in query)]
    # Some values go only with one that comes later: few training images need small batches.
    for param in [param for param in asked if param.refusal(query[param.key], state)]:
        if refusal := param.refusal(query[param.key], state):
            state.refuse(param, query[param.key], refusal)


class UrlState(Speaking):
    """The state of a page, all of which is in the page's address. Each page has its own.

    Attributes:
        ADDRESS: The parameters of the address.
        last_query: The query that it last read from the address or wrote there; None before that.
    """

    ADDRESS: ClassVar[Address]
    last_query: dict[str, str] | None

    def to_query(self) -> dict[str, str]:
        """Return the state as the parameters of an address, without defaults."""
        return self.ADDRESS.encode(self)

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Read an address; what it names and does not exist is said."""
        state = cls()
        cls.ADDRESS.decode(query, state)
        return state

    def cause(self, place: str) -> object:
        """Return what the sentences at a place are about: all that the address says."""
        return self.to_query()

    def refuse(self, param: Param, text: str, sentence: str) -> None:
        """Say why a parameter of an address cannot be followed."""
        self.messages.say(param.place or param.key, sentence)


FLAG = Type(lambda text, _: text == "1", lambda value: str(int(value)))
TEXT = Type(lambda text, _: text)
SEARCH = Type(lambda text, _: text[:80])


def run_type(note: str = "") -> Type:
    """Return the type of a run's ID; `note` is said of what cannot be one."""

    def read(text: str, state: Any) -> str | None:
        if note and not is_run_id(text):
            raise UserError(note)
        return text if is_run_id(text) else None

    return Type(read)


def choice(noun: str, titles: Callable[[Any], Mapping[str, str]]) -> Type:
    """Return the type of a name among `titles`, given the state so far; of another one similar names are said."""

    def read(text: str, state: Any) -> str:
        if text in (known := titles(state)):
            return text
        raise UserError(describe_unknown(noun, text, known))

    return Type(read)


def one_of(*values: str) -> Type:
    """Return the type of these texts; any other is read as the first."""
    return Type(lambda text, _: text if text in values else values[0])
