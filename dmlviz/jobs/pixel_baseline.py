"""Retrieval scores of raw pixels, a baseline without a net: `python -m dmlviz.jobs.pixel_baseline RUN`.

Runs as a separate process at low priority, because thousands of images of 784 pixels take seconds. Imports no torch.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from dmlviz import metrics
from dmlviz.data import load
from dmlviz.plugins import load_plugins
from dmlviz.process_setup import lower_priority
from dmlviz.runs.run import Run, RunNotFoundError


def pixel_scores(images: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return retrieval scores of images (uint8, n × h × w or n × h × w × 3) by Euclidean pixel distance."""
    flat = images.reshape(len(images), -1).astype(np.float32) / 255
    return metrics.evaluate(flat, labels, clustering=False, full_ranking=False, verification=False)


def pixel_scores_for_run(run: Run, data_root: Path | None = None) -> dict[str, float]:
    """Return the pixel scores of the images that a run's snapshots score.

    Those are validation images, or the tracked test images where the run has none; raises RunNotFoundError before it
    has started.
    """
    tracked, scored = run.tracked_indices, run.scored_indices
    if tracked is None:
        raise RunNotFoundError(f"{run.title} has not started.")
    data = load(run.config.dataset, data_root)
    split, rows = (data.test, tracked) if scored is None else (data.train, scored)
    return pixel_scores(split.images[rows], split.labels[rows])


def main(arguments: list[str] | None = None) -> None:
    """Print the scores as one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.jobs.pixel_baseline", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--data", type=Path, help="data folder")
    options = parser.parse_args(arguments)
    lower_priority()
    load_plugins()
    print(json.dumps(pixel_scores_for_run(Run(options.run), options.data)))


if __name__ == "__main__":
    main()
