"""The nearest neighbors of all test images of a run: `python -m dmlviz.jobs.neighbor_table RUN`.

Runs as a process of its own at low priority, because an index of 100,000 embeddings takes seconds of two cores. What it
finds stands in the folder of the run.
"""

import argparse
import sys
from pathlib import Path

import faiss

from dmlviz.errors import UserError
from dmlviz.ops.squared_distances import available_cores
from dmlviz.plugins import load_plugins
from dmlviz.process_setup import lower_priority
from dmlviz.runs.neighbor_table import index_table
from dmlviz.runs.run import Run

MAX_THREADS = 4  # more would take the cores from other people's trainings


def main(arguments: list[str] | None = None) -> None:
    """Compute and keep them; a sentence on standard error and status 2 where there can be none."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.jobs.neighbor_table", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the run")
    options = parser.parse_args(arguments)
    lower_priority()
    faiss.omp_set_num_threads(min(available_cores(), MAX_THREADS))
    load_plugins()
    try:
        index_table(Run(options.run))
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
