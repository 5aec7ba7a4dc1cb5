"""The events of a job that is neither a training nor a projection: the lines of its events.jsonl."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from dmlviz.storage.run_schema.events import LINE, FailedEvent, Logged
from dmlviz.storage.run_schema.validation import STRICT, Scores, Sentence, StepNumber


class JobStartedEvent(Logged):
    """A worker has started the job."""

    event: Literal["started"]


class JobStoppedEvent(Logged):
    """The job was stopped."""

    event: Literal["stopped"]
    step: NotRequired[StepNumber]
    metrics: NotRequired[Scores]
    reason: Sentence


class CleaningProgress(Logged):
    """The current phase of Clean, and the share of the work that is done."""

    event: Literal["progress"]
    words: str
    share: float


class CleaningFinished(Logged):
    """Clean has written all findings."""

    event: Literal["finished"]


class FeaturesProgress(Logged):
    """The number of images whose features are computed; `left` is the estimated time in seconds."""

    event: Literal["progress"]
    done: int
    of: int
    left: float | None


class FeaturesFinished(Logged):
    """The features are computed; `dataset` is the name of the new data set."""

    event: Literal["finished"]
    dataset: str


class TrialProgress(Logged):
    """The share of a trial that is done, and its measurements so far."""

    event: Literal["progress"]
    share: float
    values: dict[str, Any]


class TrialFinished(Logged):
    """The measurements of a trial, and its wall time."""

    event: Literal["finished"]
    values: dict[str, Any]
    seconds: float


class AnswerProgress(Logged):
    """The share of an answer that is done."""

    event: Literal["progress"]
    share: float


class AnswerFinished(Logged):
    """The answer is there; `name` is that of the file, where it is one to keep."""

    event: Literal["finished"]
    name: str


class JobEnd(TypedDict):
    """The fields of the last event of any job."""

    event: Literal["finished", "stopped", "failed"]
    reason: NotRequired[str]
    cause: NotRequired[Literal["ended", "slow"]]  # of a failure that is not its own


JobEvent = JobStartedEvent | JobStoppedEvent | FailedEvent
CLEANING_EVENT: TypeAdapter[Any] = TypeAdapter(
    Annotated[JobEvent | CleaningProgress | CleaningFinished, *LINE], config=STRICT
)
FEATURES_EVENT: TypeAdapter[Any] = TypeAdapter(
    Annotated[JobEvent | FeaturesProgress | FeaturesFinished, *LINE], config=STRICT
)
TRIAL_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[JobEvent | TrialProgress | TrialFinished, *LINE], config=STRICT)
ANSWER_EVENT: TypeAdapter[Any] = TypeAdapter(
    Annotated[JobEvent | AnswerProgress | AnswerFinished, *LINE], config=STRICT
)
