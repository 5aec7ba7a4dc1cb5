"""Separation of ink from a photograph of handwriting, despite uneven light, ruled paper and other objects.

A stroke is dark between two bright sides in any light: the background is the picture closed by a square wider
than the strokes, which leaves shadows and the table beside a sheet as they are (Vincent 1993). Ruled lines are found
by the Hough transform and divided out. The rest is joined into groups, and one of them is the answer.
"""

from dataclasses import dataclass

import cv2
import numpy as np

SMALLEST = 24  # a picture with a shorter side is no photograph
SQUARES = (0.24, 0.16, 0.1, 0.06)  # sides of the closing square, shares of the picture's shorter side
SOFT = 0.55  # an outline is a shadow's where it is less steep than this share of the steepest ones
FAINTEST = 0.045  # share of light that the palest stroke takes away
NEARBY = 0.08  # share of the shorter side, around a stroke
LINE = 0.02  # thickest ruled line, share of the shorter side


@dataclass(frozen=True)
class Group:
    """Strokes that belong together: the part of the picture that they fill (rows, columns), and a mask (h × w)."""

    rows: slice
    columns: slice
    mask: np.ndarray
    score: float


@dataclass(frozen=True)
class Lifted:
    """The strokes separated from a photograph.

    Attributes:
        flat: The picture without its background (float32, h × w): share of light taken away.
        ink: Strokes, their edges soft, all equally dark (float32, h × w, 0 to 1).
        groups: The strokes, the chosen ones first.
    """

    flat: np.ndarray
    ink: np.ndarray
    groups: tuple[Group, ...]

    def near(self, group: Group) -> np.ndarray:
        """Return the pixels (h × w, bool) of a group and of its soft edge."""
        return np.asarray(cv2.dilate(group.mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0)


def is_light_on_dark(gray: np.ndarray) -> bool:
    """Return whether strokes are brighter than their ground; local differences decide where brightness is unclear."""
    middle = float(np.median(gray))
    if middle > 115 or middle < 45:
        return middle < 45
    small = cv2.resize(gray, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) if min(gray.shape) > 60 else gray
    side = max(3, min(255, min(small.shape) // 3) | 1)
    ground = cv2.medianBlur(small, side).astype(np.float32)
    difference = np.clip(np.log(small + 16.0) - np.log(ground + 16.0), -1.5, 1.5)
    return float((difference**3).mean()) > 0


def lift(gray: np.ndarray) -> Lifted:
    """Lift dark strokes from a photograph (uint8, h × w); no groups where nothing stands out."""
    side = min(gray.shape)
    smooth = cv2.GaussianBlur(gray.astype(np.float32), (0, 0), 0.9)
    fine = _absorption(smooth, SQUARES[-1])
    noise = _noise(fine)
    smooth = smooth * (1 - _without_lines(fine, noise, side)) / (1 - fine)
    faintest = max(FAINTEST, 4 * noise)
    flat = _without_background(smooth, faintest)
    slope = _slope(smooth)
    first = _groups(_hysteresis(flat, faintest, 1.6 * faintest), flat, slope)
    if not first:
        return Lifted(flat, np.zeros_like(flat), ())
    strength = float(np.percentile(flat[first[0].mask], 70))
    ink = _even_out(flat, strength, faintest)
    return Lifted(flat, ink, tuple(_groups(_hysteresis(ink, 0.25, 0.6), flat, slope)))


def _absorption(smooth: np.ndarray, share: float) -> np.ndarray:
    """Return the share of light that strokes take away, compared with a closing; `share` of the shorter side wide."""
    width = max(3, round(share * min(smooth.shape))) | 1
    frame = cv2.copyMakeBorder(smooth, width, width, width, width, cv2.BORDER_REPLICATE)
    background = cv2.morphologyEx(frame, cv2.MORPH_CLOSE, np.ones((width, width), np.uint8))
    background = cv2.blur(background, (5, 5))[width:-width, width:-width]
    return np.asarray(np.clip(1 - smooth / np.maximum(np.maximum(background, smooth), 1), 0, 0.99))


def _slope(smooth: np.ndarray) -> np.ndarray:
    """Return how steep the light is (h × w, of its logarithm, per pixel) within two pixels."""
    levels = np.log(smooth + 4)
    slope = cv2.magnitude(cv2.Sobel(levels, cv2.CV_32F, 1, 0) / 8, cv2.Sobel(levels, cv2.CV_32F, 0, 1) / 8)
    return np.asarray(cv2.dilate(slope, np.ones((5, 5), np.uint8)))


def _softness(labels: np.ndarray, count: int, flat: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return for each part (`labels`, h × w) the share of its outline that is soft, beside the picture's sharp ones."""
    mask = (labels > 0).astype(np.uint8)
    outline = (mask - cv2.erode(mask, np.ones((3, 3), np.uint8))) > 0
    height = -np.log(1 - _nearby(flat)[outline])
    if not height.size:
        return np.zeros(count)
    steep = slope[outline] / np.maximum(height, 0.02)
    clear = steep[height >= 0.5 * np.percentile(height, 90)]
    soft = steep < SOFT * np.percentile(clear, 75)
    parts = labels[outline]
    return np.asarray(np.bincount(parts, soft, count) / np.maximum(np.bincount(parts, minlength=count), 1))


def _nearby(flat: np.ndarray) -> np.ndarray:
    """Return how dark the darkest stroke nearby is (h × w)."""
    width = max(5, round(NEARBY * min(flat.shape))) | 1
    darkest = cv2.dilate(cv2.blur(flat, (3, 3)), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, width)))
    return np.asarray(cv2.blur(darkest, (width, width)))


def _without_background(smooth: np.ndarray, faintest: float) -> np.ndarray:
    """Return the share of light that strokes take away.

    The closing that is wide enough for the thickest strokes takes the shadow of a finger for one. Its outline is soft,
    compared with the sharpest in the picture: there, a narrower closing counts, if it makes the outlines sharper.
    """
    slope = _slope(smooth)
    flat = _absorption(smooth, SQUARES[0])
    for share in SQUARES[1:]:
        limit = np.maximum(1.3 * faintest, 0.5 * _nearby(flat))
        count, labels = cv2.connectedComponents((flat > limit).astype(np.uint8), connectivity=8)
        softness = _softness(labels, count, flat, slope)
        softness[0] = 0
        if not (softness > 0.12).any():
            break
        narrower = _absorption(smooth, share)
        left = np.where(narrower > np.maximum(1.3 * faintest, 0.5 * _nearby(narrower)), labels, 0)
        less_soft = _softness(left, count, narrower, slope) < 0.8 * softness
        region = (less_soft & (softness > 0.12))[labels].astype(np.uint8)
        around = max(9, round(share * min(flat.shape))) | 1
        flat = np.where(cv2.dilate(region, np.ones((around, around), np.uint8)) > 0, narrower, flat)
    return flat


def _noise(flat: np.ndarray) -> float:
    """Return the standard deviation of the ground, from the lower half of the differences between neighbors."""
    difference = np.abs(flat[:, 2:] - flat[:, :-2])
    return float(np.median(difference)) * 1.48 / np.sqrt(2) if difference.size else 0.0


def _hysteresis(ink: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return what is above `low` and joined to something above `high`."""
    count, labels = cv2.connectedComponents((ink > low).astype(np.uint8), connectivity=8)
    strong = np.zeros(count, bool)
    strong[np.unique(labels[ink > high])] = True
    strong[0] = False
    return np.asarray(strong[labels])


def _without_lines(flat: np.ndarray, noise: float, side: int) -> np.ndarray:
    """Divide ruled lines out: long, straight and thin, each as dark as its middle is all along."""
    if side < 64:
        return flat
    thickest = max(3, round(LINE * side)) | 1
    rest = flat
    thin = flat - cv2.morphologyEx(flat, cv2.MORPH_OPEN, np.ones((thickest, thickest), np.uint8))
    mask = (thin > max(0.02, 2 * noise)).astype(np.uint8) * 255
    if mask.mean() > 0.6 * 255:
        return flat
    lines = cv2.HoughLines(mask, 1, np.deg2rad(0.25), round(0.42 * side))
    if lines is None:
        return flat
    rest = flat.copy()
    spans: list[tuple[float, float]] = []
    for rho, theta in lines.reshape(-1, 2)[:1500].tolist():
        near = sum(abs(abs(rho) - abs(r)) < thickest and abs(np.sin(theta - t)) < 0.04 for r, t in spans)
        if near < 3 and _divide_line(rest, rho, theta, thickest, noise):
            spans.append((rho, theta))
    return rest


def _divide_line(flat: np.ndarray, rho: float, theta: float, thickest: int, noise: float) -> bool:
    """Divide a line out of `flat` if it is one: thin, and there nearly all along; return whether it is."""
    if abs(np.sin(theta)) < abs(np.cos(theta)):  # steep: rows and columns change places
        return _divide_line(flat.T, rho, np.pi / 2 - theta, thickest, noise)
    height, width = flat.shape
    columns = np.arange(width)
    middle = np.rint((rho - columns * np.cos(theta)) / np.sin(theta)).astype(int)
    reach = thickest
    inside = (middle >= reach) & (middle < height - reach)
    if inside.sum() < 0.4 * width:
        return False
    columns, rows = columns[inside], middle[inside] + np.arange(-reach, reach + 1)[:, None]
    values = flat[rows, columns]
    profile = np.percentile(values, 55, axis=1)
    profile = np.clip(profile - max(profile[0], profile[-1]), 0, 0.97)
    peak = float(profile.max())
    beside = float(np.median(values[[0, -1]]))
    if peak < max(0.02, 1.5 * noise) or (profile > 0.4 * peak).sum() > thickest or beside > 0.5 * peak:
        return False
    parts = np.array_split(values[max(0, reach - 1) : reach + 2].max(axis=0), 16)
    if np.mean([np.median(part) > 0.45 * peak for part in parts]) < 0.75:
        return False
    left = np.clip(1 - (1 - values) / (1 - profile[:, None]), 0, None)
    spread = np.maximum(np.maximum(np.roll(profile, 1), np.roll(profile, -1)), profile)[:, None]
    flat[rows, columns] = np.where(left < 0.7 * spread, 0, left)
    return True


def _even_out(flat: np.ndarray, strength: float, faintest: float) -> np.ndarray:
    """Return strokes as dark as each other, from their own darkness nearby, and their edges soft."""
    local = np.clip(_nearby(flat), 0.5 * strength, None)
    low = np.maximum(0.25 * local, 0.8 * faintest)
    return np.asarray(np.clip((flat - low) / np.maximum(0.75 * local - low, 0.25 * local), 0, 1), np.float32)


def _groups(mask: np.ndarray, flat: np.ndarray, slope: np.ndarray) -> list[Group]:
    """Join parts that belong together; return the groups, the one that is most likely meant first."""
    count, labels, stats, _centers = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    weights = np.bincount(labels.ravel(), flat.ravel(), count)
    sharp = 1 - _softness(labels, count, flat, slope)
    parts = []
    for part in range(1, count):
        left, top, across, down, area = (int(value) for value in stats[part])
        if area >= max(4, 0.00004 * mask.size):
            parts.append((part, top, left, top + down, left + across, area, float(weights[part] * sharp[part] ** 2)))
    scores = {part[0]: _score(part, mask.shape) for part in parts}
    parts.sort(key=lambda part: -scores[part[0]])
    groups: list[Group] = []
    left_over = parts[:60]
    while left_over and len(groups) < 12:
        main = left_over.pop(0)
        if groups and scores[main[0]] < 0.08 * groups[0].score:
            break
        own = [main]
        for other in list(left_over):
            if _belongs(main, other):
                own.append(other)
                left_over.remove(other)
        box = [min(part[1] for part in own), min(part[2] for part in own)]
        end = [max(part[3] for part in own), max(part[4] for part in own)]
        rows, columns = slice(box[0], end[0]), slice(box[1], end[1])
        groups.append(Group(rows, columns, np.isin(labels, [part[0] for part in own]), scores[main[0]]))
    return groups


_Part = tuple[int, int, int, int, int, int, float]  # number, top, left, bottom, right, area, ink with a sharp outline


def _score(part: _Part, shape: tuple[int, ...]) -> float:
    """Return how likely a part is what is meant: large, in the middle, not cut by the picture's edge, no line."""
    height, width = shape
    _, top, left, bottom, right, area, ink = part
    size = max(bottom - top, right - left)
    off = np.hypot(((top + bottom) / 2 / height - 0.5) * 2, ((left + right) / 2 / width - 0.5) * 2)
    margin = 0.015 * min(shape)
    edges = (top < margin) + (left < margin) + (bottom > height - margin) + (right > width - margin)
    long = min(1.0, 0.9 * min(shape) / size) ** 4
    thick = min(1.0, area / size**2 / 0.03) ** 2
    return float(size * np.sqrt(ink) * np.exp(-1.2 * off**2) * 0.1 ** min(edges, 2) * long * thick)


def _belongs(main: _Part, other: _Part) -> bool:
    """Return whether a part is near enough to the main one, and small enough, to be a part of the same sign."""
    size = max(main[3] - main[1], main[4] - main[2])
    own = max(other[3] - other[1], other[4] - other[2])
    down = max(other[1] - main[3], main[1] - other[3], 0)
    across = max(other[2] - main[4], main[2] - other[4], 0)
    overlap_down = min(main[3], other[3]) - max(main[1], other[1])
    overlap_across = min(main[4], other[4]) - max(main[2], other[2])
    inside = overlap_down > 0.6 * (other[3] - other[1]) and overlap_across > 0.6 * (other[4] - other[2])
    near = max(down, across) < 0.12 * size
    as_dark = other[6] / other[5] > 0.3 * main[6] / main[5]  # and as sharp: the rest of a shadow is not
    return (inside or (near and own < 0.7 * size)) and as_dark and other[6] > 0.02 * main[6]
