"""Schemas of a run's JSON files: run.json, projection.json, metrics.json and the lines of events.jsonl.

All of these files are read through these schemas, those of an imported archive too. Types are strict: no conversion
between text and numbers, no NaN, no infinity. Unknown keys are dropped: a newer version may have written them.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from dmlviz.errors import DamagedFileError

T = TypeVar("T")
STRICT = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)
MAX_JSON_BYTES = 16_000_000
MAX_STEPS = 1_000_000
MAX_IMAGES = 10_000_000
MAX_COORDINATE = 1e39  # no float32 is larger

_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def one_line(text: str, most: int = 80) -> str:
    r"""Put a user's text on one line of at most `most` characters, without control and text-direction characters.

    Example:
        >>> one_line("two\nlines,\x1b[31m no color")
        'two lines, [31m no color'
    """
    return " ".join(_CONTROL_CHARACTERS.sub(" ", text).split())[:most].strip()


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
Moment = Annotated[str, Field(max_length=40), AfterValidator(_check_timestamp)]
Device = Annotated[str, Field(pattern=r"^[a-z]{0,10}(:[0-9]{1,2})?$")]
Count = Annotated[int, Field(ge=0, le=MAX_IMAGES)]
Stride = Annotated[int, Field(ge=0, le=MAX_STEPS)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Coordinate = Annotated[float, Field(ge=-MAX_COORDINATE, le=MAX_COORDINATE)]
Scores = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_./@-]{1,80}$")], Number | None]


@with_config(STRICT)
class DatasetDescription(TypedDict):
    """A custom data set, as in `DatasetSpec.to_dict`."""

    name: Annotated[str, Field(pattern=r"^custom-[0-9a-f]{16}$")]
    title: Text
    summary: Text
    classes: Annotated[list[Text], Field(min_length=1, max_length=100_000)]
    size: Annotated[int, Field(ge=0, le=1024)]
    mean: Annotated[float, Field(ge=-1e6, le=1e6)]
    std: Annotated[float, Field(gt=0, le=1e6)]
    channels: Literal[1, 3]
    dark_on_light: bool
    most: dict[Word, Annotated[int, Field(ge=1, le=MAX_IMAGES)]]


@with_config(STRICT)
class Timings(TypedDict):
    """Duration of a training."""

    seconds: Number
    cpu_seconds: Number
    steps: Stride


@with_config(STRICT)
class RunDescription(TypedDict):
    """run.json; `config` holds the fields of a TrainConfig, which validates them itself."""

    version: Literal[1]
    id: Id
    title: Annotated[str, Field(min_length=1, max_length=1000)]
    config: dict[str, Any]
    created: Moment
    dmlviz: NotRequired[Text]
    torch: NotRequired[Text]
    dataset: NotRequired[DatasetDescription]
    fails: NotRequired[bool]
    device: NotRequired[Device]
    threads: NotRequired[Annotated[int, Field(ge=1, le=4096)]]
    timings: NotRequired[Timings]
    machine: NotRequired[Annotated[str, Field(max_length=100)]]  # of the fleet
    restarts: NotRequired[Annotated[list[Text], Field(max_length=100)]]  # why it was begun again, the last at the end
    tags: NotRequired[Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)]]
    pinned: NotRequired[bool]


@with_config(STRICT)
class ProjectionDescription(TypedDict):
    """projection.json; `config` holds the fields of a ProjectionConfig, which validates them itself."""

    version: Literal[1]
    id: Id
    config: dict[str, Any]


class _Positions(TypedDict):
    id: Id
    n: Annotated[int, Field(ge=0, le=MAX_IMAGES)]
    dims: Literal[2, 3]
    center: Annotated[list[Coordinate], Field(min_length=2, max_length=3)]
    scale: Annotated[float, Field(gt=0, le=MAX_COORDINATE)]
    items: Literal["tracked", "all"]


@with_config(STRICT)
class FrameDescription(_Positions):
    """Positions of `n` items: the hash of their file, and their bounding box in `dims` dimensions."""


def _check_box(frame: Any) -> Any:
    if len(frame["center"]) != frame["dims"]:
        raise ValueError("a frame's center has as many numbers as the frame has dimensions")
    return frame


AFrame = Annotated[FrameDescription, AfterValidator(_check_box)]
Centers = Annotated[list[Annotated[list[Coordinate], Field(min_length=1, max_length=3)]], Field(max_length=100_000)]
Explained = Annotated[list[Number], Field(max_length=3)] | None
Time = Annotated[float, Field(ge=0, le=1e11)]


@with_config(STRICT)
class ReplayFrame(_Positions):
    """A frame of a replay, with its training step."""

    step: Stride
    centers: NotRequired[Centers]
    explained: NotRequired[Explained]
    faithfulness: NotRequired[Scores | None]


@with_config(STRICT)
class Preparing(TypedDict):
    """The data set is being downloaded."""

    event: Literal["preparing"]
    dataset: Text
    done: Annotated[int, Field(ge=0)]
    total: Annotated[int, Field(ge=0)]
    time: Time


@with_config(STRICT)
class RunStarted(TypedDict):
    """Training started."""

    event: Literal["started"]
    steps: Stride
    train_images: Count
    test_images: Count
    device: Device
    view: Word
    dims: Literal[2, 3]
    tracked: Count
    unseen: NotRequired[Annotated[list[Text], Field(max_length=100_000)]]
    time: Time


@with_config(STRICT)
class Step(TypedDict):
    """Statistics of one batch, or their means over several."""

    event: Literal["step"]
    step: Stride
    loss: Number | None
    active: Number | None
    positive_distance: Number | None
    negative_distance: Number | None
    images_per_second: Number | None
    cpu_seconds: Number | None
    time: Time


@with_config(STRICT)
class Batch(TypedDict):
    """A batch was recorded."""

    event: Literal["batch"]
    step: Stride
    images: Count
    loss: Number | None
    active: Number | None
    time: Time


@with_config(STRICT)
class Snapshot(TypedDict):
    """The tracked images were embedded."""

    event: Literal["snapshot"]
    step: Stride
    frame: AFrame
    metrics: Scores
    centers: NotRequired[Centers]
    time: Time


@with_config(STRICT)
class Alarm(TypedDict):
    """A diagnosed problem, with suggested changes of the settings."""

    event: Literal["alarm"]
    step: Stride
    alarm: Word
    sentence: Sentence
    remedies: Annotated[list[Sentence], Field(max_length=100)]
    time: Time


@with_config(STRICT)
class AlarmOver(TypedDict):
    """A problem has cleared."""

    event: Literal["alarm_over"]
    step: Stride
    alarm: Word
    time: Time


@with_config(STRICT)
class Replay(TypedDict):
    """All snapshots in one common projection; for a projection of all epochs, one frame per epoch."""

    event: Literal["replay"]
    view: Word
    frames: Annotated[list[Annotated[ReplayFrame, AfterValidator(_check_box)]], Field(min_length=1, max_length=10_000)]
    basis: NotRequired[Word]
    explained: NotRequired[Explained]
    faithfulness: NotRequired[Scores | None]
    epochs: NotRequired[Count]
    time: Time


class _RunEnd(TypedDict):
    step: NotRequired[Stride]
    metrics: NotRequired[Scores]
    test_images: NotRequired[Count]
    usual_distance: NotRequired[Number | None]
    seconds: NotRequired[Number]
    cpu_seconds: NotRequired[Number]
    reason: NotRequired[Sentence]
    time: Time


@with_config(STRICT)
class RunFinished(_RunEnd):
    """Training finished."""

    event: Literal["finished"]
    step: Stride  # type: ignore[misc]


@with_config(STRICT)
class RunStopped(_RunEnd):
    """Training was stopped."""

    event: Literal["stopped"]
    step: Stride  # type: ignore[misc]


@with_config(STRICT)
class Failed(TypedDict):
    """A training or projection failed; `reason` is the message for the user."""

    event: Literal["failed"]
    step: NotRequired[Stride]
    metrics: NotRequired[Scores]
    reason: Sentence
    time: Time


@with_config(STRICT)
class DrawingStarted(TypedDict):
    """A projection started, or resumed at `iteration`."""

    event: Literal["started"]
    method: NotRequired[Word]
    iterations: NotRequired[Count | None]
    iteration: NotRequired[Count]
    time: Time


@with_config(STRICT)
class Drawn(TypedDict):
    """An intermediate layout of an iterative projection."""

    event: Literal["frame"]
    iteration: Count
    of: Count
    error: NotRequired[Number | None]
    frame: AFrame
    time: Time


@with_config(STRICT)
class DrawingPhase(TypedDict):
    """The current phase of a library that reports no intermediate layouts."""

    event: Literal["phase"]
    words: Sentence
    iteration: Count
    of: Count
    time: Time


class _DrawingEnd(TypedDict):
    frame: NotRequired[AFrame | None]
    iteration: NotRequired[Count | None]
    seconds: NotRequired[Number]
    explained: NotRequired[Explained]
    error: NotRequired[Number | None]
    faithfulness: NotRequired[Scores | None]
    step: NotRequired[Stride]
    metrics: NotRequired[Scores]
    reason: NotRequired[Sentence]
    time: Time


@with_config(STRICT)
class DrawingFinished(_DrawingEnd):
    """A projection finished."""

    event: Literal["finished"]


@with_config(STRICT)
class DrawingStopped(_DrawingEnd):
    """A projection was stopped."""

    event: Literal["stopped"]


RUN: TypeAdapter[Any] = TypeAdapter(RunDescription)
PROJECTION: TypeAdapter[Any] = TypeAdapter(ProjectionDescription)
DATASET: TypeAdapter[Any] = TypeAdapter(DatasetDescription)
METRICS: TypeAdapter[dict[str, float | None]] = TypeAdapter(Scores, config=STRICT)
_OfRun = Preparing | RunStarted | Step | Batch | Snapshot | Alarm | AlarmOver | Replay | RunFinished | RunStopped
RUN_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[_OfRun | Failed, Discriminator("event")])
_OfDrawing = DrawingStarted | Drawn | DrawingPhase | Replay | DrawingFinished | DrawingStopped | Failed
DRAWING_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[_OfDrawing, Discriminator("event")])


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
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFileError(path, (error.strerror or type(error).__name__).lower()) from None
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
