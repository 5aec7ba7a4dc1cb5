"""The events of a training, line by line of its events.jsonl."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Discriminator, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from dmlviz.storage.run_schema.events import Centers, Failed, Frame, Replay
from dmlviz.storage.run_schema.fields import (
    Count,
    Device,
    Number,
    Precision,
    Scores,
    Sentence,
    StepNumber,
    Text,
    Time,
    Word,
)
from dmlviz.storage.run_schema.validation import STRICT


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
    dims: Literal[2, 3]
    tracked: Count
    unseen: NotRequired[Annotated[list[Text], Field(max_length=100_000)]]
    time: Time


@with_config(STRICT)
class Step(TypedDict):
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
    time: Time


@with_config(STRICT)
class Batch(TypedDict):
    """A batch was recorded."""

    event: Literal["batch"]
    step: StepNumber
    images: Count
    loss: Number | None
    active: Number | None
    time: Time


@with_config(STRICT)
class Snapshot(TypedDict):
    """The tracked images were embedded, and the images of `scored_on` scored."""

    event: Literal["snapshot"]
    step: StepNumber
    frame: Frame
    metrics: Scores
    scored_on: Literal["validation", "test"]
    train_metrics: NotRequired[Scores]
    centers: NotRequired[Centers]
    time: Time


@with_config(STRICT)
class Alarm(TypedDict):
    """A diagnosed problem, with suggested changes of the settings."""

    event: Literal["alarm"]
    step: StepNumber
    alarm: Word
    sentence: Sentence
    remedies: Annotated[list[Sentence], Field(max_length=100)]
    time: Time


@with_config(STRICT)
class AlarmOver(TypedDict):
    """A problem has cleared."""

    event: Literal["alarm_over"]
    step: StepNumber
    alarm: Word
    time: Time


@with_config(STRICT)
class Stopping(TypedDict):
    """No more batches; the test images are embedded and scored."""

    event: Literal["stopping"]
    step: StepNumber
    time: Time


class _RunEnd(TypedDict):
    step: NotRequired[StepNumber]
    metrics: NotRequired[Scores]
    validation_metrics: NotRequired[Scores]
    train_metrics: NotRequired[Scores]
    test_images: NotRequired[Count]
    usual_distance: NotRequired[Number | None]
    faithfulness: NotRequired[Scores | None]
    seconds: NotRequired[Number]
    cpu_seconds: NotRequired[Number]
    reason: NotRequired[Sentence]
    time: Time


@with_config(STRICT)
class RunFinished(_RunEnd):
    """Training finished."""

    event: Literal["finished"]
    step: StepNumber  # type: ignore[misc]


@with_config(STRICT)
class RunStopped(_RunEnd):
    """Training was stopped."""

    event: Literal["stopped"]
    step: StepNumber  # type: ignore[misc]


_RunEvent = (
    Preparing | RunStarted | Step | Batch | Snapshot | Alarm | AlarmOver | Stopping | Replay | RunFinished | RunStopped
)
RUN_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[_RunEvent | Failed, Discriminator("event")])
