"""Compiles all kernels: `python -m dmlviz.projection.compilation`, when dmlviz is installed or a server starts."""

import subprocess
import sys

from dmlviz.metrics import retrieval
from dmlviz.ops import all_neighbors
from dmlviz.ops.compiled import are_kept, compiled
from dmlviz.process_setup import lower_priority
from dmlviz.projection import quality, tsne_descent, umap_forces

_LOADERS = (
    all_neighbors.load_kernels,
    retrieval.load_kernels,
    tsne_descent.load_kernels,
    umap_forces.load_kernels,
    quality.load_kernels,
)


def compile_all() -> bool:
    """Compile what is not kept yet, read the rest; return whether there are kernels now."""
    return all(compiled(load) is not None for load in _LOADERS)


def prepare() -> None:
    """Read the kernels that are kept; otherwise begin to compile them in a process of their own, and do not wait."""
    if are_kept():
        compile_all()
    else:
        command = [sys.executable, "-m", "dmlviz.projection.compilation"]
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    lower_priority()
    compile_all()
