"""Compiles all kernels: `python -m dmlviz.projection.compilation`, when dmlviz is installed or a server starts."""

from dmlviz.metrics import retrieval
from dmlviz.ops import all_neighbors
from dmlviz.ops.compiled import compiled
from dmlviz.process_setup import lower_priority
from dmlviz.projection import pacmap, quality, tsne_descent, umap_forces

_LOADERS = (
    all_neighbors.load_kernels,
    retrieval.load_kernels,
    tsne_descent.load_kernels,
    umap_forces.load_kernels,
    pacmap.load_kernels,
    quality.load_kernels,
)


def compile_all() -> bool:
    """Compile what is not kept yet, read the rest; return whether there are kernels now."""
    return all(compiled(load) is not None for load in _LOADERS)


if __name__ == "__main__":
    lower_priority()
    compile_all()
