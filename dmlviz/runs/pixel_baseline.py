"""Scores of the raw pixels, without a net: `python -m dmlviz.runs.pixel_baseline RUN` prints them.

A process of its own, because thousands of images of 784 pixels keep a processor busy for a while. It is nice, and
loads no torch.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from dmlviz import metrics
from dmlviz.data import load
from dmlviz.process_setup import lower_priority
from dmlviz.runs.run import Run, RunNotFoundError


def pixel_scores(images: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Retrieval scores of images (uint8, n × h × w (× 3)) by the Euclidean distance of their pixels."""
    flat = images.reshape(len(images), -1).astype(np.float32) / 255
    return metrics.evaluate(flat, labels, clustering=False, full_ranking=False, verification=False)


def pixel_scores_for_run(run: Run, data_root: Path | None = None) -> dict[str, float]:
    """The same of the test images that a run watches; raise UnknownRun before it knows them."""
    tracked, labels = run.tracked_indices, run.labels
    if tracked is None or labels is None:
        raise RunNotFoundError(f"{run.title} has not chosen its tracked images yet.")
    return pixel_scores(load(run.config.dataset, data_root).test.images[tracked], labels[tracked])


def main(arguments: list[str] | None = None) -> None:
    """Print them as one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.runs.pixel_baseline", description=__doc__)
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--data", type=Path, help="where the data sets are")
    chosen = parser.parse_args(arguments)
    lower_priority()
    print(json.dumps(pixel_scores_for_run(Run(chosen.run), chosen.data)))


if __name__ == "__main__":
    main()
