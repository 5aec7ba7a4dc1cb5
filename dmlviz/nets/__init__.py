"""The embedding nets: `NETS` says what there is, `build` makes one. Importing this loads no torch; building does."""

from typing import TYPE_CHECKING

from dmlviz.catalog.nets import NETS
from dmlviz.errors import UserError

if TYPE_CHECKING:
    from dmlviz.nets.models import EmbeddingNet

__all__ = ["NETS", "build"]

MIN_SIZE = 8


def build(
    name: str,
    *,
    embedding_dim: int = 64,
    normalize: bool = True,
    channels: int = 1,
    size: int = 28,
    seed: int | None = None,
) -> "EmbeddingNet":
    """Return the net `name`: normalized images (n × channels × size × size) in, embeddings (n × embedding_dim) out.

    With `normalize` these have length 1. A `seed` decides the first weights and leaves torch's own random state
    alone. Raises UserError for an unknown name and for sizes no net takes.
    """
    _ = NETS[name]
    if size < MIN_SIZE or channels not in (1, 3) or embedding_dim < 1:
        raise UserError(
            f"A net takes images of 1 or 3 channels, {MIN_SIZE} × {MIN_SIZE} pixels or more, and gives 1 dimension or "
            f"more; got {channels} channels, {size} × {size} pixels, {embedding_dim} dimensions."
        )
    from dmlviz.nets.models import build_model

    return build_model(name, embedding_dim, normalize, channels, size, seed)
