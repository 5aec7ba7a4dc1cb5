"""The work: to count the test images of each class of a run."""

import json

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.runs.run import Run


def sizes(run: Run) -> dict[str, int]:
    """Return the number of test images of each class."""
    classes = DATASETS[run.config.dataset].classes
    counts = np.bincount(run.labels, minlength=len(classes))
    return dict(zip(classes, counts.tolist(), strict=True))


def write_sizes(target, run):
    """Write them into the file of an answer, in a worker process; `run` is the folder of the run."""
    target.file.write_text(json.dumps(sizes(Run(run))))
    return ""  # the file is shown, not kept: it needs no name
