"""Miners select the pairs or triplets of a batch that a loss uses; `build` creates one."""

from functools import partial
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.miners import MINERS

if TYPE_CHECKING:
    from dmlviz.miners.base import Miner

__all__ = ["MINERS", "build"]


def build(name: str, *, seed: int = 0, **parameters: Any) -> "Miner":
    """Create a miner.

    Args:
        name: Name in `MINERS`.
        seed: Seed of its random choices.
        **parameters: Its parameters; defaults from the catalog.

    Returns:
        A callable `mine(embeddings, labels)` that returns Pairs or Triplets.

    Raises:
        UserError: For an unknown name or parameter, or a value out of range.

    Examples:
        >>> import torch
        >>> mine = build("hardest_negative", distance="euclidean")
        >>> triplets = mine(torch.tensor([[0.0], [1.0], [3.0]]), torch.tensor([0, 0, 1]))
        >>> triplets.a.tolist(), triplets.p.tolist(), triplets.n.tolist()
        ([0, 1], [1, 0], [2, 2])
    """
    complete = MINERS[name].with_defaults(parameters)
    # Imported here, so that reading the catalog does not load torch.
    from dmlviz.miners import offline, pairs, triplets  # noqa: F401
    from dmlviz.miners.base import IMPLEMENTATIONS, Miner
    from dmlviz.ops.torch_state import own_state

    code = IMPLEMENTATIONS[name]
    if isinstance(code, type):
        with own_state():
            miner: Miner = code(seed=seed, **complete)
        return miner
    return Miner(name, partial(code, **complete), seed)


def __dir__() -> list[str]:
    return [*__all__]
