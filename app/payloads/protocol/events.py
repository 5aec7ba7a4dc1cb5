"""The events of a run and of a projection, as the event stream sends them."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict


class FrameMeta(TypedDict):
    """Where the bytes of a frame are, and what they mean: world = center + q / 32767 · scale."""

    id: str
    n: int
    dims: int
    center: list[float]
    scale: float
    items: Literal["all", "tracked"]


Faithfulness = dict[str, float | None]


class StartedEvent(TypedDict):
    """A training has `steps`, a projection `iterations`."""

    event: Literal["started"]
    time: NotRequired[float]
    steps: NotRequired[int]
    train_images: NotRequired[int]
    validation_images: NotRequired[int]
    scored_images: NotRequired[int]
    test_images: NotRequired[int]
    device: NotRequired[str | None]
    threads: NotRequired[int]
    precision: NotRequired[str]
    view: NotRequired[str]
    dims: NotRequired[int]
    tracked: NotRequired[int]
    unseen: NotRequired[list[str]]
    method: NotRequired[str]
    iterations: NotRequired[int | None]
    iteration: NotRequired[int]


class StepEvent(TypedDict):
    """One batch, or the mean of several."""

    event: Literal["step"]
    time: NotRequired[float]
    step: int
    loss: float
    active: float
    positive_distance: NotRequired[float]
    negative_distance: NotRequired[float]
    images_per_second: NotRequired[float]
    terms_per_image: NotRequired[float]
    cpu_seconds: NotRequired[float]


class BatchEvent(TypedDict):
    """A batch was recorded."""

    event: Literal["batch"]
    time: NotRequired[float]
    step: int
    images: int
    loss: float
    active: float


class SnapshotEvent(TypedDict):
    """The tracked images were embedded, and the images of `scored_on` scored."""

    event: Literal["snapshot"]
    time: NotRequired[float]
    step: int
    frame: FrameMeta
    metrics: NotRequired[dict[str, float]]
    scored_on: NotRequired[Literal["validation", "test"]]
    train_metrics: NotRequired[dict[str, float]]
    centers: NotRequired[list[list[float]]]


class LayoutEvent(TypedDict):
    """A layout on its way."""

    event: Literal["frame"]
    time: NotRequired[float]
    iteration: int
    of: NotRequired[int | None]
    error: NotRequired[float | None]
    frame: FrameMeta


class PhaseEvent(TypedDict):
    """A library at work, which shows no positions."""

    event: Literal["phase"]
    time: NotRequired[float]
    words: str
    iteration: int
    of: int


class AlarmEvent(TypedDict):
    """Something goes wrong from this step on."""

    event: Literal["alarm"]
    time: NotRequired[float]
    step: int
    alarm: str
    sentence: str
    remedies: list[str]


class AlarmOverEvent(TypedDict):
    """It no longer does."""

    event: Literal["alarm_over"]
    time: NotRequired[float]
    step: int
    alarm: str


class ReplayFrame(TypedDict):
    """A step drawn again; the frame's fields lie beside the others, or, in a projection of all epochs, in `frame`."""

    step: int
    frame: NotRequired[FrameMeta]
    id: NotRequired[str]
    n: NotRequired[int]
    dims: NotRequired[int]
    center: NotRequired[list[float]]
    scale: NotRequired[float]
    items: NotRequired[Literal["all", "tracked"]]
    explained: NotRequired[list[float] | None]
    faithfulness: NotRequired[Faithfulness | None]
    centers: NotRequired[list[list[float]]]


class ReplayEvent(TypedDict):
    """All steps on one basis."""

    event: Literal["replay"]
    time: NotRequired[float]
    view: str
    basis: NotRequired[str]
    epochs: NotRequired[int]
    explained: NotRequired[list[float] | None]
    faithfulness: NotRequired[Faithfulness | None]
    frames: list[ReplayFrame]


class PreparingEvent(TypedDict):
    """A data set is downloaded."""

    event: Literal["preparing"]
    time: NotRequired[float]
    dataset: str
    done: int
    total: int


class StoppingEvent(TypedDict):
    """A training was stopped after `step`; its test images are embedded and scored."""

    event: Literal["stopping"]
    time: NotRequired[float]
    step: int


class EndedEvent(TypedDict):
    """How a training or a projection came to its end; `metrics` are those of the test images."""

    event: Literal["finished", "stopped", "failed"]
    time: NotRequired[float]
    step: NotRequired[int]
    metrics: NotRequired[dict[str, float]]
    validation_metrics: NotRequired[dict[str, float]]
    train_metrics: NotRequired[dict[str, float]]
    test_images: NotRequired[int]
    usual_distance: NotRequired[float | None]
    seconds: NotRequired[float | None]
    cpu_seconds: NotRequired[float | None]
    reason: NotRequired[str]
    frame: NotRequired[FrameMeta | None]
    iteration: NotRequired[int | None]
    explained: NotRequired[list[float] | None]
    error: NotRequired[float | None]
    faithfulness: NotRequired[Faithfulness | None]


class QueueEvent(TypedDict):
    """Where a run waits; not kept."""

    event: Literal["queue"]
    phase: NotRequired[str]
    position: int | None
    of: int | None


class MachineEvent(TypedDict):
    """Which machine of the fleet trains the run, and which was lost before, in a sentence; not kept."""

    event: Literal["machine"]
    machine: str
    lost: str


class BegunEvent(TypedDict):
    """The same run is trained again; what was said of it before is over. Not kept."""

    event: Literal["begun"]


class EndEvent(TypedDict):
    """The stream is over."""

    event: Literal["end"]
    state: NotRequired[str]


RunEvent = (
    StartedEvent
    | StepEvent
    | BatchEvent
    | SnapshotEvent
    | LayoutEvent
    | PhaseEvent
    | AlarmEvent
    | AlarmOverEvent
    | ReplayEvent
    | PreparingEvent
    | StoppingEvent
    | EndedEvent
    | QueueEvent
    | MachineEvent
    | BegunEvent
    | EndEvent
)
