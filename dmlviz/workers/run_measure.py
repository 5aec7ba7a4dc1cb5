"""Slow measurements of a run, in a process of low priority. Loads no torch.

`python -m dmlviz.workers.run_measure neighbors RUN` keeps the nearest neighbors of all test images in the folder of the
run; `… pixels RUN` prints the retrieval scores of its raw pixels, a baseline without a net, as one line of JSON.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.squared_distances import available_cores
from dmlviz.plugins import load_plugins
from dmlviz.process_setup import lower_priority
from dmlviz.runs.neighbor_table import index_table
from dmlviz.runs.run import Run

MAX_THREADS = 4  # more would take the cores from other people's trainings


def keep_neighbors(run: Run) -> None:
    """Compute and keep the nearest neighbors of all test images."""
    import faiss

    faiss.omp_set_num_threads(min(available_cores(), MAX_THREADS))
    index_table(run)


def pixel_scores(run: Run, data_root: Path | None = None) -> dict[str, float]:
    """Return retrieval scores by Euclidean pixel distance, of the images that a run's snapshots score.

    Those are validation images, or the tracked test images where the run has none.

    Raises:
        UserError: Before the run has started.
    """
    from dmlviz import metrics
    from dmlviz.data import load

    indices, scored_rows = run.tracked_indices, run.scored_indices
    if indices is None:
        raise UserError(f"{run.title} has not started.")
    data = load(run.config.dataset, data_root)
    split, rows = (data.test, indices) if scored_rows is None else (data.train, scored_rows)
    pixels = split.images[rows].reshape(len(rows), -1).astype(np.float32) / 255
    return metrics.evaluate(pixels, split.labels[rows], clustering=False, full_ranking=False, verification=False)


def main() -> None:
    """Run the command line; a sentence on standard error and status 2 where that cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.workers.run_measure", description=__doc__)
    parser.add_argument("measure", choices=("neighbors", "pixels"))
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--data", type=Path, help="data folder")
    options = parser.parse_args()
    lower_priority()
    load_plugins()
    try:
        run = Run(options.run)
        if options.measure == "neighbors":
            keep_neighbors(run)
        else:
            print(json.dumps(pixel_scores(run, options.data)))
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
