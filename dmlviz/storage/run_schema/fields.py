"""Types of single fields: ids, counts, texts, positions, scores."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

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
