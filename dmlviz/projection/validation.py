"""Input validation for projections. No torch, so that the server can validate a request."""

from dataclasses import replace
from typing import Any

import numpy as np

from dmlviz.catalog.parameters import Parameter
from dmlviz.catalog.projections import ProjectionSpec
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.ops.labels import is_missing
from dmlviz.ops.precision import to_numbers


def check(config: ProjectionConfig, n: int, dimension: int, *, labels: bool = True) -> None:
    """Raise UserError if `config` cannot project n points.

    Args:
        config: Method and parameters.
        n: Number of points.
        dimension: Dimension of the embeddings.
        labels: Whether class labels are available.
    """
    declared = config.declared
    if n < 2:
        raise UserError(f"A map needs at least 2 points; got {n}.")
    if declared.check_points is not None:
        declared.check_points(config.params, config.dims, n, dimension)
    if declared.needs_labels and not labels:
        raise UserError(f"{declared.title} needs the class of every point; got none: use PCA, t-SNE or UMAP.")
    if config.params.get("supervised") and not labels:
        raise UserError("A supervised map needs the class of every point; got none: draw it unsupervised.")


def lowered(config: ProjectionConfig, n: int, dimension: int) -> tuple[ProjectionConfig, str]:
    """Return the settings with a perplexity or number of neighbors that n points allow, and a sentence if it is lower.

    Args:
        config: Method and parameters.
        n: Number of points.
        dimension: Dimension of the embeddings.

    Examples:
        >>> lowered(ProjectionConfig(method="tsne"), n=40, dimension=8)[1]
        't-SNE of 40 points is drawn with perplexity = 13: 30 is for more points.'
    """
    limits = config.declared.limits(n, dimension) if config.declared.limits is not None else {}
    for name in ("perplexity", "neighbors"):
        if limits.get(name, np.inf) < config.params.get(name, 0):
            most, asked = limits[name], config.params[name]
            params = config.params | {name: type(asked)(most)}
            return config.model_copy(update={"params": params}), (
                f"{config.declared.title} of {n:,} points is drawn with {name} = {most:g}: {asked:g} is for more "
                "points."
            )
    return config, ""


def clamp_parameter(declared: ProjectionSpec, parameter: Parameter, n: int, dimension: int) -> Parameter:
    """Return a projection's parameter with its maximum lowered to what the data allow.

    Args:
        declared: The projection.
        parameter: One of its parameters.
        n: Number of points.
        dimension: Of the embeddings.

    Examples:
        >>> declared = ProjectionConfig(method="tsne").declared
        >>> perplexity = next(each for each in declared.parameters if each.name == "perplexity")
        >>> clamp_parameter(declared, perplexity, n=40, dimension=8).maximum
        13
    """
    limit = declared.limits(n, dimension).get(parameter.name) if declared.limits is not None else None
    if limit is None or parameter.maximum is None or limit >= parameter.maximum:
        return parameter
    most = max(limit, parameter.minimum or 0)
    return replace(parameter, maximum=most, help=f"{parameter.help}; here at most {limit:g}")


def check_embeddings(embeddings: Any, noun: str = "Embeddings") -> np.ndarray:
    """Return embeddings (n × d, of any library) as float32 or float64; raise UserError when they are not finite."""
    try:
        rows = to_numbers(embeddings)
    except ValueError:
        rows = np.empty(0, object)
    if rows.dtype.kind != "f":
        raise UserError(f"{noun} are a table of numbers; got {type(embeddings).__name__}.")
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise UserError(f"{noun} are a table of n rows and d ≥ 1 columns; got shape {rows.shape}.")
    # A map's positions are float32, whose squares overflow early.
    invalid = ~(np.abs(rows) < 1e18).all(axis=1)
    if invalid.any():
        raise UserError(
            f"{noun} must be finite numbers; {invalid.sum()} of {len(rows):,} rows hold NaN, infinity or "
            f"numbers beyond 1e18 (the first is row {int(invalid.argmax()):,}): the training may have diverged, draw "
            "an earlier step."
        )
    spread = float(np.ptp(rows, axis=0).max()) if len(rows) > 1 else 1.0
    if 0 < spread < 1e-30:
        raise UserError(f"{noun} differ by more than 1e-30; these by {spread:.0e} at most: multiply them.")
    return rows


def check_labels(labels: Any, n: int) -> np.ndarray:
    """Return labels (n, or n × 1) as class numbers from 0, -1 where one is missing or -1; raise UserError otherwise."""
    values = np.asarray(labels.detach().cpu() if hasattr(labels, "detach") else labels)
    if values.shape not in ((n,), (n, 1)):
        raise UserError(f"There is one label for each of the {n:,} points; got shape {values.shape}.")
    missing = is_missing(labels).ravel()
    values = values.ravel()
    if values.dtype.kind in "if":
        missing |= values == -1
    numbers = np.full(n, -1)
    if not missing.all():
        known = values[~missing]
        numbers[~missing] = np.unique(known.astype(str) if known.dtype == object else known, return_inverse=True)[1]
    return numbers
