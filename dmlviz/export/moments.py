"""The layouts of a map over a training, as the player of a page shows them: for films, and for figures of one step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.metrics import metric_title
from dmlviz.config import ProjectionConfig
from dmlviz.export.contents import RunExport
from dmlviz.runs.frames import Box
from dmlviz.runs.projection_run import projected_items
from dmlviz.storage.run_schema.validation import Scores

SCORE = "precision_at_1"


@dataclass(frozen=True)
class Moment:
    """A map after `step` batches: places (n × 2 or 3) of `items` (n), in the `box` that the page shows.

    `words` are its score, and on which images; empty where there is none. `quality` holds measures of the map.
    """

    step: int
    places: np.ndarray
    items: np.ndarray
    box: Box
    words: str
    quality: Scores


def moments(export: RunExport) -> list[Moment]:
    """Return the layouts of a map, by step; the last is of the end. A map that has not followed the training has one.

    Raises:
        UserError: If the run or the map is not finished.
    """
    run, projection, coordinates = export.run, export.projection, export.coordinates
    end, words = run.end_step or 0, _scores(export)
    if projection is not None and not projection.config.follow:
        step = end if projection.config.step is None else projection.config.step
        box, said = Box.around(coordinates, 1.02), words.get(step, "")
        return [Moment(step, coordinates, export.items, box, said, projection.faithfulness)]
    frames: dict[int, Any] = {}
    qualities: dict[int, Scores] = {}
    if projection is not None:
        frames = {**projection.layouts}
        for event in projection.events():
            if event["event"] == "frame" and "step" in event:
                qualities[event["step"]] = event.get("faithfulness") or {}
        last: Any = projection.end and projection.end.get("frame")
        if last and (end not in frames or frames[end]["items"] != "all"):  # it has settled
            frames[end] = last
    else:
        replays = [one for one in run.events() if one["event"] == "replay"]
        frames = {frame["step"]: frame for one in replays for frame in one["frames"]}
    record = run if projection is None else projection
    made = []
    for step, frame in sorted(frames.items()):
        items = export.items
        if len(items) != frame["n"]:
            config = (
                ProjectionConfig(step=step)
                if projection is None
                else projection.config.replace(follow=False, step=step)
            )
            items = projected_items(run, config)
        quality = record.faithfulness if step == end else frame.get("faithfulness") or qualities.get(step, {})
        box = Box(tuple(frame["center"]), frame["scale"])
        made.append(Moment(step, record.positions(frame), items, box, words.get(step, ""), quality))
    return made


def _scores(export: RunExport) -> dict[int, str]:
    """Return the score of each snapshot, and of the end, with the images that it is of."""
    run = export.run
    scores = {
        event["step"]: (event["metrics"].get(SCORE), event.get("scored_on", "test"))
        for event in run.events()
        if event["event"] == "snapshot"
    }
    scores[run.end_step or 0] = run.metrics.get(SCORE), "test"
    title, dataset = metric_title(SCORE), DATASETS[run.config.dataset]
    return {
        step: f"{title} {score:.3f}" + (dataset.said(f", {of} images") if dataset.trainable else "")
        for step, (score, of) in scores.items()
        if score is not None
    }
