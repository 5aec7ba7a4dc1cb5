"""Query images: preprocess as the data set, embed with the run's model, find nearest neighbors."""

import hashlib
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from app.runtime.services import Services
from dmlviz.data import query_image
from dmlviz.errors import UserError
from dmlviz.runs.neighbor_search import Neighbor
from dmlviz.runs.run import Run

MAX_PAD_SIDE = 512
_CACHE_SIZE = 64
_answers: dict[tuple[object, ...], "QueryResult"] = {}


@dataclass(frozen=True)
class QueryResult:
    """Result of a query: preprocessing steps, neighbors, predicted class, positions by view.

    `embedding` is where the run's final net puts the picture. `out_of_distribution` is a sentence when the picture is
    unlike every test image, otherwise empty. `trajectory` has a point for each saved net of the run; it is empty when
    only the final net was saved.
    """

    steps: tuple[query_image.PreparationStep, ...]
    neighbors: list[Neighbor]
    label: int
    num_agreeing: int
    out_of_distribution: str
    map_positions: dict[str, list[float]]
    trajectory: list["TrajectoryPoint"]
    embedding: np.ndarray


class TrajectoryPoint(NamedTuple):
    """A query image at the checkpoint of `step`: position on the map, embedding."""

    step: int
    place: list[float]
    embedding: np.ndarray


def decode_drawing(drawing: Any) -> np.ndarray | None:
    """Decode the gray image (uint8, side × side) from the pad; None if empty; raise UserError if malformed."""
    if drawing is None:
        return None
    try:
        side, pixels = int(drawing["side"]), np.frombuffer(b64decode(drawing["ink"], validate=True), np.uint8)
        if not 1 <= side <= MAX_PAD_SIDE:
            raise ValueError(side)
        return pixels.reshape(side, side)
    except (KeyError, TypeError, ValueError):
        raise UserError("The drawing did not arrive whole; draw again.") from None


def decode_paste(picture: Any) -> bytes | None:
    """Decode the pasted file; None if none; raise UserError if malformed."""
    if picture is None:
        return None
    try:
        return b64decode(picture["jpeg"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise UserError("The picture did not arrive whole; paste it again.") from None


def paste_count(picture: Any) -> int:
    """Sequence number of the paste, 0 if none."""
    number = picture.get("count") if isinstance(picture, dict) else 0
    return number if isinstance(number, int) else 0


def query(picture: np.ndarray, run: Run, services: Services, k: int) -> QueryResult:
    """Prepare and embed a query image, and find its neighbors; results are cached.

    Args:
        picture: uint8, h × w or h × w × 3.
        run: The run whose net embeds it.
        services: Where the inference worker is.
        k: Number of neighbors.

    Raises:
        UserError: If the image cannot be used, or the run has no embeddings yet.
    """
    stamp = (run.path / "run.json").stat().st_mtime_ns
    drawn_on = tuple(
        drawing.id for drawing in run.projections() if drawing.state == "finished"
    )  # where it gets a place
    key = (run.id, stamp, hashlib.sha256(picture.tobytes() + str(picture.shape).encode()).digest(), k, drawn_on)
    if key not in _answers:
        while len(_answers) >= _CACHE_SIZE:
            _answers.pop(next(iter(_answers)), None)
        _answers[key] = _answer(picture, run, services, k)
    return _answers[key]


def _answer(picture: np.ndarray, run: Run, services: Services, k: int) -> QueryResult:
    image = query_image.prepare(picture, run.config.dataset)
    answer = services.jobs.embed(run.id, image.image[None], trajectory=True)
    embedding = np.asarray(answer["embeddings"][0], np.float32)
    neighbors = run.neighbors_of_point(embedding, k)
    label, num_agreeing = Counter(neighbor.label for neighbor in neighbors).most_common(1)[0]
    places = {view: [float(x) for x in place[0]] for view, place in answer.get("places", {}).items()}
    return QueryResult(
        image.steps,
        neighbors,
        label,
        num_agreeing,
        _distance_warning(run, neighbors),
        places,
        trajectory(answer),
        embedding,
    )


def trajectory(answer: dict[str, Any]) -> list[TrajectoryPoint]:
    """Read the trajectory of a query image from the worker's answer."""
    checkpoints = answer.get("trajectory") or {"steps": [], "places": [], "embeddings": []}
    points = zip(checkpoints["steps"], checkpoints["places"], checkpoints["embeddings"], strict=True)
    return [TrajectoryPoint(step, place[0], np.asarray(embedding[0], np.float32)) for step, place, embedding in points]


def _distance_warning(run: Run, neighbors: list[Neighbor]) -> str:
    limit = (run.end or {}).get("usual_distance")
    if limit is None or not neighbors or neighbors[0].distance <= limit:
        return ""
    return (
        f"Unlike every test image: the nearest is {neighbors[0].distance:.3f} away; 99 % of the test images have one "
        f"within {limit:.3f}. These neighbors mean little."
    )
