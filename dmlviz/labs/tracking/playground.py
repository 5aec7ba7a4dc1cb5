"""Makes a video and follows a thing through it, for the player of the lab *tracking*."""

import time
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.data import load
from dmlviz.data.dataset import Split
from dmlviz.data.made.pixels import enlarge
from dmlviz.data.made.tracks import FRAMES, SIDE, TEST_CLASSES, Videos, make_videos
from dmlviz.errors import UserError
from dmlviz.labs.answers import FollowedVideo, Follower, VideoQuestion
from dmlviz.labs.tracking import MOST_DISTRACTORS, MOST_NOISE, TITLES, VIDEOS
from dmlviz.labs.tracking.measure import STRIDE, Correlation, box_overlap, build_tracker, follow_from
from dmlviz.labs.training import fill_with_kept

LOST = 0.1  # overlap up to which a target counts as lost, as in the figures
LEAST_SIDE = 6.0  # pixels of a box drawn by hand


def answer(question: VideoQuestion) -> FollowedVideo:
    """Return a video, and what each method finds in it.

    Args:
        question: The video, its noise in gray levels.

    Raises:
        UserError: If a number is out of range.
    """
    number, distractors = int(question["video"]), int(question["distractors"])
    noise = float(question["noise"])
    if not (0 <= number < VIDEOS and 0 <= distractors <= MOST_DISTRACTORS and 0 <= noise <= MOST_NOISE):
        raise UserError(
            f"There are {VIDEOS} videos, with up to {MOST_DISTRACTORS} distractors and noise of up to "
            f"{MOST_NOISE:.0f} gray levels; got video {number}, {distractors} and {noise:g}."
        )
    videos = make_videos(
        _things(question["dataset"], question["data"]),
        1,
        np.random.default_rng(number),
        distractors,
        noise,
        draws=MOST_DISTRACTORS,
    )
    first = videos.boxes[0, 0] if (box := question.get("box")) is None else _drawn_box(box)
    truth = _target(videos, first)
    return {
        "frames": _bytes(videos.frames[0]),
        "side": SIDE,
        "count": FRAMES,
        "stride": STRIDE,
        "first": first.round(1).tolist(),
        "truth": truth.round(1).tolist(),
        "followers": [
            _follower(method, tracker, videos, first, truth)
            for method, tracker in _trackers(question["folder"], question["stamp"]).items()
        ],
    }


def _follower(method: str, tracker: Correlation, videos: Videos, first: np.ndarray, truth: np.ndarray) -> Follower:
    start = time.perf_counter()
    boxes, maps = follow_from(tracker, videos.frames, first[None])
    seconds = time.perf_counter() - start
    overlaps = box_overlap(boxes[0], truth)
    low, high = maps.min(axis=(2, 3), keepdims=True), maps.max(axis=(2, 3), keepdims=True)
    shares = (maps - low) / np.maximum(high - low, 1e-9)
    failures = np.flatnonzero(overlaps <= LOST)
    return {
        "title": TITLES[method],
        "boxes": boxes[0].round(1).tolist(),
        "maps": _bytes(np.rint(255 * shares[0]).astype(np.uint8)),
        "overlaps": overlaps.round(3).tolist(),
        "frames_followed": int(failures[0]) if len(failures) else FRAMES,
        "milliseconds": round(1000 * seconds / FRAMES, 2),
    }


def _drawn_box(box: Sequence[float]) -> np.ndarray:
    """Return a box drawn by hand; its middle lies within the frame."""
    values = np.asarray(box, np.float32)
    if values.shape != (3,) or not np.isfinite(values).all():
        raise UserError("A box is the row and the column of its middle and its side, in pixels.")
    row, column, side = values.clip([0, 0, LEAST_SIDE], [SIDE - 1, SIDE - 1, SIDE])
    return np.array([row, column, side], np.float32)


def _target(videos: Videos, first: np.ndarray) -> np.ndarray:
    """Return the true boxes of the thing that a box of the first frame holds best, frames × 3."""
    everything = np.concatenate([videos.boxes[:1], videos.distractors[0]])
    away = np.hypot(*(everything[:, 0, :2] - first[:2]).T)
    target: np.ndarray = everything[away.argmin()]
    return target


@lru_cache(maxsize=4)
def _things(dataset: str, data: str) -> Split:
    """Return the things of a video: of classes that the training never shows."""
    return enlarge(load(dataset, Path(data)))[1].select_classes(TEST_CLASSES)


@lru_cache(maxsize=4)
def _trackers(folder: str, stamp: int) -> dict[str, Correlation]:
    tracker = build_tracker("trained", 0)
    fill_with_kept(tracker, Path(folder))
    return {"trained": tracker, "pixels": build_tracker("pixels", 0).eval(), "untrained": build_tracker("untrained", 0)}


def _bytes(values: np.ndarray) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()
