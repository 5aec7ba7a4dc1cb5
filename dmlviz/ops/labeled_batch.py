"""A batch of labeled embeddings: what miner, loss and statistics of one training step share."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.ops.fixed_path import is_transformed
from dmlviz.ops.labels import read_labels
from dmlviz.ops.pairwise import ball_distance, cosine_distance, cosine_matrix, distance_matrix, l2_normalize

_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


class Memory(NamedTuple):
    """Embeddings of earlier batches (m × d, without a graph), their labels, and which images they are of (m each)."""

    embeddings: Tensor
    labels: Tensor
    images: Tensor


class LabeledBatch:
    """Embeddings and labels of a batch, with its masks and matrices, each computed once.

    The matrices are read-only. With gradients enabled they carry their graph; inside `torch.no_grad()` they are
    detached. All users share one graph, so call backward once.

    Args:
        embeddings: Embeddings (n × d), a tensor of floats.
        labels: Whole numbers or texts (n), as `read_labels` takes them.
        memory: What the images of the batch are compared with, too: masks and matrices are n × (n + m) then.
        images: Which images the embeddings are of (n), needed with a memory: none is compared with itself.
        curvature: That of the Poincaré ball in which the embeddings lie: distances are those of the ball; 0 for none.

    Attributes:
        labels: The class of each embedding (n, int64).
        numbered: Whether `labels` are the numbers that were given: texts, and numbers beyond int64, are numbered anew
            in each batch.

    Raises:
        UserError: For another shape or type.

    Examples:
        >>> batch = LabeledBatch(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), [0, 1])
        >>> batch.distances("euclidean").tolist(), batch.same_class.tolist()
        ([[0.0, 5.0], [5.0, 0.0]], [[True, False], [False, True]])
    """

    def __init__(
        self,
        embeddings: Any,
        labels: Any,
        memory: Memory | None = None,
        images: Tensor | None = None,
        *,
        curvature: float = 0.0,
    ) -> None:
        self.embeddings = _check(embeddings)
        self.labels, self.numbered = _numbers(labels, self.embeddings)
        self.memory, self._images, self.curvature = memory, images, curvature
        self._matrices: dict[str, Tensor] = {}
        self.second: LabeledBatch | None = None
        self.entered: LabeledBatch | None = None

    def add_labels(self, labels: Any) -> None:
        """Add second labels: `second` is the batch with these, and the same matrices."""
        self.second = LabeledBatch(self.embeddings, labels, curvature=self.curvature)
        self.second._matrices = self._matrices

    def before_neck(self, features: Tensor) -> "LabeledBatch":
        """Keep the features that entered a BNNeck (n × d), which a loss on images sees, as `entered`; return them."""
        self.entered = LabeledBatch(features, self.labels)
        if self.second is not None:
            self.entered.add_labels(self.second.labels)
        return self.entered

    def prefix(self, length: int, normalize: bool) -> "LabeledBatch":
        """Return the batch, its memory and second labels with the first dimensions alone.

        Args:
            length: Number of the dimensions.
            normalize: Whether what is left is scaled to length 1 again.
        """

        def cut(x: Tensor) -> Tensor:
            return l2_normalize(x[:, :length]) if normalize else x[:, :length]

        memory = self.memory and self.memory._replace(embeddings=cut(self.memory.embeddings))
        short = LabeledBatch(cut(self.embeddings), self.labels, memory, self._images)
        if self.second is not None:
            short.add_labels(self.second.labels)
        if self.entered is not None:  # of any length, and normalized for each dimension alone
            short.entered = self.entered.prefix(length, normalize=False)
        return short

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def same_class(self) -> Bool[Tensor, "n columns"]:
        """True where row and column are of one class, the diagonal included."""
        others = self.labels if self.memory is None else torch.cat([self.labels, self.memory.labels])
        return self.labels[:, None] == others

    @cached_property
    def off_diagonal(self) -> Bool[Tensor, "n columns"]:
        """True except for each image with itself."""
        own = ~torch.eye(len(self), dtype=torch.bool, device=self.labels.device)
        if self.memory is None or self._images is None:
            return own
        return torch.cat([own, self._images[:, None] != self.memory.images], dim=1)

    def distances(self, kind: str) -> Float[Tensor, "n columns"]:
        """Return the "euclidean", "sqeuclidean" or "cosine" distances; the diagonal is exactly 0.

        In a ball "euclidean" is its hyperbolic distance; for cosines UserError is raised there.
        """
        if kind == "cosine":
            return cosine_distance(self.cosine())
        if self.curvature:
            d = self._once("euclidean", lambda x, memory: ball_distance(x, self.curvature, memory))
            return d.square() if kind == "sqeuclidean" else d
        known = self._matrices
        # Each of the two gives the other, except for the gradient of a root at 0.
        if kind == "sqeuclidean" and "euclidean" in known:
            return self.distances("euclidean").square()
        if kind == "euclidean" and kind not in known and "sqeuclidean" in known and not self._needs_graph:
            return self.distances("sqeuclidean").sqrt()
        return self._once(kind, lambda x, memory: distance_matrix(x, kind, memory))

    def cosine(self) -> Float[Tensor, "n columns"]:
        """Return the cosines, 0 for a zero embedding; raise UserError in a ball, which has other angles."""
        if self.curvature:
            raise UserError("Cosines are of vectors; got points of a Poincaré ball: use distances.")
        return self._once("cosine", cosine_matrix)

    def similarity(self) -> Float[Tensor, "n columns"]:
        """Return the cosines; in a ball the distances, with a minus."""
        return -self.distances("euclidean") if self.curvature else self.cosine()

    @property
    def _needs_graph(self) -> bool:
        return torch.is_grad_enabled() and self._may_need_graph

    @property
    def _may_need_graph(self) -> bool:
        return self.embeddings.requires_grad or is_transformed(self.embeddings)

    def _once(self, name: str, compute: Callable[[Tensor, Tensor | None], Tensor]) -> Tensor:
        if name not in self._matrices:
            # The miner asks first, without gradient; the loss then needs the graph.
            with torch.set_grad_enabled(self._may_need_graph):
                self._matrices[name] = compute(self.embeddings, self.memory and self.memory.embeddings)
        matrix = self._matrices[name]
        return matrix if self._needs_graph else matrix.detach()


def _check(embeddings: Any) -> Float[Tensor, "n d"]:
    if not isinstance(embeddings, Tensor):
        kind = type(embeddings).__name__
        raise UserError(f"Embeddings are a tensor of torch; got {kind}: convert with torch.as_tensor, and .float().")
    if not embeddings.is_floating_point() or embeddings.layout != torch.strided or embeddings.is_meta:
        kind = f"{embeddings.dtype}, {embeddings.layout}, on {embeddings.device}"
        raise UserError(f"Embeddings are a dense tensor of floating-point numbers; got {kind}: convert with .float().")
    if embeddings.ndim != 2 or embeddings.shape[1] == 0:
        shape = tuple(embeddings.shape)
        raise UserError(f"Embeddings are n images × d dimensions; got shape {shape}: reshape to one row an image.")
    return embeddings


def _numbers(labels: Any, embeddings: Tensor) -> tuple[Int[Tensor, " n"], bool]:
    """Return a number for the class of each embedding, and whether it is the one that was given."""
    if isinstance(labels, Tensor) and labels.shape == embeddings.shape[:1] and labels.dtype in _WHOLE:
        return labels.to(embeddings.device, torch.int64), True
    index, classes = read_labels(labels, len(embeddings))
    numbered = classes.dtype == np.int64
    return torch.from_numpy(classes[index] if numbered else index).to(embeddings.device), numbered
