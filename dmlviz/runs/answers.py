"""The answers of the inference worker about the net of a run, as types. Importing this loads no torch."""

from typing import NotRequired

from typing_extensions import TypedDict

from dmlviz.runs.query_confidence import Confidence


class Logits(TypedDict):
    """The scores of a test image with each training class, before and after the margin of the loss.

    Attributes:
        classes: IDs of the training classes (k).
        own: The row of the image's class; None for a held-out class.
        before: Scores without a margin (k).
        after: Scores as the loss computes them, with the margin of the image's own class (k).
        norm: Length of the embedding.
    """

    classes: list[int]
    own: int | None
    before: list[float]
    after: list[float]
    norm: float


class Trajectory(TypedDict):
    """Embeddings (steps × n × d) by every checkpoint, and their places on the final basis (steps × n × dims)."""

    steps: list[int]
    embeddings: list[list[list[float]]]
    places: list[list[list[float]]]


class EmbeddedImages(TypedDict):
    """Embeddings of images (n × d), and their places (n × dims) on each map; `confidence` is that of each image.

    Before the end of a training they are by the net of `step`, the newest one, and maps are those of the steps `at`.
    `ways` has their places (n × dims) at earlier steps, on maps that followed the training. `gallery` has the kept
    pictures nearest to each, or `gallery_trouble` says why they cannot be read.
    """

    embeddings: list[list[float]]
    places: dict[str, list[list[float]]]
    step: NotRequired[int]
    at: NotRequired[dict[str, int]]
    ways: NotRequired[dict[str, list[tuple[int, list[list[float]]]]]]
    trajectory: NotRequired[Trajectory]
    confidence: NotRequired[list[Confidence]]
    gallery: NotRequired[list[list[tuple[str, str, float]]]]
    gallery_trouble: NotRequired[str]


class PlacedGallery(TypedDict):
    """Places (n × dims) of kept pictures, or the newest, on each map; hints on new ones far from others of a name.

    `judged`: for each the class of most of its nearest test images, and the distance to the nearest.
    """

    places: dict[str, list[list[float]]]
    hints: list[str]
    judged: NotRequired[list[tuple[int, float]]]


class NewBatchContent(TypedDict):
    """What the page shows of a new batch.

    `labels` are the classes of the images; None where none has a class of the run. `said` are sentences; `classes` has
    for each class that was tested its name, the numbers of new and of test images, the share of neighbors of one's own
    side and the p-value by Holm; `far` are the first images that nothing is near to in a row, base64 of a PNG.
    """

    places: list[list[float]]
    labels: list[int] | None
    said: list[str]
    classes: list[tuple[str, int, int, float, float]]
    far: str
