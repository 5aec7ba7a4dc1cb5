"""The events of a projection, line by line of its events.jsonl."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Discriminator, TypeAdapter, with_config
from typing_extensions import TypedDict

from dmlviz.storage.run_schema.events import Explained, Failed, Frame, Replay
from dmlviz.storage.run_schema.fields import Count, Number, Scores, Sentence, StepNumber, Time, Word
from dmlviz.storage.run_schema.validation import STRICT


@with_config(STRICT)
class ProjectionStarted(TypedDict):
    """A projection started, or resumed at `iteration`."""

    event: Literal["started"]
    method: NotRequired[Word]
    iterations: NotRequired[Count | None]
    iteration: NotRequired[Count]
    time: Time


@with_config(STRICT)
class Layout(TypedDict):
    """An intermediate layout of an iterative projection."""

    event: Literal["frame"]
    iteration: Count
    of: Count
    error: NotRequired[Number | None]
    frame: Frame
    time: Time


@with_config(STRICT)
class ProjectionPhase(TypedDict):
    """The current phase of a library that reports no intermediate layouts."""

    event: Literal["phase"]
    words: Sentence
    iteration: Count
    of: Count
    time: Time


class _ProjectionEnd(TypedDict):
    frame: NotRequired[Frame | None]
    iteration: NotRequired[Count | None]
    seconds: NotRequired[Number]
    explained: NotRequired[Explained]
    error: NotRequired[Number | None]
    faithfulness: NotRequired[Scores | None]
    step: NotRequired[StepNumber]
    metrics: NotRequired[Scores]
    reason: NotRequired[Sentence]
    time: Time


@with_config(STRICT)
class ProjectionFinished(_ProjectionEnd):
    """A projection finished."""

    event: Literal["finished"]


@with_config(STRICT)
class ProjectionStopped(_ProjectionEnd):
    """A projection was stopped."""

    event: Literal["stopped"]


_ProjectionEvent = (
    ProjectionStarted | Layout | ProjectionPhase | Replay | ProjectionFinished | ProjectionStopped | Failed
)
PROJECTION_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[_ProjectionEvent, Discriminator("event")])
