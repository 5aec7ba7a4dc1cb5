"""Measures how well a similarity follows an object through a video (the lab *tracking*)."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import conv2d, softplus

from dmlviz.data import load
from dmlviz.data.made.pixels import enlarge
from dmlviz.data.made.tracks import FRAMES, SIDE, TEST_CLASSES, TEST_VIDEOS, Videos, make_train_and_test, make_videos
from dmlviz.labs.kept_arrays import PICTURES
from dmlviz.labs.pair_training import seeded, train_steps
from dmlviz.labs.training import keep_net
from dmlviz.studies.trial import Trial, TrialContext, TrialStoppedError, Values

EXEMPLAR = 24  # side of the picture of the target, in pixels
PAIRS = 24  # pairs of frames in a batch
RADIUS = 5.0  # pixels around the target that count as the target
CALM = 14.0  # width of the window that damps far jumps, in pixels
DAMPING = 0.35  # its share of the score
STRIDE = 2  # pixels from one place of the score map to the next
SHOWN = 8  # videos that are kept as pictures


class Correlation(nn.Module):
    """Features of the target, moved over the features of a frame: a score for every place.

    Args:
        features: A fully convolutional net of stride 2, padded so that places stay where they are.
    """

    def __init__(self, features: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.shift = nn.Parameter(torch.tensor(0.0))

    def template(self, exemplars: torch.Tensor) -> torch.Tensor:
        """Return the features of targets, n × c × k × k with k odd, mean 0 and length 1."""
        features = self.features(exemplars)[..., :-1, :-1]
        features = features - features.mean(dim=(2, 3), keepdim=True)
        length = features.square().sum(dim=(1, 2, 3), keepdim=True).sqrt()
        unit: torch.Tensor = features / (length + 1e-6)
        return unit

    def forward(self, templates: torch.Tensor, frames: torch.Tensor) -> torch.Tensor:
        """Return score maps, n × h/2 × w/2: place (i, j) is the target's middle at pixel (2i, 2j)."""
        features = self.features(frames)
        n, channels, height, width = features.shape
        maps = conv2d(features.reshape(1, n * channels, height, width), templates, groups=n, padding="same")
        score: torch.Tensor = self.scale * maps[0] + self.shift
        return score


def build_tracker(method: str, seed: int) -> Correlation:
    """Create the comparison of the target with the places of a frame: of pixels, or of three convolutions."""
    if method == "pixels":
        return Correlation(nn.AvgPool2d(STRIDE))
    with seeded(seed):
        return Correlation(
            nn.Sequential(
                nn.Conv2d(1, 12, 5, stride=STRIDE, padding=2),
                nn.ReLU(),
                nn.Conv2d(12, 24, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(24, 16, 3, padding=1),
            )
        )


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train a similarity on videos of some classes, and follow targets of others.

    The trial's settings: `method` ("pixels", "untrained" or "trained"), `distractors` (how many, for each test),
    `steps`, `seed`.
    """
    settings = trial.settings
    source = load(trial.dataset, context.data_root)
    tracker = build_tracker(settings["method"], settings["seed"])
    seconds = 0.0
    if settings["steps"]:
        train, _ = make_train_and_test(source)
        seconds = _train(tracker, train, settings, context)
        keep_net(tracker, context.folder)
    tracker.eval()
    tests, start, frames = [], time.process_time(), 0
    things = enlarge(source)[1].select_classes(TEST_CLASSES)
    time_s = 0.0
    for distractors in settings["distractors"]:
        videos = make_videos(things, TEST_VIDEOS, np.random.default_rng(distractors), distractors)
        start = time.process_time()
        boxes = follow(tracker, videos)
        time_s += time.process_time() - start
        frames += videos.frames.shape[0] * (FRAMES - 1)
        overlaps = box_overlap(boxes, videos.boxes)
        tests.append({"distractors": distractors, **summary(overlaps)})
        if distractors == settings["distractors"][-2]:
            _keep(context, videos, boxes, overlaps)
        if context.stop():
            raise TrialStoppedError
        values = {"tests": tests, "frames_per_second": round(frames / time_s, 1), "train_seconds": round(seconds, 2)}
        context.report(0.9, **values)
    return values


def _train(tracker: Correlation, videos: Videos, settings: Mapping[str, Any], context: TrialContext) -> float:
    rng = np.random.default_rng(settings["seed"])
    frames = _normalize(videos.frames)
    rows = np.arange(0, SIDE, STRIDE)

    def loss(_step: int) -> torch.Tensor:
        video = rng.integers(len(videos), size=PAIRS)
        first, second = rng.integers(FRAMES, size=(2, PAIRS))
        templates = tracker.template(_exemplars(frames, videos.boxes, video, first))
        scores = tracker(templates, frames[video, second][:, None])
        middle = videos.boxes[video, second, :2]
        away = np.hypot(rows[:, None] - middle[:, 0, None, None], rows[None, :] - middle[:, 1, None, None])
        return balanced_logistic(scores, torch.from_numpy(away <= RADIUS))

    return train_steps(tracker, settings["steps"], loss, context, lr=2e-3, share=0.6)


def balanced_logistic(scores: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Return the logistic loss of score maps, in which both kinds of places count half.

    Args:
        scores: n × h × w.
        positive: Whether a place is the target's, n × h × w.
    """
    losses = softplus(torch.where(positive, -scores, scores))
    halves = [(losses * kind).sum() / kind.sum().clamp_min(1) for kind in (positive, ~positive)]
    return (halves[0] + halves[1]) / 2


def _normalize(frames: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(frames).float().sub_(90).div_(60)


def _exemplars(frames: torch.Tensor, boxes: np.ndarray, video: np.ndarray, frame: np.ndarray) -> torch.Tensor:
    """Return the square around each target, EXEMPLAR pixels a side, in whole pixels and within the frame."""
    corners = np.clip(np.rint(boxes[video, frame, :2] - EXEMPLAR / 2), 0, SIDE - EXEMPLAR).astype(int)
    cut = [
        frames[v, f, row : row + EXEMPLAR, column : column + EXEMPLAR]
        for v, f, (row, column) in zip(video, frame, corners, strict=True)
    ]
    return torch.stack(cut)[:, None]


def follow(tracker: Correlation, videos: Videos) -> np.ndarray:
    """Return the boxes that a tracker finds, given the first: videos × frames × 3 (row, column, side)."""
    return follow_from(tracker, videos.frames, videos.boxes[:, 0])[0]


def follow_from(tracker: Correlation, videos: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Follow the object in a box of the first frame.

    Args:
        tracker: Function that compares it with the places of a frame.
        videos: Frames, uint8, n × frames × SIDE × SIDE.
        first: Row, column and side of a square in each first frame, n × 3.

    Returns:
        The boxes, n × frames × 3, whose side stays that of the first; the score maps, n × frames × h × w, whose place
        (i, j) is pixel (STRIDE · i, STRIDE · j).
    """
    n = len(videos)
    frames = _normalize(videos)
    boxes = np.repeat(first[:, None], FRAMES, axis=1).astype(np.float32)
    rows = np.arange(0, SIDE, STRIDE)
    maps = np.empty((n, FRAMES, len(rows), len(rows)), np.float32)
    with torch.inference_mode():
        templates = tracker.template(_exemplars(frames, boxes, np.arange(n), np.zeros(n, int)))
        for frame in range(FRAMES):
            maps[:, frame] = tracker(templates, frames[:, frame, None]).numpy()
            if frame:
                boxes[:, frame, :2] = damped_peak(maps[:, frame], boxes[:, frame - 1, :2], rows)
    return boxes, maps


def damped_peak(scores: np.ndarray, before: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the place of the highest score (row, column), after damping what is far from the place before.

    Args:
        scores: n × h × w.
        before: Places in the frame before, n × 2.
        rows: Pixel of each row and column of the map.
    """
    low, high = scores.min(axis=(1, 2), keepdims=True), scores.max(axis=(1, 2), keepdims=True)
    unit = (scores - low) / np.maximum(high - low, 1e-9)
    away = (rows[:, None] - before[:, 0, None, None]) ** 2 + (rows[None, :] - before[:, 1, None, None]) ** 2
    total = (1 - DAMPING) * unit + DAMPING * np.exp(-away / (2 * CALM**2))
    best = total.reshape(len(scores), -1).argmax(1)
    return np.stack([rows[best // len(rows)], rows[best % len(rows)]], 1).astype(np.float32)


def box_overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the intersection over union of squares (row, column, side), … × 3."""
    sides = [
        np.minimum(a[..., axis] + a[..., 2] / 2, b[..., axis] + b[..., 2] / 2)
        - np.maximum(a[..., axis] - a[..., 2] / 2, b[..., axis] - b[..., 2] / 2)
        for axis in (0, 1)
    ]
    common = np.maximum(sides[0], 0) * np.maximum(sides[1], 0)
    return np.asarray(common / (a[..., 2] ** 2 + b[..., 2] ** 2 - common))


def summary(overlaps: np.ndarray) -> Values:
    """Return what the figures show of overlaps, videos × frames; the first frame is given and does not count."""
    later = overlaps[:, 1:]
    kept_frames = np.minimum.accumulate(overlaps > 0.1, axis=1)
    return {
        "iou": float(later.mean()),
        "kept": [round(float(share), 4) for share in kept_frames.mean(0)],
        "success": [[t / 20, round(float((later > t / 20).mean()), 4)] for t in range(20)],
    }


def _keep(context: TrialContext, videos: Videos, boxes: np.ndarray, overlaps: np.ndarray) -> None:
    """Keep first and last frame of a few videos, from the worst followed to the best."""
    rows = np.argsort(overlaps.mean(1))[np.linspace(0, len(videos) - 1, SHOWN).astype(int)]
    first, last = videos.frames[rows, 0].copy(), videos.frames[rows, -1].copy()
    for i, video in enumerate(rows):
        _outline(first[i], videos.boxes[video, 0], 255)
        _outline(last[i], videos.boxes[video, -1], 255)
        _outline(last[i], boxes[video, -1], 0)
    np.savez_compressed(context.folder / PICTURES, first=first, last=last, iou=overlaps[rows].mean(1))


def _outline(frame: np.ndarray, box: np.ndarray, level: int) -> None:
    top, left, bottom, right = np.clip(
        np.rint([box[0] - box[2] / 2, box[1] - box[2] / 2, box[0] + box[2] / 2, box[1] + box[2] / 2]), 0, SIDE - 1
    ).astype(int)
    frame[[top, bottom], left : right + 1] = level
    frame[top : bottom + 1, [left, right]] = level
