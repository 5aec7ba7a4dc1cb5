"""Miners: which pairs or triplets of a batch a loss sees. `build(name)` gives `mine(embeddings, labels)`."""

from functools import partial
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.miners import MINERS

if TYPE_CHECKING:
    from dmlviz.miners.base import Miner

__all__ = ["MINERS", "build"]


def build(name: str, *, seed: int = 0, **parameters: Any) -> "Miner":
    """Return the miner called `name`; its random choices depend on `seed` only.

    Raises UserError for an unknown name, an unknown parameter, or a value out of range.
    """
    complete = MINERS[name].with_defaults(parameters)
    # Torch is loaded only now: whoever merely shows the miners has none.
    from dmlviz.miners import offline, pairs, triplets  # noqa: F401
    from dmlviz.miners.base import IMPLEMENTATIONS, Miner

    code = IMPLEMENTATIONS[name]
    if isinstance(code, type):
        return code(seed=seed, **complete)
    return Miner(name, partial(code, **complete), seed)
