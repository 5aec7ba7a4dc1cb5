"""Files beside a log: run.json, projection.json, metrics.json and a custom data set's description."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from dmlviz.storage.run_schema.validation import (
    MAX_IMAGES,
    STRICT,
    Device,
    Id,
    Number,
    Precision,
    Scores,
    StepNumber,
    Text,
    Timestamp,
    Word,
)

ClassCount = Annotated[int, Field(ge=0, le=100_000)]

MAX_VECTOR = 4096  # columns of a table whose names are kept


@with_config(STRICT)
class ClassSplitDescription(TypedDict):
    """Classes for testing only, as in `ClassSplit`."""

    train: ClassCount
    validation: ClassCount
    test: ClassCount
    disjoint: bool


@with_config(STRICT)
class FeaturesDescription(TypedDict):
    """The features that a backbone made of each image, as in `Features`."""

    backbone: Annotated[str, Field(pattern=r"^([a-z0-9_]{1,40}|timm:[a-zA-Z0-9_.]{1,90})$")]
    weights: Id
    dimensions: Annotated[int, Field(ge=1, le=100_000)]
    mean: Annotated[float, Field(ge=-1e6, le=1e6)]
    std: Annotated[float, Field(gt=0, le=1e6)]


@with_config(STRICT)
class FramingDescription(TypedDict):
    """How the images lie in their squares, as in `Framing`."""

    box: Annotated[int, Field(ge=1, le=1024)]
    by_mass: bool
    photographs: bool
    block_counts: bool
    point: bool


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
    trainable: NotRequired[bool]  # older runs lack it
    class_split: NotRequired[ClassSplitDescription]
    features: NotRequired[FeaturesDescription]
    framing: NotRequired[FramingDescription]


@with_config(STRICT)
class Timings(TypedDict):
    """Duration of a training."""

    seconds: Number
    cpu_seconds: Number
    steps: StepNumber


@with_config(STRICT)
class RunDescription(TypedDict):
    """run.json; `config` holds the fields of a TrainConfig, which validates them itself."""

    version: Literal[1]
    id: Id
    title: Annotated[str, Field(min_length=1, max_length=1000)]
    config: dict[str, Any]
    created: Timestamp
    dmlviz: NotRequired[Text]
    torch: NotRequired[Text]
    dataset: NotRequired[DatasetDescription]
    fails: NotRequired[bool]
    plugins: NotRequired[dict[Text, Id]]  # the code of plug-ins, as in `TrainConfig.plugins`
    recording: NotRequired[Id]  # of a training that another program does; see `run_id` in dmlviz/runs/store.py
    vector: NotRequired[Annotated[list[Text], Field(max_length=MAX_VECTOR)]]  # columns of a table: the embeddings
    device: NotRequired[Device]
    threads: NotRequired[Annotated[int, Field(ge=1, le=4096)]]
    precision: NotRequired[Precision]  # older runs lack it
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


RUN: TypeAdapter[RunDescription] = TypeAdapter(RunDescription)
PROJECTION: TypeAdapter[ProjectionDescription] = TypeAdapter(ProjectionDescription)
DATASET: TypeAdapter[DatasetDescription] = TypeAdapter(DatasetDescription)
METRICS: TypeAdapter[dict[str, float | None]] = TypeAdapter(Scores, config=STRICT)
