"""Query images: preprocess as the data set, embed with the run's model, find nearest neighbors."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dmlviz.data import query_image
from dmlviz.data.frame import Frame, picture_hints
from dmlviz.errors import UserError
from dmlviz.runs.answers import EmbeddedImages, Trajectory
from dmlviz.runs.gallery import GalleryNeighbor, name_of
from dmlviz.runs.neighbor_search import Neighbor
from dmlviz.runs.query_confidence import NEIGHBORS, Confidence, voting_neighbors
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.storage.file_cache import stamp as file_stamp
from dmlviz.storage.text import one_line
from dmlviz_app.server.services import Services

SAMPLES = {"seven": "a seven", "two": "a two", "house": "a house"}
_SAMPLES_FOLDER = Path(__file__).resolve().parents[1] / "assets" / "queries"
_CACHE_SIZE = 64
_answers: dict[tuple[object, ...], "QueryResult"] = {}


@dataclass(frozen=True)
class QueryResult:
    """Result of a query: preprocessing steps, neighbors, predicted class, positions by view.

    `embedding` is where the run's net puts the picture: the final one, or while it trains that of `step`; then the maps
    are those of the steps `at`. `confidence` says how sure the answer is. `trajectory`
    has a point for each saved net of the run; it is empty when only the final net was saved. `ways` has such points for
    maps that followed the training. `kept` are the nearest pictures of the gallery, which may name it (`kept_name`).
    `frame` was cut out of the picture, `frames` are all that were found in it; `hints` say that it is small or blurred.
    """

    steps: tuple[query_image.PreparationStep, ...]
    neighbors: list[Neighbor]
    label: int
    num_agreeing: int
    confidence: Confidence
    map_positions: dict[str, list[float]]
    trajectory: list["TrajectoryPoint"]
    embedding: np.ndarray
    frame: Frame | None = None
    frames: tuple[Frame, ...] = ()
    step: int | None = None
    at: dict[str, int] = field(default_factory=dict)
    ways: dict[str, list[list[float]]] = field(default_factory=dict)
    kept: list[GalleryNeighbor] = field(default_factory=list)
    kept_name: str | None = None
    kept_trouble: str = ""
    hints: list[str] = field(default_factory=list)


class TrajectoryPoint(NamedTuple):
    """A query image at the checkpoint of `step`: position on the map, embedding."""

    step: int
    place: list[float]
    embedding: np.ndarray


def sample(name: object) -> bytes:
    """Return a sample picture of the package; raise UserError for another name."""
    if not isinstance(name, str) or name not in SAMPLES:
        raise UserError(f"A sample is one of {', '.join(SAMPLES)}; got {one_line(str(name), 40)!r}.")
    return (_SAMPLES_FOLDER / f"{name}.jpg").read_bytes()


def query(picture: np.ndarray, run: Run, services: Services, frame: Frame | None = None) -> QueryResult:
    """Prepare and embed a query image, and find its neighbors; results by a final net are cached.

    Args:
        picture: Pixels (uint8), h × w or h × w × 3.
        run: The run whose net embeds it.
        services: Access to the inference worker.
        frame: Frame to cut out of the picture; None to detect one.

    Raises:
        UserError: If the image cannot be used, or the run has no net yet.
    """
    stamp = (run.path / "run.json").stat().st_mtime_ns
    drawn_on = tuple(
        projection.id for projection in run.projections() if projection.state == "finished"
    )  # where it gets a place
    gallery = file_stamp(run.path / "gallery/index.json"), str(services.runs.gallery_holders(run.id))
    content = hashlib.sha256(picture.tobytes() + str(picture.shape).encode()).digest()
    key = (run.id, stamp, gallery, content, frame, drawn_on)
    if key in _answers:
        return _answers[key]
    answer = _answer(picture, run, services, frame)
    if answer.step is None:
        while len(_answers) >= _CACHE_SIZE:
            _answers.pop(next(iter(_answers)), None)
        _answers[key] = answer
    return answer


@lru_cache(maxsize=16)  # it is asked about again at each snapshot of a training
def _prepared(pixels: bytes, shape: tuple[int, ...], dataset: str, frame: Frame | None) -> query_image.PreparedImage:
    return query_image.prepare(np.frombuffer(pixels, np.uint8).reshape(shape), dataset, frame)


def _answer(picture: np.ndarray, run: Run, services: Services, frame: Frame | None) -> QueryResult:
    _check_net(run, services)
    image = _prepared(picture.tobytes(), picture.shape, run.config.dataset, frame)
    answer = services.jobs.embed(run.id, image.image[None], trajectory=True, confidence=True, near=NEIGHBORS)
    embedding = np.asarray(answer["embeddings"][0], np.float32)
    step = answer.get("step")
    voters = voting_neighbors(run.embeddings_at(step)[1])  # of the images that are searched, and judge it
    neighbors = run.neighbors_of_point(embedding, voters, step)
    label, num_agreeing = Counter(neighbor.label for neighbor in neighbors).most_common(1)[0]
    kept = [GalleryNeighbor(*one) for one in answer.get("gallery", [[]])[0]]
    kept_name = name_of(kept, [neighbor.distance for neighbor in neighbors], answer["confidence"][0]["level"])
    places = {view: [float(x) for x in place[0]] for view, place in answer["places"].items()}
    return QueryResult(
        image.steps,
        neighbors,
        label,
        num_agreeing,
        answer["confidence"][0],
        places,
        trajectory(answer),
        embedding,
        image.frame,
        image.frames,
        step,
        answer.get("at", {}),
        {view: [[at, *places[0]] for at, places in way] for view, way in answer.get("ways", {}).items()},
        kept,
        kept_name,
        answer.get("gallery_trouble", ""),
        picture_hints(picture, image.frame, image.image.shape[0]),
    )


def _check_net(run: Run, services: Services) -> None:
    try:
        _ = run.net_step
    except RunNotFoundError:
        if services.jobs.status(run.id).is_live:
            raise RunNotFoundError("This net has no snapshot to ask yet. It is asked at the next one.") from None
        raise


def trajectory(answer: EmbeddedImages) -> list[TrajectoryPoint]:
    """Read the trajectory of a query image from the worker's answer."""
    checkpoints = answer.get("trajectory") or Trajectory(steps=[], places=[], embeddings=[])
    points = zip(checkpoints["steps"], checkpoints["places"], checkpoints["embeddings"], strict=True)
    return [TrajectoryPoint(step, place[0], np.asarray(embedding[0], np.float32)) for step, place, embedding in points]
