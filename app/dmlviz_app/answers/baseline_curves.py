"""Baselines, measured once by workers, and kept: curves, and the scores of raw pixels.

The curves are those of raw pixels and of the untrained net.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.figures import baselines
from dmlviz.figures.baselines import Baseline
from dmlviz.figures.palette import BASELINES
from dmlviz.jobs.job_record import AnswerRecord
from dmlviz.jobs.order import Order
from dmlviz.runs.run import Run
from dmlviz.storage.files import read_json
from dmlviz_app.answers.cached_file import keep_file
from dmlviz_app.answers.sprites import ImageTiles
from dmlviz_app.server.services import Services


@dataclass(frozen=True)
class BaselineCurves:
    """The baselines that are measured, and the IDs of the work that measures others."""

    baselines: list[Baseline]
    work: list[str]


def baseline_curves(run: Run, tiles: ImageTiles, tracked: bool, services: Services) -> BaselineCurves:
    """Return the baselines of a run's test images; those that are missing are measured in the background.

    Args:
        run: The run.
        tiles: Its test images.
        tracked: The images of the snapshots only.
        services: Those of the person who asks.
    """
    ready, work = [], []
    for name in BASELINES:
        path = _path(name, run, tiles.folder(services.cache), tracked)
        if path.exists():
            ready.append(baselines.read(name, path))
            continue
        arguments = {
            "run": str(run.path.resolve()),
            "baseline": name,
            "tracked": tracked,
            "path": str(path.resolve()),
        }
        order = services.answers.order("curves", run.id, **arguments)
        if not services.answers.begin(order, services.person.id):  # the figure does without one that failed
            work.append(order.id)
    return BaselineCurves(ready, work)


def _path(name: str, run: Run, folder: Path, tracked: bool) -> Path:
    """Pixels are those of the data set, an untrained net is that of its settings."""
    parts = [name]
    indices = run.tracked_indices
    if tracked and indices is not None:
        parts.append(hashlib.sha256(indices.tobytes()).hexdigest()[:16])
    if name != "raw pixels":
        parts.append(run.id)
    return folder / f"curves-{'-'.join(parts).replace(' ', '_')}.npz"


def pixel_baseline_path(run: Run, folder: Path) -> Path:
    """Return the file that keeps the retrieval scores of a run's raw pixels, of the images that its snapshots score.

    Args:
        run: The run.
        folder: Cache folder of the data set.

    Raises:
        UserError: Before the run has started.
    """
    indices = run.tracked_indices
    if indices is None:
        raise UserError(f"{run.title} has not begun, so it has no images to compare yet.")
    validation = run.scored_indices
    rows = b"test" + indices.tobytes() if validation is None else b"validation" + validation.tobytes()
    return folder / f"pixels-{hashlib.sha256(rows).hexdigest()[:16]}.json"


def pixel_baseline_order(run: Run, services: Services) -> Order[AnswerRecord]:
    """Return the order of these scores."""
    return services.answers.order("pixels", run.id, run=str(run.path.resolve()))


def keep_pixel_baseline(record: AnswerRecord, path: Path) -> dict[str, float | None]:
    """Return the scores of an answer, and keep them."""
    scores: dict[str, float | None] | None = read_json(record.result)
    if scores is None:
        raise DamagedFileError(record.result, "it holds no scores")
    keep_file(path, json.dumps(scores).encode())
    return scores
