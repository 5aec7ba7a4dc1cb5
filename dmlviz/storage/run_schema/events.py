"""Events and their parts that runs and projections share: frames, the replay, a failure."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field, with_config
from typing_extensions import TypedDict

from dmlviz.storage.run_schema.fields import (
    MAX_COORDINATE,
    MAX_IMAGES,
    Coordinate,
    Count,
    Id,
    Number,
    Scores,
    Sentence,
    StepNumber,
    Time,
    Word,
)
from dmlviz.storage.run_schema.validation import STRICT


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


Frame = Annotated[FrameDescription, AfterValidator(_check_box)]
Centers = Annotated[list[Annotated[list[Coordinate], Field(min_length=1, max_length=3)]], Field(max_length=100_000)]
Explained = Annotated[list[Number], Field(max_length=3)] | None


@with_config(STRICT)
class ReplayFrame(_Positions):
    """A frame of a replay, with its training step."""

    step: StepNumber
    centers: NotRequired[Centers]
    explained: NotRequired[Explained]
    faithfulness: NotRequired[Scores | None]


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


@with_config(STRICT)
class Failed(TypedDict):
    """A training or projection failed; `reason` is the message for the user."""

    event: Literal["failed"]
    step: NotRequired[StepNumber]
    metrics: NotRequired[Scores]
    reason: Sentence
    time: Time
