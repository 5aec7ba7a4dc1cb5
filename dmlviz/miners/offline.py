"""Hard negatives from the whole training set, where a batch alone rarely holds any."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmlviz.miners.base import Batch, Miner, implements
from dmlviz.miners.triplets import hardest_negative
from dmlviz.miners.tuples import Triplets
from dmlviz.ops.pairwise import clamp_range

_ANCHORS_AT_ONCE = 32  # rows of the search's score matrix: 32 × 60,000 float32 are 8 MB
_NO_ADDITIONS = torch.empty(0, dtype=torch.int64), -1  # row of each image's negative, size of the completed batch


@implements("offline_hard")
class OfflineHard(Miner):
    """Keeps each image's hardest negatives of the whole training set, and completes its batches with them.

    `refresh` takes the embedded training set, `complete` adds the negatives to a batch of indices, and mining the
    completed batch selects (a, p, a's added negative) for every ordered positive pair of the original one. A batch
    that was not completed is mined for its own hardest negatives.
    """

    def __init__(self, *, seed: int, every: int, negatives: int) -> None:
        super().__init__("offline_hard", self._mine, seed)
        self.every = every
        self.negatives = negatives
        self._points = torch.empty(0, 0)
        self._labels = torch.empty(0, dtype=torch.int64)
        self._kept = torch.empty(0, 0, dtype=torch.int64)
        self._searched = torch.empty(0, dtype=torch.bool)
        self._added = _NO_ADDITIONS

    def refresh(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> None:
        """Take the embeddings of all training images, in their order; what was kept before is forgotten."""
        self._points = clamp_range(embeddings.detach())
        self._points = torch.nan_to_num(self._points - self._points.mean(0))
        self._labels = labels.to(self._points.device, torch.int64)
        self._kept = torch.full((len(labels), self.negatives), -1, device=self._points.device)
        self._searched = torch.zeros(len(labels), dtype=torch.bool, device=self._points.device)

    def extend_batch(self, batch: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Append to a batch of training image indices one of the hardest negatives of each, at random.

        A negative is appended once, however many images drew it, and not at all if the batch holds it already.
        """
        if not len(self._points):
            return batch
        index = torch.from_numpy(batch).to(self._kept.device)
        self._search(index[~self._searched[index]].unique())
        kept = self._kept[index].cpu()
        count = (kept >= 0).sum(1)
        nth = (torch.rand(len(batch), generator=self._generator, dtype=torch.float64) * count).long()
        drawn = kept.gather(1, nth[:, None]).squeeze(1).tolist()  # -1 where there is no negative
        new = sorted(set(drawn) - set(batch.tolist()) - {-1})
        completed = np.concatenate([batch, np.array(new, dtype=np.int64)])
        row = {image: row for row, image in enumerate(completed.tolist())}
        self._added = torch.tensor([row.get(image, -1) for image in drawn]), len(completed)
        return completed

    def _search(self, anchors: Int[Tensor, " n"]) -> None:
        # An image is searched for when it first comes up after a refresh: the work spreads over the epoch.
        squares = self._points.square().sum(1)
        for some in anchors.split(_ANCHORS_AT_ONCE):
            distances = torch.addmm(squares, self._points[some], self._points.T, alpha=-2)
            distances.masked_fill_(self._labels[some, None] == self._labels, torch.inf)
            nearest = distances.topk(min(self.negatives, len(squares)), largest=False)
            self._kept[some, : nearest.indices.shape[1]] = nearest.indices.masked_fill(nearest.values.isinf(), -1)
        self._searched[anchors] = True

    def _mine(self, batch: Batch) -> Triplets:
        added, size = self._added
        self._added = _NO_ADDITIONS
        if size != len(batch.labels):
            return hardest_negative(batch, distance="euclidean")
        a, p = batch.positive_pairs
        original = (a < len(added)) & (p < len(added))
        a, p = a[original], p[original]
        n = added.to(a.device)[a]
        return Triplets(a[n >= 0], p[n >= 0], n[n >= 0])
