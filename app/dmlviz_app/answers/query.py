"""Query images: preprocess as the data set, embed with the run's model, find nearest neighbors."""

import hashlib
import io
from base64 import b64encode
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from PIL import Image

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import query_image
from dmlviz.data.class_names import short_names
from dmlviz.data.frame import Frame
from dmlviz.data.query_image import PreparationStep
from dmlviz.errors import UserError
from dmlviz.runs.answers import EmbeddedImages, Trajectory
from dmlviz.runs.neighbor_search import Neighbor
from dmlviz.runs.query_confidence import Confidence
from dmlviz.runs.run import LIVE, Run, RunNotFoundError
from dmlviz.storage.text import one_line
from dmlviz_app.answers.item_neighbors import query_neighbor_history
from dmlviz_app.answers.protocol import CaptionedInk, PictureFrame, QueryAnswer, QueryPlaces
from dmlviz_app.server.protocol import Ink
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
    maps that followed the training. `frame` was cut out of the picture, `frames` are all that were found in it.
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


def query(picture: np.ndarray, run: Run, services: Services, k: int, frame: Frame | None = None) -> QueryResult:
    """Prepare and embed a query image, and find its neighbors; results by a final net are cached.

    Args:
        picture: Pixels (uint8), h × w or h × w × 3.
        run: The run whose net embeds it.
        services: Access to the inference worker.
        k: Number of neighbors.
        frame: Frame to cut out of the picture; None to detect one.

    Raises:
        UserError: If the image cannot be used, or the run has no net yet.
    """
    stamp = (run.path / "run.json").stat().st_mtime_ns
    drawn_on = tuple(
        projection.id for projection in run.projections() if projection.state == "finished"
    )  # where it gets a place
    key = (run.id, stamp, hashlib.sha256(picture.tobytes() + str(picture.shape).encode()).digest(), k, frame, drawn_on)
    if key in _answers:
        return _answers[key]
    answer = _answer(picture, run, services, k, frame)
    if answer.step is None:
        while len(_answers) >= _CACHE_SIZE:
            _answers.pop(next(iter(_answers)), None)
        _answers[key] = answer
    return answer


@lru_cache(maxsize=16)  # it is asked about again at each snapshot of a training
def _prepared(pixels: bytes, shape: tuple[int, ...], dataset: str, frame: Frame | None) -> query_image.PreparedImage:
    return query_image.prepare(np.frombuffer(pixels, np.uint8).reshape(shape), dataset, frame)


def _answer(picture: np.ndarray, run: Run, services: Services, k: int, frame: Frame | None) -> QueryResult:
    _check_net(run, services)
    image = _prepared(picture.tobytes(), picture.shape, run.config.dataset, frame)
    answer = services.jobs.embed(run.id, image.image[None], trajectory=True, confidence=True)
    embedding = np.asarray(answer["embeddings"][0], np.float32)
    step = answer.get("step")
    neighbors = run.neighbors_of_point(embedding, k, step)
    label, num_agreeing = Counter(neighbor.label for neighbor in neighbors).most_common(1)[0]
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


THUMBNAIL = 56  # pixels a side at most: enough for one of 44
LOSSLESS = 256 * 256  # pixels of a picture of which every one counts


def query_answer(run: Run, answer: QueryResult) -> QueryAnswer:
    """Return what the page shows of the answer to a query."""
    classes = short_names(DATASETS[run.config.dataset].classes)
    history = None if answer.step is not None else query_neighbor_history(run, answer, len(answer.neighbors))
    labels = {neighbor.label for neighbor in answer.neighbors}.union(
        () if history is None else history["labels"].values()
    )
    result: QueryAnswer = {
        "near": [(item, label, round(distance, 4)) for item, distance, label in answer.neighbors],
        "classes": {str(label): classes[label] for label in sorted(labels)},
        "vote": {"label": answer.label},
        "title": answer.confidence["title"],
        "among": 0 if run.labels is None else len(run.labels),
        "steps": [_thumbnail(step) for step in answer.steps],
        "far": answer.confidence["sentence"],
        "basis": answer.confidence["basis"],
        "history": history,
        "places": _places(run, answer),
        "frame": None if answer.frame is None else _frame(answer.frame),
        "frames": [_frame(frame) for frame in answer.frames],
    }
    if answer.step is None:
        result["trajectory_length"] = len(answer.trajectory)
    else:
        result["step"] = answer.step
    return result


def encode_picture(picture: np.ndarray) -> str:
    """Return a decoded picture (uint8, h × w or h × w × 3) as base64 of a file that every browser shows.

    The page sends it back with another frame, so that a large file travels once.
    """
    content, lossless = io.BytesIO(), picture.shape[0] * picture.shape[1] <= LOSSLESS
    Image.fromarray(picture).save(content, "PNG" if lossless else "JPEG", quality=92)
    return b64encode(content.getvalue()).decode()


def _frame(frame: Frame) -> PictureFrame:
    return cast(PictureFrame, {name: round(float(value), 5) for name, value in asdict(frame).items()})


def _thumbnail(step: PreparationStep) -> CaptionedInk:
    stride = max(1, -(-max(step.image.shape[:2]) // THUMBNAIL))
    return {"caption": step.caption, **_ink(np.ascontiguousarray(step.image[::stride, ::stride]))}


def _ink(image: np.ndarray) -> Ink:
    return {"ink": b64encode(image.tobytes()).decode(), "width": int(image.shape[1]), "height": int(image.shape[0])}


def _places(run: Run, answer: QueryResult) -> QueryPlaces:
    """Return the place of the query on every map; where these have the steps of the run, also at earlier ones."""
    end, places = run.end, answer.map_positions
    if answer.step is not None:
        ways = {view: [[step, *places[view]]] for view, step in answer.at.items()}
    elif end is None or not answer.trajectory:
        ways = {}
    else:
        points = answer.ways | {LIVE: [[point.step, *point.place] for point in answer.trajectory]}
        ways = {
            view: [*(point for point in way if point[0] < end["step"]), [end["step"], *places[view]]]
            for view, way in points.items()
            if view in places
        }
    rounded = {view: [[step, *(float(f"{x:.4g}") for x in at)] for step, *at in way] for view, way in ways.items()}
    return {"views": places, "ways": rounded}
