"""The losses: `LOSSES` is the catalog, `build` creates one. Importing this loads no torch; building does."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.parameters import Fields
from dmlviz.errors import UserError

if TYPE_CHECKING:
    from dmlviz.losses.base import Loss

__all__ = ["LOSSES", "build"]


def build(
    name: str,
    *,
    embedding_dim: int | None = None,
    num_classes: int | None = None,
    num_second_classes: int | None = None,
    seed: int = 0,
    **params: Any,
) -> "Loss":
    """Return the loss `name` as a module: `loss(embeddings, labels, tuples=None) -> scalar`, its `.active` beside it.

    Args:
        name: One of `LOSSES`; `LOSSES[name].parameters` lists its parameters.
        embedding_dim: Dimensions of the embeddings, for losses with weights of their own.
        num_classes: Number of classes, for the same losses; others take none.
        num_second_classes: For a sum whose second loss sees labels of its own (`LabeledBatch.add_labels`).
        seed: Draws these weights.
        **params: Parameters of the loss; `reduction="none"` gives its terms instead of a scalar.

    Raises:
        UserError: For an unknown name or parameter, a value out of range, or a size that is missing.

    Examples:
        >>> import torch
        >>> loss = build("triplet", margin=0.2)
        >>> loss(torch.eye(4), torch.tensor([0, 0, 1, 1]))  # all are equally far from each other
        tensor(0.2000)
    """
    declaration = LOSSES[name]
    sizes: Fields = {"embedding_dim": embedding_dim, "num_classes": num_classes, "seed": seed}
    rebuild = partial(build, name, num_second_classes=num_second_classes, **sizes, **params)
    unreduced = params.get("reduction") == "none" and any(p.name == "reduction" for p in declaration.parameters)
    if unreduced:
        del params["reduction"]
    values = declaration.with_defaults(params)
    smoothing = values.pop("label_smoothing", 0.0)
    if unreduced:
        values["reduction"] = "none"
    declaration = declaration.for_params(values)
    for needed, given in (("num_classes", num_classes), ("embedding_dim", embedding_dim)):
        if declaration.needs_classes and given is None:
            raise UserError(f"{name} owns weights for each class; got no {needed}: pass {needed} to build.")
    if num_second_classes is not None:
        values["num_second_classes"] = num_second_classes
    from dmlviz.ops.torch_state import own_state

    with own_state():
        loss: Loss = _implementations()[name](**sizes, **values)
    loss.declaration, loss.rebuild, loss.smoothing = declaration, rebuild, smoothing
    return loss


def _implementations() -> Mapping[str, Callable[..., Any]]:
    """Return the code of every loss by name; the first call imports the families, and torch with them."""
    from dmlviz.losses import (  # noqa: F401
        custom,
        hierarchical,
        pairs,
        proxies,
        rankings,
        structured,
        triplets,
        views,
    )
    from dmlviz.losses.registry import REGISTRY

    return REGISTRY


def __dir__() -> list[str]:
    return [*__all__]
