"""The hierarchical triplet loss: margins from a tree of classes that is rebuilt as the space changes."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmlviz.losses import all_triplets
from dmlviz.losses.answers import TreeNode
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import REGISTRY
from dmlviz.losses.terms import Numbers, SummedTerms, Terms
from dmlviz.miners.tuples import Triplets
from dmlviz.ops.fixed_path import is_transformed
from dmlviz.ops.pairwise import l2_normalize


def class_distances(embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> Float[Tensor, "c c"]:
    """Return the mean squared distance of the images of two classes on the sphere, classes ascending.

    On the diagonal an image's distance 0 to itself counts, too.
    """
    names, index = labels.unique(return_inverse=True)
    means, _ = _class_means(l2_normalize(embeddings.detach()).nan_to_num(), len(names), index)
    return 2 - 2 * means @ means.T


def _class_means(
    x: Float[Tensor, "n d"], count: int, index: Int[Tensor, " n"]
) -> tuple[Float[Tensor, "c d"], Float[Tensor, " c"]]:
    """Return the mean of each class, 0 where it has no images, and how many it has."""
    size = x.new_zeros(count).index_add(0, index, torch.ones_like(x[:, 0]))
    return x.new_zeros(count, x.shape[1]).index_add(0, index, x) / size.clamp(min=1)[:, None], size


class ClassTree:
    """Classes merged level by level; `merged[i, j]` is the threshold at which class i and j come together.

    On the unit sphere, in squared distances: `spread[i]` is the mean within class i, the threshold of level l is
    d_l = d_0 + l (4 − d_0) / L with d_0 the mean spread, and at each level classes nearer than d_l on average are
    merged, transitively (Ge et al. 2018, §3.1).
    """

    def __init__(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], levels: int) -> None:
        x = l2_normalize(embeddings.detach()).nan_to_num()
        if is_transformed(labels):  # by vmap: numbers below n, not all of which are classes
            self.names, index = torch.arange(len(labels), device=labels.device), labels
        else:
            self.names, index = labels.unique(return_inverse=True)
        means, size = _class_means(x, len(self.names), index)
        between = means @ means.T
        several = size > 1
        # Of n(n − 1) ordered pairs of unit vectors the mean squared distance is 2 (1 − ‖mean‖²) n / (n − 1).
        spread = 2 * (1 - between.diagonal()).clamp(min=0) * size / (size - 1).clamp(min=1)
        self.spread = torch.where(several, spread, 0.0)
        start = self.spread.sum() / several.sum().clamp(min=1)

        thresholds = start + (4 - start) * torch.arange(1, levels + 1, dtype=x.dtype, device=x.device) / levels
        apart = (2 - 2 * between).masked_fill((size == 0) | (size == 0)[:, None], torch.inf)
        level = torch.searchsorted(thresholds, _linked(apart), right=True)
        self.merged = thresholds[level.clamp(max=levels - 1)]

    def margins(self, labels: Int[Tensor, " n"], beta: float) -> Float[Tensor, "n n"]:
        """Return β + d_H(y_a, y_n) − s_{y_a} for anchors a (rows) and negatives n; β where the tree lacks a class."""
        names, merged, spread = (each.to(labels.device) for each in (self.names, self.merged, self.spread))
        place = torch.searchsorted(names, labels.contiguous()).clamp(max=len(names) - 1)
        known = names[place] == labels
        extra = merged[place][:, place] - spread[place, None]
        return beta + torch.where(known[:, None] & known, extra, 0.0)

    def nodes(self) -> list[TreeNode]:
        """Return the tree, each node after its children: the classes, then what is merged, the root last."""
        nodes = [
            TreeNode(label=label, height=height, children=[])
            for label, height in zip(self.names.tolist(), self.spread.tolist(), strict=True)
        ]
        own = torch.eye(len(nodes), dtype=torch.bool, device=self.merged.device)
        top = list(range(len(nodes)))  # the node that each class is part of so far
        for height in self.merged[~own].unique().tolist():
            for row in ((self.merged <= height) | own).unique(dim=0):
                members = row.nonzero().flatten().tolist()
                children = list(dict.fromkeys(top[member] for member in members))
                if len(children) > 1:
                    for member in members:
                        top[member] = len(nodes)
                    nodes.append(TreeNode(label=-1, height=height, children=children))
        return nodes


def _linked(distances: Float[Tensor, "c c"]) -> Float[Tensor, "c c"]:
    """Return the least threshold above which two classes are linked through a chain of classes."""
    height = distances
    for between in range(len(height)):
        height = torch.minimum(height, torch.maximum(height[:, between, None], height[between]))
    return height


@REGISTRY.register("hierarchical_triplet")
class HierarchicalTriplet(Loss):
    """[d²_ap − d²_an + β + d_H(y_a, y_n) − s_{y_a}]₊ on the unit sphere (Ge et al. 2018).

    `refresh` builds the class tree; until it was called, each batch is its own tree.
    """

    every = 1

    def __init__(
        self,
        *,
        embedding_dim: int | None,
        num_classes: int | None,
        seed: int,
        beta: float,
        levels: int,
        reduction: str,
    ) -> None:
        super().__init__()
        self.beta, self.levels, self.reduction = beta, levels, reduction
        self.tree: ClassTree | None = None

    def refresh(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> None:
        """Build the class tree of the whole training set."""
        self.tree = ClassTree(embeddings, labels, self.levels) if len(labels) else None

    def class_tree(self, batch: LossBatch) -> list[TreeNode]:
        """Return the tree of the last refresh, or of the batch."""
        return (self.tree or ClassTree(batch.embeddings, batch.labels, self.levels)).nodes()

    def terms(self, batch: LossBatch) -> Terms | SummedTerms:
        """Return a term for each triplet: of a miner, or all of the batch, summed."""
        labels = batch.classes[0] if self.tree is None and is_transformed(batch.labels) else batch.labels
        tree = self.tree or ClassTree(batch.embeddings, labels, self.levels)
        d = 2 * batch.distances("cosine")
        below = d - tree.margins(labels, self.beta).to(d.dtype)
        if isinstance(batch.tuples, Triplets):
            a, p, n = batch.tuples
            values = (d[a, p] - below[a, n]).relu()

            def numbers() -> Numbers:
                apart = d[a, n]
                return {"d_{ap}^2": d[a, p], "d_{an}^2": apart, r"\beta+d_H-s_y": apart - below[a, n]}

            return Terms(values, None, self.reduction, numbers=numbers)
        return all_triplets.hinge_sum(batch, d, below, self.reduction)
