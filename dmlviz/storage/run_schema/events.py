"""The events of a run and of a projection: the lines of their events.jsonl, and what the page hears beside them.

These types are what the writer writes, what the reader checks and what the page gets: its TypeScript is made from them.
They are typing_extensions' TypedDict, because pydantic takes no other in Python 3.11.
"""

from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import AfterValidator, Discriminator, Field, TypeAdapter
from typing_extensions import TypeAliasType, TypedDict

from dmlviz.storage.run_schema.validation import (
    MAX_COORDINATE,
    MAX_IMAGES,
    STRICT,
    Coordinate,
    Count,
    Device,
    Id,
    Number,
    Precision,
    Scores,
    Sentence,
    StepNumber,
    Text,
    Time,
    TupleKind,
    Word,
)

D = TypeVar("D", bound=Any)
Dims = Annotated[int, Field(ge=2, le=3)]


class FrameMeta(TypedDict):
    """Positions of `n` items: the hash of their file, and their meaning: world = center + q / 32767 · scale.

    So many of them are `outside`: far from all others, they stand at the edge.
    """

    id: Id
    n: Annotated[int, Field(ge=0, le=MAX_IMAGES)]
    dims: Dims
    center: Annotated[list[Coordinate], Field(min_length=2, max_length=3)]
    scale: Annotated[float, Field(gt=0, le=MAX_COORDINATE)]
    items: Literal["tracked", "all"]
    outside: NotRequired[Annotated[int, Field(ge=0, le=MAX_IMAGES)]]


def _check_box(frame: D) -> D:
    if len(frame["center"]) != frame["dims"]:
        raise ValueError("a frame's center has as many numbers as the frame has dimensions")
    return frame


Frame = Annotated[FrameMeta, AfterValidator(_check_box)]
Centers = Annotated[list[Annotated[list[Coordinate], Field(min_length=1, max_length=3)]], Field(max_length=100_000)]
Explained = Annotated[list[Number], Field(max_length=3)] | None
Faithfulness = TypeAliasType("Faithfulness", Scores)


class Logged(TypedDict):
    """The time of each line of a log, which the writer adds."""

    time: NotRequired[Time]


class PreparingEvent(Logged):
    """The data set is being downloaded."""

    event: Literal["preparing"]
    dataset: Text
    done: Annotated[int, Field(ge=0)]
    total: Annotated[int, Field(ge=0)]


class StartedEvent(Logged):
    """Training started; `steps` is None while another program trains, and its length is not known."""

    event: Literal["started"]
    steps: StepNumber | None
    train_images: Count
    validation_images: Count
    test_images: Count
    scored_images: Count
    device: Device
    precision: NotRequired[Precision]  # older runs lack it
    view: Word
    dims: Dims
    tracked: Count
    unseen: NotRequired[Annotated[list[Text], Field(max_length=100_000)]]
    validation_tuples: NotRequired[Count]  # of the validation loss, if there is one
    tuple_kind: NotRequired[TupleKind]


class StepEvent(Logged):
    """Statistics of one batch, or their means over several."""

    event: Literal["step"]
    step: StepNumber
    loss: Number | None
    active: Number | None
    positive_distance: Number | None
    negative_distance: Number | None
    images_per_second: Number | None
    terms_per_image: NotRequired[Number | None]  # older runs lack it
    cpu_seconds: Number | None


class BatchEvent(Logged):
    """A batch was recorded."""

    event: Literal["batch"]
    step: StepNumber
    images: Count
    loss: Number | None
    active: Number | None


class Centered(TypedDict):
    """Class centers that the loss learns (k × d), where they can be drawn; on the map, corners of a grid of points."""

    centers: NotRequired[Centers]
    grid: NotRequired[Centers]


class SnapshotEvent(Logged, Centered):
    """The tracked images were embedded, and the images of `scored_on` scored."""

    event: Literal["snapshot"]
    step: StepNumber
    frame: Frame
    metrics: Scores
    scored_on: Literal["validation", "test"]
    train_metrics: NotRequired[Scores]
    validation_loss: NotRequired[Number | None]


class AlarmEvent(Logged):
    """A diagnosed problem, with suggested changes of the settings."""

    event: Literal["alarm"]
    step: StepNumber
    alarm: Word
    sentence: Sentence
    remedies: Annotated[list[Sentence], Field(max_length=100)]


class AlarmOverEvent(Logged):
    """A problem has cleared."""

    event: Literal["alarm_over"]
    step: StepNumber
    alarm: Word


class StoppingEvent(Logged):
    """No more batches; the test images are embedded and scored."""

    event: Literal["stopping"]
    step: StepNumber


class ReplayFrame(FrameMeta, Centered):
    """A frame of a replay, with its training step."""

    step: StepNumber
    explained: NotRequired[Explained]
    faithfulness: NotRequired[Faithfulness | None]
    note: NotRequired[Sentence]


class ReplayEvent(Logged):
    """All snapshots in one common projection."""

    event: Literal["replay"]
    view: Word
    frames: Annotated[list[Annotated[ReplayFrame, AfterValidator(_check_box)]], Field(min_length=1, max_length=10_000)]
    basis: NotRequired[Word]
    explained: NotRequired[Explained]
    faithfulness: NotRequired[Faithfulness | None]


class EndedEvent(Logged):
    """Training finished or was stopped; `metrics` are those of the test images."""

    event: Literal["finished", "stopped"]
    step: StepNumber
    metrics: NotRequired[Scores]
    validation_metrics: NotRequired[Scores]
    train_metrics: NotRequired[Scores]
    validation_loss: NotRequired[Number | None]
    test_images: NotRequired[Count]
    usual_distance: NotRequired[Number | None]
    faithfulness: NotRequired[Faithfulness | None]
    seconds: NotRequired[Number]
    cpu_seconds: NotRequired[Number]
    reason: NotRequired[Sentence]


class FailedEvent(Logged):
    """A training or projection failed; `reason` is the message for the user.

    `cause` says for programs that it did not fail by itself: its process ended, or took too long.
    """

    event: Literal["failed"]
    step: NotRequired[StepNumber]
    metrics: NotRequired[Scores]
    reason: Sentence
    cause: NotRequired[Literal["ended", "slow"]]


class ProjectionStartedEvent(Logged):
    """A projection started, or resumed at `iteration`; with `training_steps` it follows a training of so many."""

    event: Literal["started"]
    method: NotRequired[Word]
    training_steps: NotRequired[StepNumber | None]
    iterations: NotRequired[Count | None]
    iteration: NotRequired[Count]


class LayoutEvent(Logged):
    """An intermediate layout of an iterative projection; with `step` the layout of a snapshot, which is kept."""

    event: Literal["frame"]
    iteration: Count
    of: Count
    error: NotRequired[Number | None]
    frame: Frame
    step: NotRequired[StepNumber]
    faithfulness: NotRequired[Faithfulness | None]
    note: NotRequired[Sentence]


class PhaseEvent(Logged):
    """The current phase of a library that reports no intermediate layouts, or why a step has none."""

    event: Literal["phase"]
    words: Sentence
    iteration: Count
    of: Count
    step: NotRequired[StepNumber]


class ProjectionEndedEvent(Logged):
    """A projection finished or was stopped."""

    event: Literal["finished", "stopped"]
    frame: NotRequired[Frame | None]
    iteration: NotRequired[Count | None]
    seconds: NotRequired[Number]
    explained: NotRequired[Explained]
    error: NotRequired[Number | None]
    faithfulness: NotRequired[Faithfulness | None]
    step: NotRequired[StepNumber]
    metrics: NotRequired[Scores]
    reason: NotRequired[Sentence]
    note: NotRequired[Sentence]


class QueueEvent(TypedDict):
    """The position of a waiting run; not kept."""

    event: Literal["queue"]
    phase: str
    position: int | None
    of: int | None


class MachineEvent(TypedDict):
    """The machine of the fleet that trains the run, and a sentence on one that was lost before; not kept."""

    event: Literal["machine"]
    machine: str
    lost: str


class BegunEvent(TypedDict):
    """The same run is trained again; what was said of it before is over. Not kept."""

    event: Literal["begun"]


class EndEvent(TypedDict):
    """The stream is over. Not kept."""

    event: Literal["end"]
    state: NotRequired[str]


TrainingEnd = EndedEvent | FailedEvent
ProjectionEnd = ProjectionEndedEvent | FailedEvent
TrainingEvent = (
    PreparingEvent
    | StartedEvent
    | StepEvent
    | BatchEvent
    | SnapshotEvent
    | AlarmEvent
    | AlarmOverEvent
    | StoppingEvent
    | ReplayEvent
    | TrainingEnd
)
ProjectionEvent = ProjectionStartedEvent | LayoutEvent | PhaseEvent | ReplayEvent | ProjectionEnd
KeptEvent = TrainingEvent | ProjectionEvent
RunEvent = TypeAliasType("RunEvent", KeptEvent | QueueEvent | MachineEvent | BegunEvent | EndEvent)


def _check_time(event: D) -> D:
    if "time" not in event:
        raise ValueError("an event of a log has a time")
    return event


LINE = (Discriminator("event"), AfterValidator(_check_time))
TRAINING_EVENT: TypeAdapter[TrainingEvent] = TypeAdapter(Annotated[TrainingEvent, *LINE], config=STRICT)
PROJECTION_EVENT: TypeAdapter[ProjectionEvent] = TypeAdapter(Annotated[ProjectionEvent, *LINE], config=STRICT)


def frames_of(event: RunEvent) -> list[FrameMeta]:
    """Return the frames that an event names."""
    if event["event"] == "replay":
        return [*event["frames"]]
    frame = event.get("frame")
    return [frame] if frame else []  # type: ignore[list-item]
