"""The answer to a query as the page takes it: neighbors, steps of the preparation, frames, places on the maps."""

import io
from base64 import b64encode
from dataclasses import asdict
from typing import cast

import numpy as np
from PIL import Image

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import short_names
from dmlviz.data.frame import Frame
from dmlviz.data.query_image import PreparationStep
from dmlviz.errors import DamagedFileError
from dmlviz.runs.gallery import GalleryNeighbor, Holders
from dmlviz.runs.run import LIVE, Run
from dmlviz.runs.thresholds import Threshold, judged, kept_threshold
from dmlviz_app.answers.item_neighbors import query_neighbor_history
from dmlviz_app.answers.protocol import CaptionedInk, PictureFrame, QueryAnswer, QueryPlaces
from dmlviz_app.answers.query import QueryResult
from dmlviz_app.server.protocol import Ink

THUMBNAIL = 56  # pixels a side at most: enough for one of 44
LOSSLESS = 256 * 256  # pixels of a picture of which every one counts


def query_answer(run: Run, answer: QueryResult, holders: Holders) -> QueryAnswer:
    """Return what the page shows of the answer to a query; the threshold is that of the first of `holders`."""
    classes = short_names(DATASETS[run.config.dataset].classes)
    limit, trouble = _limit(run, answer, holders)
    confidence = judged(answer.confidence, answer.neighbors[0].distance, limit)
    history = None if answer.step is not None else query_neighbor_history(run, answer, len(answer.neighbors))
    labels = {neighbor.label for neighbor in answer.neighbors}.union(
        () if history is None else history["labels"].values()
    )
    title, reason, basis = confidence["title"], confidence["sentence"], confidence["basis"]
    is_near = bool(answer.kept) and (limit is None or answer.kept[0].distance <= limit.value)
    if is_near and answer.kept_name not in (None, DATASETS[run.config.dataset].classes[answer.label]):
        title, reason, basis = f"Like your “{answer.kept_name}”", f"By the test images alone: {title}.", ""
    if answer.kept_trouble:
        trouble = f"{trouble} The gallery is left out: {answer.kept_trouble}"
    reason = " ".join([*answer.hints, f"{reason} {trouble}"]).strip()
    result: QueryAnswer = {
        "kept": [(id, name, round(distance, 4)) for id, name, distance in _among(answer)],
        "near": [(item, label, round(distance, 4)) for item, distance, label in answer.neighbors],
        "classes": {str(label): classes[label] for label in sorted(labels)},
        "vote": {"label": answer.label},
        "title": title,
        "among": len(run.embeddings_at(answer.step)[1]),
        "steps": [_thumbnail(step) for step in answer.steps],
        "far": reason,
        "basis": basis,
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


def _limit(run: Run, answer: QueryResult, holders: Holders) -> tuple[Threshold | None, str]:
    """Return the threshold of the run's final net, and a sentence if it cannot be read."""
    try:
        return kept_threshold(run, holders) if answer.step is None else None, ""
    except DamagedFileError as error:
        return None, f"The threshold is left out: {error}"


def _among(answer: QueryResult) -> list[GalleryNeighbor]:
    """Return the kept pictures that are among the nearest, of these and the test images together."""
    distances = sorted([*(one.distance for one in answer.kept), *(one.distance for one in answer.neighbors)])
    farthest = distances[len(answer.neighbors) - 1]
    return [one for one in answer.kept if one.distance <= farthest]


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
    return {"caption": step.caption, **ink_of(np.ascontiguousarray(step.image[::stride, ::stride]))}


def ink_of(image: np.ndarray) -> Ink:
    """Return a picture (uint8) as the page paints it."""
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
