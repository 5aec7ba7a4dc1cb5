"""Thumbnail of a run's map, rendered from its last frame."""

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from dmlviz.figures.palette import PALETTE, Theme
from dmlviz.runs.run import Run
from dmlviz.storage.run_schema.events import FrameMeta, frames_of
from dmlviz_app.answers.cached_file import cached_file

SIZE = 480, 300
SUPERSAMPLING = 2  # drawn so many times as large, then scaled down: soft edges
MARGIN = 0.06
MIN_EXTENT = 0.1  # of the room that the whole replay takes: a run that collapsed is drawn as the dot that it became


def version(run: Run) -> str:
    """Version string that changes with the thumbnail's content."""
    try:
        return f"{run.log.path.stat().st_mtime_ns // 1_000_000:x}"
    except OSError:  # no log, or none that can be read
        return "0"


def thumbnail(run: Run, theme: Theme, cache: Path) -> bytes:
    """Return the picture of a run's last frame, kept where the disk takes it; an empty one before the first frame.

    Args:
        run: The run.
        theme: Whose colors to use.
        cache: Cache folder.

    Returns:
        The PNG, on a transparent ground.
    """
    path = cache / "thumbnails" / f"{run.id}-{version(run)}-{theme}.png"

    def draw() -> bytes:
        file = io.BytesIO()
        render(*last_frame(run), theme).save(file, "PNG")
        for old in path.parent.glob(f"{run.id}-*-{theme}.png"):
            old.unlink(missing_ok=True)
        return file.getvalue()

    return cached_file(path, draw)


def last_frame(run: Run) -> tuple[np.ndarray, np.ndarray, float]:
    """Positions (n × dims) and labels (n) of the newest frame of a run's own view, and the width of all its frames."""
    frame, labels = _latest_frame(run), run.labels
    if frame is None or labels is None:
        return np.zeros((0, 2), np.float32), np.zeros(0, np.int64), 0.0
    positions = run.positions(frame)
    indices = run.tracked_indices if frame["items"] == "tracked" else None
    visible = np.asarray(labels) if indices is None else np.asarray(labels)[np.asarray(indices)]
    return positions[: len(visible)], visible[: len(positions)], 2 * frame["scale"]


def _latest_frame(run: Run) -> FrameMeta | None:
    for line in reversed(run.log.lines()):
        if line.startswith((b'{"event":"replay"', b'{"event":"snapshot"')):
            return frames_of(run.log.event(line))[-1]
    return None


def render(positions: np.ndarray, labels: np.ndarray, extent: float, theme: Theme) -> Image.Image:
    """Draw points, scaled to fill the picture.

    Args:
        positions: The points (n × dims); NaN for a point that has no place.
        labels: Their class ids (n).
        extent: Width of the box in which they moved during the run. The picture shows at least `MIN_EXTENT` of it, so
            that a collapsed run is drawn as a dot.
        theme: Whose colors to use.

    Returns:
        The picture, on a transparent ground.
    """
    width, height = SIZE[0] * SUPERSAMPLING, SIZE[1] * SUPERSAMPLING
    image = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    finite = np.isfinite(positions).all(axis=1)
    points, classes = positions[finite, :2].astype(np.float64), labels[finite]
    if len(points):
        low, high = points.min(axis=0), points.max(axis=0)
        size = np.array([width, height]) * (1 - 2 * MARGIN)
        scale = min(size / np.maximum(high - low, max(MIN_EXTENT * extent, 1e-9)))
        pixels = (points - (low + high) / 2) * [scale, -scale] + [width / 2, height / 2]
        radius = SUPERSAMPLING * np.clip(60 / np.sqrt(len(points)), 1.1, 3.5)
        draw = ImageDraw.Draw(image)
        order = np.random.default_rng(0).permutation(len(points))  # no class lies on top of the others
        for i in order:
            (x, y), color = pixels[i], PALETTE[theme][classes[i] % len(PALETTE[theme])]
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=color)
    return image.resize(SIZE, Image.Resampling.BOX)
