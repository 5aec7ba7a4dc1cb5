"""What the JSON files of a run may hold: run.json, projection.json, metrics.json and every line of events.jsonl.

Nothing else reads them, whether they were written here or came in an archive. Types are strict: a number is no text, a
text no number, and no number is NaN or infinite. A key that is not listed here is left out: a newer version may have
written it, and nothing of this one would know what to do with it.
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
LONGEST = 16_000_000  # bytes of one document
MAX_STEPS = 1_000_000
MAX_IMAGES = 10_000_000
FARTHEST = 1e39  # no float32 is larger

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def one_line(text: str, most: int = 80) -> str:
    """A text that people gave, on one line, without the characters that steer a terminal or turn its direction."""
    return " ".join(_UNSEEN.sub(" ", text).split())[:most].strip()


def _check_timestamp(text: str) -> str:
    """A date with a time zone that every calendar here can show."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or not 2000 <= found.year < 3000:
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
Coordinate = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Scores = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_./@-]{1,80}$")], Number | None]


@with_config(STRICT)
class DatasetDescription(TypedDict):
    """Of somebody's own data: what `DatasetSpec.describe` tells."""

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
    """How long a training took."""

    seconds: Number
    cpu_seconds: Number
    steps: Stride


@with_config(STRICT)
class RunDescription(TypedDict):
    """run.json; `config` are the fields of a TrainConfig, which checks them itself."""

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
    tags: NotRequired[Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)]]
    pinned: NotRequired[bool]


@with_config(STRICT)
class ProjectionDescription(TypedDict):
    """projection.json; `config` are the fields of a ProjectionConfig, which checks them itself."""

    version: Literal[1]
    id: Id
    config: dict[str, Any]


class _Positions(TypedDict):
    id: Id
    n: Annotated[int, Field(ge=0, le=MAX_IMAGES)]
    dims: Literal[2, 3]
    center: Annotated[list[Coordinate], Field(min_length=2, max_length=3)]
    scale: Annotated[float, Field(gt=0, le=FARTHEST)]
    items: Literal["tracked", "all"]


@with_config(STRICT)
class FrameDescription(_Positions):
    """Where `n` items lie: in the file of that hash, in a box of `dims` dimensions."""


def _boxed(frame: Any) -> Any:
    if len(frame["center"]) != frame["dims"]:
        raise ValueError("a frame's center has as many numbers as the frame has dimensions")
    return frame


AFrame = Annotated[FrameDescription, AfterValidator(_boxed)]
Centers = Annotated[list[Annotated[list[Coordinate], Field(min_length=1, max_length=3)]], Field(max_length=100_000)]
Explained = Annotated[list[Number], Field(max_length=3)] | None
Time = Annotated[float, Field(ge=0, le=1e11)]


@with_config(STRICT)
class ReplayFrame(_Positions):
    """A frame of a replay, and the step that it shows."""

    step: Stride
    centers: NotRequired[Centers]
    explained: NotRequired[Explained]
    faithfulness: NotRequired[Scores | None]


@with_config(STRICT)
class Preparing(TypedDict):
    """The data are fetched."""

    event: Literal["preparing"]
    dataset: Text
    done: Annotated[int, Field(ge=0)]
    total: Annotated[int, Field(ge=0)]
    time: Time


@with_config(STRICT)
class RunStarted(TypedDict):
    """A training begins."""

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
    """A batch, or the mean of several."""

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
    """A batch was kept."""

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
    """Something goes wrong, and what may help."""

    event: Literal["alarm"]
    step: Stride
    alarm: Word
    sentence: Sentence
    remedies: Annotated[list[Sentence], Field(max_length=100)]
    time: Time


@with_config(STRICT)
class AlarmOver(TypedDict):
    """It goes well again."""

    event: Literal["alarm_over"]
    step: Stride
    alarm: Word
    time: Time


@with_config(STRICT)
class Replay(TypedDict):
    """All that was drawn on the way, on one basis; of a film, its epochs."""

    event: Literal["replay"]
    view: Word
    frames: Annotated[list[Annotated[ReplayFrame, AfterValidator(_boxed)]], Field(min_length=1, max_length=10_000)]
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
    """A training came to its end."""

    event: Literal["finished"]
    step: Stride  # type: ignore[misc]


@with_config(STRICT)
class RunStopped(_RunEnd):
    """A training was stopped."""

    event: Literal["stopped"]
    step: Stride  # type: ignore[misc]


@with_config(STRICT)
class Failed(TypedDict):
    """It ended with a sentence that says why."""

    event: Literal["failed"]
    step: NotRequired[Stride]
    metrics: NotRequired[Scores]
    reason: Sentence
    time: Time


@with_config(STRICT)
class DrawingStarted(TypedDict):
    """A projection begins, or goes on at `iteration`."""

    event: Literal["started"]
    method: NotRequired[Word]
    iterations: NotRequired[Count | None]
    iteration: NotRequired[Count]
    time: Time


@with_config(STRICT)
class Drawn(TypedDict):
    """A layout on its way."""

    event: Literal["frame"]
    iteration: Count
    of: Count
    error: NotRequired[Number | None]
    frame: AFrame
    time: Time


@with_config(STRICT)
class DrawingPhase(TypedDict):
    """What is done where a library shows no layout on its way."""

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
    """A projection is whole."""

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
    """One JSON document as the schema wants it; raise DamagedFileError that names the file, and the line in it."""
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise DamagedFileError(path, place + complaint(error)) from None


def read(adapter: TypeAdapter[T], path: Path) -> T:
    """The JSON document in a file; FileNotFoundError where there is none."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFileError(path, (error.strerror or type(error).__name__).lower()) from None
    if not text.strip() or len(text) > LONGEST:
        raise DamagedFileError(path, "it is larger than any of ours" if text.strip() else "it is empty")
    return parse(adapter, text, path)


def complaint(error: ValidationError) -> str:
    """What is wrong, in a few words: where, and which rule."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(one_line(str(part), 30) for part in problem["loc"] if not isinstance(part, dict))
    rule = one_line(problem["msg"].removeprefix("Value error, "), 160)
    rule = rule[:1].lower() + rule[1:]
    return f"{where}: {rule}" if where else rule
