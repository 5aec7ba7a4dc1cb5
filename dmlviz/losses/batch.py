"""A checked batch, as the formula of a loss sees it."""

from collections.abc import Callable
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.losses.terms import Numbers, Terms
from dmlviz.miners.tuples import AnchoredPairs, FixedPairs, FixedTriplets, Pairs, Triplets, pair_masks
from dmlviz.ops.fixed_path import is_transformed
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.pairwise import clamp_range


class LossBatch:
    """The input of a formula: embeddings, labels, and the pairs that count (all of the batch, or those of a miner)."""

    def __init__(self, shared: LabeledBatch, tuples: Pairs | Triplets | None = None) -> None:
        self.shared = shared
        self.embeddings = shared.embeddings
        self.labels = shared.labels
        self.listed = tuples

    @property
    def tuples(self) -> Pairs | Triplets | None:
        """The tuples of a miner, None for all of the batch.

        Raises UserError on the way to a program where their number depends on values: the formula would not know which
        of them are selected. `positive`, `negative`, `pairs` and the masks of terms do.
        """
        if isinstance(self.listed, FixedPairs | FixedTriplets):
            raise UserError(
                "It takes tuples one by one whose number depends on values; the arrays of a program have fixed sizes."
            )
        return self.listed

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def x(self) -> Tensor:
        """The embeddings in float32 (or float64), held within the range in which losses add up."""
        return clamp_range(self.embeddings)

    @property
    def memory(self) -> Tensor | None:
        """Embeddings of earlier batches (m × d), which all masks and matrices have columns of, too; None for none."""
        return self.shared.memory and self.shared.memory.embeddings

    @property
    def candidates(self) -> Tensor:
        """The embeddings that the columns of all matrices belong to: the batch's, and after them a memory's."""
        return self.x if self.memory is None else torch.cat([self.x, self.memory.to(self.x.dtype)])

    @property
    def same_class(self) -> Tensor:
        """The mask of pairs of one class (n × n), each image with itself included."""
        return self.shared.same_class

    @property
    def off_diagonal(self) -> Tensor:
        """Every pair but of an image with itself (n × n)."""
        return self.shared.off_diagonal

    @cached_property
    def _masks(self) -> tuple[Tensor, Tensor]:
        if isinstance(self.listed, Pairs):
            return pair_masks(self.listed, *self.same_class.shape)
        return self.same_class & self.off_diagonal, ~self.same_class

    @property
    def positive(self) -> Tensor:
        """The positives P(a) of each anchor, in row a (n × n)."""
        return self._masks[0]

    @property
    def negative(self) -> Tensor:
        """The negatives N(a) of each anchor, in row a (n × n)."""
        return self._masks[1]

    @property
    def has_both(self) -> Tensor:
        """The mask of anchors that have a positive and a negative (n)."""
        return self.positive.any(dim=1) & self.negative.any(dim=1)

    @property
    def unique_positive_pairs(self) -> Tensor:
        """The positive pairs (n × n), each once unless the miner gave it a direction."""
        return self.positive if isinstance(self.listed, AnchoredPairs) else self.positive.triu()

    def terms(
        self,
        values: Tensor,
        mask: Tensor | None = None,
        reduction: str = "mean",
        *,
        smooth: bool = False,
        numbers: Callable[[], Numbers] | None = None,
    ) -> Terms:
        """Return `Terms`, for a plug-in: its file need not import torch, which the server does without.

        Args:
            values: The loss's terms.
            mask: Which of them count; by default all.
            reduction: A name in REDUCTIONS.
            smooth: For terms that never reach 0 exactly: they are active while they are above 0.01.
            numbers: Gives what fills the formula of a term; called only when a batch is shown.
        """
        return Terms(values, mask, reduction, smooth, numbers)

    def counts(self) -> Numbers:
        """Return how many positives and negatives each anchor has (n), for the sentence below a formula."""
        return {"positives": self.positive.sum(dim=1), "negatives": self.negative.sum(dim=1)}

    def class_indices(self, count: int) -> Tensor:
        """Return the labels as rows of class weights.

        Args:
            count: Number of class weights.

        Raises:
            UserError: Where a label is not in 0 … count − 1.
        """
        if not self.shared.numbered:
            raise UserError(f"Labels number the class weights, 0 to {count - 1}; got texts: number the classes first.")
        may_look = len(self) and not is_transformed(self.labels)
        low, high = (int(label) for label in self.labels.aminmax()) if may_look else (0, 0)
        if not 0 <= low <= high < count:
            raise UserError(
                f"Labels number the class weights, 0 to {count - 1}; got {low} to {high}: "
                "renumber the classes, or build with more num_classes."
            )
        return self.labels

    @cached_property
    def classes(self) -> tuple[Tensor, Tensor]:
        """The class of each image as an index (n), and the members of each class (n × classes).

        Where vmap maps over labels, a class is numbered by its first image, and the other numbers have no members.
        """
        if is_transformed(self.labels):
            index, count = self.same_class.int().argmax(dim=1), len(self)
        else:
            names, index = self.labels.unique(return_inverse=True)
            count = len(names)
        return index, index[:, None] == torch.arange(count, device=index.device)

    def distances(self, kind: str) -> Tensor:
        """Return distances (n × n): a shared matrix, not to be written into.

        Args:
            kind: "euclidean", "sqeuclidean" or "cosine".
        """
        return self.shared.distances(kind)

    def cosine(self) -> Tensor:
        """Return the cosines s_ij (n × n): the shared matrix, not to be written into."""
        return self.shared.cosine()

    def similarity(self) -> Tensor:
        """Return the cosines, or in a ball the distances with a minus (n × n): not to be written into."""
        return self.shared.similarity()

    def pairs(self, matrix: Tensor, *, directed: bool = False) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return what a pair loss runs over: values of the matrix, which of them are positive, which count (None: all).

        All are vectors, but n × n where every pair of the batch counts both ways round, or a memory adds to them.

        Args:
            matrix: A value of each pair (n × n).
            directed: Whether a value depends on which image is the anchor: a pair then counts both ways round.
        """
        if isinstance(self.listed, Pairs):
            rows, columns, same = self._mined_pairs(directed)
            places = rows * matrix.shape[1] + columns
        elif directed or self.memory is not None:
            return matrix, self.same_class, self.off_diagonal if directed else self.off_diagonal.triu()
        else:
            places = _upper_triangle(len(self), self.labels.device)
            same = self.same_class.reshape(-1).index_select(0, places)
        # One index into the row of all numbers takes a third of the time of two, there and back.
        return matrix.reshape(-1).index_select(0, places), same, self.kept

    @property
    def kept(self) -> Tensor | None:
        """Which of the listed tuples are selected; None for all."""
        return self.listed.kept if isinstance(self.listed, FixedPairs | FixedTriplets) else None

    def anchors(self, values: Tensor) -> Tensor:
        """Return values of each anchor, shaped to go with the directed `pairs`.

        Args:
            values: One an image (n).
        """
        return values[self._mined_pairs(True)[0]] if isinstance(self.listed, Pairs) else values[:, None]

    def _mined_pairs(self, directed: bool) -> tuple[Tensor, Tensor, Tensor]:
        assert isinstance(self.listed, Pairs)
        a, p, b, n = self.listed
        rows, columns = torch.cat([a, b]), torch.cat([p, n])
        same = torch.arange(len(rows), device=rows.device) < len(a)
        if directed and not isinstance(self.listed, AnchoredPairs):
            back = columns < len(self)  # an image of a memory is no anchor
            return torch.cat([rows, columns[back]]), torch.cat([columns, rows[back]]), torch.cat([same, same[back]])
        return rows, columns, same


@lru_cache(maxsize=4)
def _upper_triangle(n: int, device: torch.device) -> Tensor:
    """Return where each pair of n images is in a flattened n × n matrix, the same from step to step."""
    with torch.inference_mode(False):  # a tensor made in inference mode is no use to backward
        rows, columns = torch.triu_indices(n, n, 1, device=device)
        places: Tensor = rows * n + columns
    return places
