"""A thing cut out of a photograph: a garment on a table or on a hanger, without what lies behind it."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.image_ops import border_pixels

WORKING_SIDE = 192
EDGE = 0.04  # of the picture: taken as ground
THIN = 0.03  # of the shorter side: a hook or a cord is thinner, and no part of a thing
LEAST = 0.01  # of the picture: what is smaller is no thing


@dataclass(frozen=True)
class CutOut:
    """The things that stand out from the ground of a picture.

    Attributes:
        ground: The ground as it would look without things on it, light and all (float32, h × w × 3).
        masks: Cover of each thing (float32, h × w, 0 to 1), the most likely one first; empty if nothing
            stands out.
    """

    ground: np.ndarray
    masks: tuple[np.ndarray, ...]


def cut_out(picture: np.ndarray, inside: np.ndarray | None = None) -> CutOut:
    """Separate things from their ground: GrabCut (Rother et al. 2004) on what the light at the picture's edge leaves.

    Args:
        picture: uint8, h × w × 3.
        inside: Mask of possible things (h × w, bool); None for all of the picture but its edge.
    """
    height, width = picture.shape[:2]
    scale = min(1.0, WORKING_SIDE / max(height, width))
    size = max(8, round(width * scale)), max(8, round(height * scale))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    free = np.zeros(small.shape[:2], bool)
    edge = max(1, round(EDGE * min(size)))
    free[edge:-edge, edge:-edge] = True
    if inside is not None:
        free &= cv2.resize(inside.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
    ground = _ground(small, ~free)
    difference = small - ground
    distance = np.sqrt((cv2.GaussianBlur(difference, (0, 0), 1) ** 2).sum(axis=2))
    noise = float(np.percentile(distance[~free], 90))
    masks = []
    if free.any() and distance[free].max() > 2 * noise + 6:
        near = np.clip(distance, 0, 255).astype(np.uint8)
        otsu, _ = cv2.threshold(near[free][None], 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
        limit = max(1.5 * noise, min(0.6 * otsu, 40), 4)
        labels = np.where(distance > limit, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
        labels[~free] = cv2.GC_BGD
        masks = _grab(difference, labels, limit, distance)
    large = (width, height)
    soft = [cv2.resize(cv2.GaussianBlur(mask, (0, 0), 0.6), large, interpolation=cv2.INTER_LINEAR) for mask in masks]
    return CutOut(cv2.resize(ground, large, interpolation=cv2.INTER_LINEAR), tuple(soft))


def _ground(small: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the ground (float32): a plane for each channel, fitted twice, the second time without what is far off."""
    rows, columns = np.indices(small.shape[:2], dtype=np.float32)
    x, y = columns / small.shape[1] - 0.5, rows / small.shape[0] - 0.5
    terms = np.stack([np.ones_like(x), x, y], axis=2)
    values, inliers = small.astype(np.float32), mask.copy()
    for _ in range(2):
        weights, *_rest = np.linalg.lstsq(terms[inliers], values[inliers], rcond=None)
        ground = terms @ weights
        off = np.abs(values - ground).sum(axis=2)
        inliers = mask & (off <= 2.5 * np.median(off[mask]) + 3)
    return np.asarray(np.clip(ground, 0, 255), np.float32)


def _grab(difference: np.ndarray, labels: np.ndarray, limit: float, distance: np.ndarray) -> list[np.ndarray]:
    even = np.clip(difference / 2 + 128, 0, 255).astype(np.uint8)
    foreground = np.count_nonzero(labels == cv2.GC_PR_FGD)
    if foreground > 20 and np.count_nonzero(labels != cv2.GC_PR_FGD) > 20:
        cv2.setRNGSeed(0)
        models = np.zeros((1, 65)), np.zeros((1, 65))
        cv2.grabCut(even, labels, (0, 0, 1, 1), models[0], models[1], 3, cv2.GC_INIT_WITH_MASK)
    mask = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD)) | ((distance > 1.5 * limit) & (labels != cv2.GC_BGD))
    side = min(mask.shape)
    thin = max(3, round(THIN * side)) | 1
    disk = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (thin, thin))
    smooth = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, disk)
    outlines, _ = cv2.findContours(smooth, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    height, width = mask.shape
    candidates = []
    for outline in outlines:
        area = cv2.contourArea(outline)
        if area < LEAST * mask.size:
            continue
        left, top, across, down = cv2.boundingRect(outline)
        off = np.hypot((left + across / 2) / width * 2 - 1, (top + down / 2) / height * 2 - 1)
        candidates.append((area * np.exp(-off), outline))
    candidates.sort(key=lambda pair: -pair[0])
    masks = []
    for _score, outline in candidates:
        shape = np.zeros(mask.shape, np.float32)
        cv2.drawContours(shape, [outline], -1, 1.0, -1)
        masks.append(shape)
    return masks


SAMPLE = 200  # images that are looked at
SAME = 12  # levels (0–255) by which one color may differ


@dataclass(frozen=True)
class OwnGround:
    """The color (0–255, 3) around the things that a data set shows, and the share of a side that they fill."""

    color: np.ndarray
    share: float


def own_ground(dataset: str) -> OwnGround | None:
    """Return the ground of a custom data set in color; None if its images have several, or are not on disk."""
    folder = DATASETS.folder(dataset) if custom_datasets.is_custom(dataset) else None
    return None if folder is None else _measure(str(folder.parent.parent), dataset)


@lru_cache(maxsize=8)
def _measure(root: str, dataset: str) -> OwnGround | None:
    images = custom_datasets.load_arrays(Path(root), dataset)["train_images"]
    pictures = np.asarray(images[np.linspace(0, len(images) - 1, min(SAMPLE, len(images))).astype(int)])
    if pictures.ndim != 4:
        return None
    borders = np.stack([border_pixels(image) for image in pictures]).astype(np.int16)  # n × p × 3
    color = np.median(borders, axis=(0, 1))
    even = (np.abs(borders - color).max(axis=2) <= SAME).mean(axis=1) >= 0.9
    if even.mean() < 0.9:
        return None
    things = np.abs(pictures[even].astype(np.int16) - color).max(axis=3) > SAME
    sides = [
        max(np.ptp(np.flatnonzero(thing.any(axis=axis))) + 1 for axis in (0, 1)) for thing in things if thing.any()
    ]
    return OwnGround(color, float(np.median(sides)) / pictures.shape[1]) if sides else None
