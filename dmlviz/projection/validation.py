"""Input validation for projections. No torch, so that the server can validate a request."""

from dataclasses import replace
from typing import Any

import numpy as np

from dmlviz.catalog.parameters import Parameter
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError

MAX_EXACT = 5_000  # points; scikit-learn keeps several float64 matrices of all pairs in memory


def check(config: ProjectionConfig, n: int, dimension: int, *, labels: bool = True) -> None:
    """Raise UserError if `config` cannot project n points.

    Args:
        config: Method and parameters.
        n: Number of points.
        dimension: Dimension of the embeddings.
        labels: Whether class labels are available.
    """
    title, params = config.declared.title, config.params
    if n < 2:
        raise UserError(f"A map needs at least 2 points; got {n}.")
    if config.method == "plane" and dimension > config.dims:
        instead = "draw it in 3 dimensions" if dimension == 3 else "use PCA, t-SNE or UMAP"
        raise UserError(
            f"{title} shows embeddings of at most {config.dims} dimensions as they are; these have {dimension}: "
            f"{instead}."
        )
    if config.method == "pca" and max(config.axes) > max(dimension, config.dims):
        raise UserError(
            f"PCA of {dimension} dimensions has {dimension} components; got {max(config.axes)} as one to draw: "
            f"use at most {dimension}."
        )
    if config.method == "tsne" and params["perplexity"] > n / 3:
        fits = f"use at most {n // 3}" if n >= 6 else "use PCA for so few points"
        raise UserError(
            f"Perplexity is at most a third of the number of points; got {params['perplexity']:g} for {n} points: "
            f"{fits}."
        )
    if config.method == "umap" and params["neighbors"] >= n:
        fits = f"use at most {n - 1}" if n >= 3 else "use PCA for so few points"
        raise UserError(
            f"UMAP needs more points than neighbors; got {n} points and {params['neighbors']} neighbors: {fits}."
        )
    if params.get("init") == "pca" and dimension < config.dims:
        raise UserError(
            f"{title} begins with as many principal components as the map has dimensions, {config.dims}; got "
            f"embeddings of {dimension}: use init = random."
        )
    if params.get("method") == "exact" and n > MAX_EXACT:
        raise UserError(
            f"{title} looks at all pairs of up to {MAX_EXACT:,} points; got {n:,}: use method = barnes_hut."
        )
    if config.method == "fan" and not labels:
        raise UserError("A class fan needs the class of every point; got none: use PCA, t-SNE or UMAP.")
    if params.get("supervised") and not labels:
        raise UserError("A supervised map needs the class of every point; got none: draw it unsupervised.")


def clamp_parameter(parameter: Parameter, n: int, dimension: int) -> Parameter:
    """Return the parameter with its maximum lowered to what n points of that dimension allow."""
    limits = {"perplexity": n // 3, "neighbors": n - 1, "x": dimension, "y": dimension, "z": dimension}
    limit = limits.get(parameter.name)
    if limit is None or parameter.maximum is None or limit >= parameter.maximum:
        return parameter
    most = max(limit, parameter.minimum or 0)
    return replace(parameter, maximum=most, help=f"{parameter.help}; here at most {limit}")


def check_embeddings(embeddings: Any, noun: str = "Embeddings") -> np.ndarray:
    """Return embeddings (n × d, NumPy or torch) as contiguous float32; raise UserError when they are not finite."""
    if hasattr(embeddings, "detach"):
        embeddings = embeddings.detach().cpu()
    try:
        rows = np.ascontiguousarray(np.asarray(embeddings), dtype=np.float32)
    except (TypeError, ValueError):
        raise UserError(f"{noun} are a table of numbers; got {type(embeddings).__name__}.") from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise UserError(f"{noun} are a table of n rows and d ≥ 1 columns; got shape {rows.shape}.")
    # float32 overflows before float64 does, and squares overflow earlier still.
    invalid = ~(np.abs(rows) < 1e18).all(axis=1)
    if invalid.any():
        raise UserError(
            f"{noun} must be finite numbers; {invalid.sum()} of {len(rows)} rows hold NaN, infinity or numbers beyond "
            f"1e18 (the first is row {int(invalid.argmax())}): the training may have diverged, draw an earlier step."
        )
    return rows


def check_labels(labels: Any, n: int) -> np.ndarray:
    """Return labels as n class numbers from 0; raise UserError for another shape."""
    values = np.asarray(labels.detach().cpu() if hasattr(labels, "detach") else labels)
    if values.shape != (n,):
        raise UserError(f"There is one label for each of the {n} points; got shape {values.shape}.")
    return np.unique(values, return_inverse=True)[1]
