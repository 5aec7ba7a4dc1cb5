"""Base of all configurations: frozen fields, an ID, JSON, errors in one sentence."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from dmlviz.catalog.parameters import Fields, brief
from dmlviz.errors import UnknownNameError, UserError
from dmlviz.storage.text import one_line, plain_rule

MAX_COMPLAINTS = 5


class Config(BaseModel):
    """Frozen settings with an ID: equal settings have equal IDs on every machine.

    Examples:
        >>> from dmlviz.config import TrainConfig
        >>> config = TrainConfig(dataset="digits", loss="triplet", steps=100)
        >>> config.replace(steps=200).steps, config.to_dict()["loss"]
        (200, 'triplet')
        >>> TrainConfig.from_json(config.to_json()) == config
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    optional_settings: ClassVar[frozenset[str]] = frozenset()
    """Fields that are no part of the ID and the JSON while they have their default: IDs of before stay as they are."""

    def __init__(self, /, **fields: Any) -> None:
        """Validate the fields; raise UserError, with one sentence per problem, instead of pydantic's error."""
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise user_error(type(self), error) from None

    @property
    def id(self) -> str:
        """Hash of the settings, 16 hexadecimal digits; the name of their run or projection."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_json(self) -> str:
        """Return every field, defaults included, as one canonical line of JSON; but see `optional_settings`."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    def to_dict(self) -> Fields:
        """Return what `to_json` writes."""
        fields = self.model_dump(mode="json")
        unset = {
            name
            for name in self.optional_settings
            if getattr(self, name) == type(self).model_fields[name].get_default(call_default_factory=True)
        }
        return {name: value for name, value in fields.items() if name not in unset}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the config that `to_json` wrote.

        Args:
            text: The JSON.

        Raises:
            UserError: For anything else.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UserError(f"A config is one JSON object; got text that is not JSON ({error}).") from None
        if not isinstance(fields, dict):
            raise UserError(f"A config is one JSON object; got {text.strip()[:40]}.")
        return cls(**fields)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Args:
            **changes: Fields by name.
        """
        return type(self)(**self.model_dump(mode="json") | changes)


def user_error(model: type[BaseModel], error: ValidationError) -> UserError:
    """Return the error that says, with one sentence per problem, what is wrong with the fields of a model."""
    problems = error.errors()[:MAX_COMPLAINTS]
    unknown = any(isinstance(_cause(problem), UnknownNameError) for problem in problems)
    return (UnknownNameError if unknown else UserError)(" ".join(_validation_messages(model, problems)))


def _cause(problem: Any) -> Exception | None:
    """Return the error that a validator of dmlviz raised, if one did."""
    cause: Exception | None = problem.get("ctx", {}).get("error")
    return cause


def said(problem: Any) -> str:
    """Return what is wrong with a field in plain words: "must be at least 1; got 0"."""
    return f"{plain_rule(problem['msg'])}; got {brief(problem['input'])}"


def _validation_messages(model: type[BaseModel], problems: Sequence[Any]) -> Iterator[str]:
    """Return a sentence for each problem, and one for all unknown settings, which lists the known ones."""
    unknown = []
    for problem in problems:
        cause, name = _cause(problem), ".".join(one_line(one, 40) for one in problem["loc"] if isinstance(one, str))
        if isinstance(cause, UserError):
            yield str(cause)
        elif problem["type"] == "extra_forbidden":
            unknown.append(repr(name))
        else:
            yield f"{name}: {said(problem)}."
    if unknown:
        what = "setting" if len(unknown) == 1 else "settings"
        yield f"Unknown {what} {', '.join(unknown)}; the settings are {', '.join(model.model_fields)}."
