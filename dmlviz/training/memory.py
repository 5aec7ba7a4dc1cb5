"""Embeddings of earlier batches, kept to be compared with those of the next ones."""

from torch import Tensor

from dmlviz.ops.labeled_batch import LabeledBatch, Memory

_WARM_UP = 0.1  # of the steps: what a net forgets at once is no use to it


class CrossBatchMemory:
    """The last embeddings that a loss has seen, the oldest of which give way (Wang et al. 2020, XBM).

    An image of a batch is compared with the other images of the batch and, in the same sums, with those of the memory,
    which move no more. There, the loss on the memory is added to that of the batch. No image is compared with itself of
    a step before. Nothing is kept in the first tenth of the steps, where embeddings change too fast.

    Args:
        size: Embeddings that it holds.
        steps: Steps of the training.
        curvature: As of `LabeledBatch`.
    """

    def __init__(self, size: int, steps: int, curvature: float = 0.0) -> None:
        self._curvature = curvature
        self._size, self._from = size, int(_WARM_UP * steps)
        self._held: Memory | None = None
        self._next = self._count = 0

    def beside(self, embeddings: Tensor, labels: Tensor, images: Tensor) -> LabeledBatch:
        """Return a batch with what is held; `images` (n) says which ones its embeddings are of."""
        held = None if self._held is None else Memory(*(part[: self._count] for part in self._held))
        return LabeledBatch(embeddings, labels, held, images, curvature=self._curvature)

    def keep(self, step: int, embeddings: Tensor, labels: Tensor, images: Tensor) -> None:
        """Keep the embeddings of a step, the last of them where they are more than it holds."""
        if step <= self._from:
            return
        new = Memory(*(part.detach()[-self._size :] for part in (embeddings, labels, images)))
        if self._held is None:
            self._held = Memory(*(part.new_zeros(self._size, *part.shape[1:]) for part in new))
        first = min(len(new.labels), self._size - self._next)
        for held, part in zip(self._held, new, strict=True):
            held[self._next : self._next + first] = part[:first]
            held[: len(part) - first] = part[first:]
        self._count = min(self._size, self._count + len(new.labels))
        self._next = (self._next + len(new.labels)) % self._size
