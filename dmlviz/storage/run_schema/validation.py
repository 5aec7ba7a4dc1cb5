"""Reading a JSON file by its schema, and saying in a few words what is wrong with it."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from dmlviz.errors import DamagedFileError
from dmlviz.storage.arrays import reading
from dmlviz.storage.regular_file import open_regular
from dmlviz.storage.text import one_line, plain_rule

MAX_STEPS = 1_000_000
MAX_IMAGES = 10_000_000
MAX_COORDINATE = 1e39  # no float32 is larger


def _check_timestamp(text: str) -> str:
    try:
        timestamp = datetime.fromisoformat(text)
    except ValueError:
        timestamp = None
    if timestamp is None or timestamp.tzinfo is None or not 2000 <= timestamp.year < 3000:
        raise ValueError("a moment is a date with time and time zone, as in 2026-01-31T12:00:00+00:00")
    return text


Id = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Text = Annotated[str, Field(max_length=1000)]
Sentence = Annotated[str, Field(max_length=4000)]
Word = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")]
Timestamp = Annotated[str, Field(max_length=40), AfterValidator(_check_timestamp)]
Device = Annotated[str, Field(pattern=r"^[a-z]{0,10}(:[0-9]{1,2})?$")]
Precision = Literal["float32", "bfloat16", "float16"]
TupleKind = Literal["triplets", "pairs", "images"]  # what a validation loss compares: images with class weights
Count = Annotated[int, Field(ge=0, le=MAX_IMAGES)]
StepNumber = Annotated[int, Field(ge=0, le=MAX_STEPS)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Coordinate = Annotated[float, Field(ge=-MAX_COORDINATE, le=MAX_COORDINATE)]
Time = Annotated[float, Field(ge=0, le=1e11)]
Scores = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_./@-]{1,80}$")], Number | None]


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
    rule = plain_rule(problem["msg"])
    return f"{where}: {rule}" if where else rule
