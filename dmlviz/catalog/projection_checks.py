"""Checks of projection parameters beyond their ranges, and of what n points allow. No torch.

A check of parameters takes them and the dimensions of the map. A check of points also takes the number of points and
the dimensions of the embedding. Each raises UserError.
"""

from dmlviz.catalog.parameters import Params
from dmlviz.errors import UserError

MAX_EXACT = 5_000  # points; scikit-learn keeps several float64 matrices of all pairs in memory


def axes(params: Params, dims: int) -> tuple[int, ...]:
    """Return the components on the axes x, y (and z); empty for a projection without a choice of axes."""
    return tuple(params[name] for name in "xyz"[:dims] if name in params)


def check_plane(params: Params, dims: int, n: int, dimension: int) -> None:
    """Refuse embeddings with more dimensions than the map."""
    if dimension > dims:
        instead = "draw it in 3 dimensions" if dimension == 3 else "use PCA, t-SNE or UMAP"
        raise UserError(
            f"Learned space shows embeddings of at most {dims} dimensions as they are; these have {dimension}: "
            f"{instead}."
        )


def check_different_axes(params: Params, dims: int) -> None:
    """Refuse a component that is drawn twice."""
    components = axes(params, dims)
    if len(set(components)) < dims:
        raise UserError(f"PCA needs {dims} different components; got {', '.join(map(str, components))}.")


def check_components(params: Params, dims: int, n: int, dimension: int) -> None:
    """Refuse a component that the embedding does not have."""
    last = max(axes(params, dims))
    if last > max(dimension, dims):
        raise UserError(
            f"PCA of {dimension} dimensions has {dimension} components; got {last} as one to draw: "
            f"use at most {dimension}."
        )


def component_limits(n: int, dimension: int) -> dict[str, int]:
    """Return the last component of the embedding, for each axis."""
    return dict.fromkeys("xyz", dimension)


def perplexity_limit(n: int, dimension: int) -> dict[str, int]:
    """Return a third of the number of points."""
    return {"perplexity": max(1, n // 3)}


def neighbors_limit(n: int, dimension: int) -> dict[str, int]:
    """Return the number of other points; 2, which the point itself is one of, of two points."""
    return {"neighbors": max(2, n - 1)}


def pairs_limit(n: int, dimension: int) -> dict[str, int]:
    """Return a third of the other points: as many again are further ones, or nothing would push."""
    return {"neighbors": max(1, (n - 1) // 3)}


def check_scikit_learn(params: Params, dims: int, n: int, dimension: int) -> None:
    """Refuse what scikit-learn's t-SNE cannot draw."""
    if params["init"] == "pca" and dimension < dims:
        raise UserError(
            f"t-SNE by scikit-learn begins with as many principal components as the map has dimensions, {dims}; got "
            f"embeddings of {dimension}: use init = random."
        )
    if params["method"] == "exact" and n > MAX_EXACT:
        raise UserError(
            f"t-SNE by scikit-learn looks at all pairs of up to {MAX_EXACT:,} points; got {n:,}: use method = "
            "barnes_hut."
        )


def check_spread(params: Params, dims: int) -> None:
    """Refuse points that would have to be farther apart than the map is wide."""
    if params["min_dist"] > params["spread"]:
        raise UserError(
            f"umap-learn: min_dist must be at most spread; got {params['min_dist']:g} and {params['spread']:g}."
        )
