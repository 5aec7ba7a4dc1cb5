"""The engine "torchdr": TorchDR's t-SNE and UMAP, on a graphics card where there is one. See `reference.py`."""

from typing import Any

import numpy as np
import torch

from dmlviz.errors import UserError
from dmlviz.projection.euclidean_form import prepare
from dmlviz.projection.reference import ReferenceMethod, ThreadProgress
from dmlviz.projection.registry import TORCHDR_REGISTRY, Layout, Request


@TORCHDR_REGISTRY.register("tsne")
class TorchDRTSNE(ReferenceMethod):
    """torchdr.TSNE."""

    def compute(self, rows: np.ndarray, request: Request, progress: ThreadProgress) -> Layout:
        """Return the layout; TorchDR reports no progress."""
        params = request.config.params
        exaggeration = params["exaggeration"] if request.start is None else 1.0
        options = {"perplexity": params["perplexity"], "early_exaggeration_coeff": exaggeration}
        return _fit("TSNE", rows, request, **options)


@TORCHDR_REGISTRY.register("umap")
class TorchDRUMAP(ReferenceMethod):
    """torchdr.UMAP."""

    def compute(self, rows: np.ndarray, request: Request, progress: ThreadProgress) -> Layout:
        """Return the layout; TorchDR reports no progress."""
        params = request.config.params
        options = {"n_neighbors": params["neighbors"], "min_dist": params["min_dist"], "spread": params["spread"]}
        return _fit("UMAP", rows, request, **options)


def _fit(method: str, rows: np.ndarray, request: Request, **options: Any) -> Layout:
    try:
        import torchdr
    except ImportError:
        raise UserError(
            "This map is drawn by TorchDR, which is not installed: pip install 'dmlviz[torchdr]'."
        ) from None

    config = request.config
    with torch.random.fork_rng():  # it seeds the global generators
        model = getattr(torchdr, method)(
            n_components=config.dims,
            max_iter=config.params["iterations"],
            init="pca" if request.start is None else request.start,
            random_state=config.seed,
            device=request.device,
            backend="faiss",
            **options,
        )
        coordinates = model.fit_transform(prepare(rows, config.params["metric"]))
    return Layout(np.asarray(coordinates, np.float32), iterations=int(model.n_iter_) + 1)
