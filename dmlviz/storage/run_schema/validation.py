"""Reading a JSON file by its schema, and saying in a few words what is wrong with it."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from dmlviz.errors import DamagedFileError
from dmlviz.storage.arrays import reading
from dmlviz.storage.regular_file import open_regular
from dmlviz.storage.text import one_line

T = TypeVar("T")
STRICT = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)
MAX_JSON_BYTES = 16_000_000
OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any], config=STRICT)


def parse(adapter: TypeAdapter[T], text: bytes, path: Path, place: str = "") -> T:
    """Validate one JSON document.

    Args:
        adapter: The schema.
        text: The document.
        path: Its file, for the error message.
        place: Its position in the file, for the error message.

    Returns:
        The validated document.

    Raises:
        DamagedFileError: For anything that does not match the schema.
    """
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise DamagedFileError(path, place + complaint(error)) from None


def read(adapter: TypeAdapter[T], path: Path) -> T:
    """Read and validate a JSON file; raise FileNotFoundError or DamagedFileError."""
    with reading(path), open_regular(path) as file:
        text = file.read(MAX_JSON_BYTES + 1)
    if not text.strip():
        raise DamagedFileError(path, "it is empty")
    if len(text) > MAX_JSON_BYTES:
        raise DamagedFileError(path, f"it is larger than {MAX_JSON_BYTES / 1e6:g} MB")
    return parse(adapter, text, path)


def complaint(error: ValidationError) -> str:
    """Describe the first validation error in a few words: the field, then the rule."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(one_line(str(part), 30) for part in problem["loc"] if not isinstance(part, dict))
    rule = one_line(problem["msg"].removeprefix("Value error, "), 160)
    rule = rule[:1].lower() + rule[1:]
    return f"{where}: {rule}" if where else rule
