"""Embedding nets: `NETS` is the catalog, `build` creates a net. Importing this package does not load torch.

`PairNet`, `SiameseNet`, `TripletNet` and the other nets for pairs load torch when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.nets import NETS
from dmlviz.errors import UserError

if TYPE_CHECKING:
    from dmlviz.nets.description import describe
    from dmlviz.nets.models import EmbeddingNet, mahalanobis_matrix, templates
    from dmlviz.nets.pair_nets import (
        CentralSurroundNet,
        DecisionNet,
        PairNet,
        SiameseNet,
        TripletNet,
        TwoChannelNet,
        TwoStreams,
    )

__all__ = [
    "NETS",
    "CentralSurroundNet",
    "DecisionNet",
    "PairNet",
    "SiameseNet",
    "TripletNet",
    "TwoChannelNet",
    "TwoStreams",
    "build",
    "describe",
    "mahalanobis_matrix",
    "templates",
]

_PAIR_NETS = ("CentralSurroundNet", "DecisionNet", "PairNet", "SiameseNet", "TripletNet", "TwoChannelNet", "TwoStreams")
_HOMES = (
    {"describe": "description"}
    | dict.fromkeys(_PAIR_NETS, "pair_nets")
    | dict.fromkeys(("mahalanobis_matrix", "templates"), "models")
)

MIN_SIZE = 8


def build(
    name: str,
    *,
    embedding_dim: int = 64,
    normalize: bool = True,
    curvature: float = 0.0,
    clip_radius: float = 2.3,
    channels: int = 1,
    size: int = 28,
    features: int | None = None,
    of_points: bool = False,
    bn_neck: bool = False,
    seed: int | None = None,
) -> "EmbeddingNet":
    """Create an embedding net with random weights.

    Args:
        name: Name in `NETS`.
        embedding_dim: Dimensions of the embedding.
        normalize: L2-normalize the embeddings.
        curvature: That of the Poincaré ball into which the exponential map brings the embeddings; 0 for none. Then
            pass `normalize=False`.
        clip_radius: Length to which they are cut before that.
        channels: 1 (gray) or 3 (color).
        size: Side of the square images in pixels.
        features: Dimensions of the vectors that the net takes instead of images, as n × features × 1 × 1.
        of_points: Whether the images are dots, and the net takes their places, x and y; see dmlviz/ops/dots.py.
        bn_neck: Whether batch normalization without a shift follows: see `dmlviz.nets.models.BNNeck`.
        seed: Seed of the weights; torch's global random state stays untouched. None draws from that state.

    Returns:
        A module: normalized images (n × channels × size × size) to embeddings (n × embedding_dim).

    Raises:
        UserError: For an unknown name or an unsupported size.

    Examples:
        >>> import torch
        >>> net = build("small", embedding_dim=16, seed=0)
        >>> net(torch.zeros(2, 1, 28, 28)).shape
        torch.Size([2, 16])
    """
    spec = NETS[name]
    if features is not None or of_points:
        features = 2 if features is None else features
        if not spec.takes_features or features < 1:
            heads = " or ".join(head for head, net in NETS.items() if net.takes_features)
            raise UserError(
                f"A head takes features of 1 dimension or more; got {features} dimensions and the net {name}: choose "
                f"{heads}."
            )
        if not of_points:
            channels, size = features, 1
    elif size < MIN_SIZE or channels not in (1, 3) or embedding_dim < 1:
        raise UserError(
            f"A net takes images of 1 or 3 channels, {MIN_SIZE} × {MIN_SIZE} pixels or more, and gives 1 dimension or "
            f"more; got {channels} channels, {size} × {size} pixels, {embedding_dim} dimensions."
        )
    if curvature and normalize:
        raise UserError("Embeddings are normalized, or lie in a ball; got both: pass normalize=False.")
    if curvature and bn_neck:
        raise UserError("A BNNeck normalizes vectors, and a Poincaré ball has points; got both: pass bn_neck=False.")
    from dmlviz.nets.models import build_model
    from dmlviz.ops.spaces import PoincareBall

    ball = PoincareBall(curvature, clip_radius) if curvature else None
    return build_model(name, embedding_dim, normalize, channels, size, seed, ball, of_points, bn_neck)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]
