"""What miner, loss and statistics of one training step share."""

import gc
import re
import weakref

import pytest
import torch

from dmlviz import losses, miners
from dmlviz.errors import UserError
from dmlviz.ops import pairwise
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.sorted_negatives import pair_table, sort_negatives

LABELS = torch.arange(12) % 3


def points(n=12):
    return torch.randn(n, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture
def measured(monkeypatch):
    """A list that grows by one with each matrix of distances that is computed."""
    calls = []
    original = pairwise._Distance.forward
    monkeypatch.setattr(pairwise._Distance, "forward", staticmethod(lambda *a: calls.append(1) or original(*a)))
    return calls


def test_miner_loss_and_statistics_share_one_matrix():
    x = points().requires_grad_()
    batch = LabeledBatch(x, LABELS)
    with torch.no_grad():
        mined = batch.distances("euclidean")
    lost = batch.distances("euclidean")
    with torch.no_grad():
        shown = batch.distances("euclidean")
    assert mined.data_ptr() == lost.data_ptr() == shown.data_ptr()
    assert lost.requires_grad
    assert not mined.requires_grad
    assert not shown.requires_grad
    (lost.square() / 2).sum().backward()
    # Σ d²/2 over ordered pairs pulls each point by twice its offset from the others' sum.
    torch.testing.assert_close(x.grad, 2 * (len(x) * x - x.sum(dim=0)).detach())


@pytest.mark.parametrize("first", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("second", ["euclidean", "sqeuclidean", "cosine"])
def test_distances_and_their_gradients_do_not_depend_on_what_was_asked_for_before(first, second):
    weights = torch.rand(12, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    shared, alone = points().requires_grad_(), points().requires_grad_()
    batch = LabeledBatch(shared, LABELS)
    with torch.no_grad():
        torch.testing.assert_close(batch.distances(first), pairwise.distance_matrix(alone, first))
    ours, plain = batch.distances(second), pairwise.distance_matrix(alone, second)
    torch.testing.assert_close(ours, plain)
    (weights * ours).sum().backward()
    (weights * plain).sum().backward()
    torch.testing.assert_close(shared.grad, alone.grad)


def test_a_matrix_is_computed_once(measured):
    batch = LabeledBatch(points().requires_grad_(), LABELS)
    with torch.no_grad():
        batch.distances("euclidean")
    batch.distances("sqeuclidean")
    batch.distances("euclidean")
    assert len(measured) == 1


def test_miner_and_loss_measure_a_shared_batch_once(measured):
    x = points().requires_grad_()
    loss, mine = losses.build("contrastive"), miners.build("hard_negative_pairs")
    batch = LabeledBatch(x, LABELS)
    value = loss.compute(batch, mine.mine(batch))
    assert len(measured) == 1
    assert value == loss(x, LABELS, mine(x, LABELS))
    assert len(measured) == 3


def test_the_parts_of_a_sum_measure_a_batch_once(measured):
    losses.build("weighted_sum", a="contrastive", b="lifted")(points().requires_grad_(), LABELS).backward()
    assert len(measured) == 1


def test_the_matrices_go_with_the_batch():
    batch = LabeledBatch(points().requires_grad_(), LABELS)
    matrix = weakref.ref(batch.distances("euclidean"))
    assert matrix() is not None
    del batch
    gc.collect()
    assert matrix() is None


# What comes in


@pytest.mark.parametrize(
    "labels",
    [
        [3, 3, -7],
        torch.tensor([3, 3, -7], dtype=torch.int8),
        torch.tensor([3.0, 3.0, -7.0]),
        torch.tensor([3.0, 3.0, -7.0], dtype=torch.float16),
        torch.tensor([[3, 0], [3, 0], [-7, 0]])[:, 0],
    ],
)
def test_labels_of_any_kind_become_class_numbers(labels):
    x = points(3)
    batch = LabeledBatch(x, labels)
    assert batch.embeddings is x
    assert batch.labels.dtype == torch.int64
    assert batch.labels.tolist() == [3, 3, -7]


def test_huge_labels_stay_distinct():
    labels = torch.tensor([2**62, 2**62 + 1, -(2**63)])
    assert torch.equal(LabeledBatch(points(3), labels).labels, labels)


@pytest.mark.parametrize("wrong", [0.5, float("nan"), float("inf"), 1j])
def test_labels_that_number_no_class_are_refused(wrong):
    with pytest.raises(UserError, match=f"Labels are whole numbers or texts; got {re.escape(str(wrong))} at index 1"):
        LabeledBatch(points(3), torch.tensor([1, wrong, 2]))


def test_embeddings_that_are_none_are_refused():
    for wrong, said in ((points(3)[0], r"got shape \(5,\)"), (points(3)[:, :0], r"\(3, 0\)"), ([[1.0]], "got list")):
        with pytest.raises(UserError, match=said):
            LabeledBatch(wrong, [0, 1, 2])


torch.set_num_threads(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_negatives_come_in_order_of_any_sign_and_size_and_nan_last(dtype):
    values = torch.tensor([[3.0, -1.0, 0.0, 2e30, -5e-30, torch.nan, torch.inf, -2e30, 1.5, 7.0]], dtype=dtype)
    negative = torch.ones(1, 10, dtype=torch.bool)
    negative[0, 9] = False
    ranking = sort_negatives(values, negative)
    assert ranking.index[0, :7].tolist() == [7, 1, 4, 2, 8, 0, 3]
    assert sorted(ranking.index[0, 7:9].tolist()) == [5, 6]
    assert ranking.index[0, 9] == 9
    assert ranking.distance[0, 9] == torch.inf
    assert ranking.count.tolist() == [9]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_large_table_is_sorted_row_by_row(dtype):
    values = torch.randn(64, 300, dtype=dtype, generator=torch.Generator().manual_seed(0))
    ranking = sort_negatives(values, torch.ones_like(values, dtype=torch.bool))
    assert torch.equal(ranking.distance, values.sort(dim=1).values)
    assert torch.equal(values.gather(1, ranking.index), ranking.distance)


def test_counts_below_a_bound_leave_ties_out_or_in_and_never_exceed_the_negatives():
    distances = torch.tensor([[0.0, 1.0, 2.0, 2.0, 9.0]])
    ranking = sort_negatives(distances, torch.tensor([[False, True, True, True, False]]))
    bounds = torch.tensor([[0.5, 1.0, 2.0, 3.0, torch.inf, torch.nan]])
    assert ranking.count_closer(bounds).tolist() == [[0, 0, 1, 3, 3, 3]]
    assert ranking.count_at_most(bounds).tolist() == [[0, 1, 3, 3, 3, 3]]


def test_slots_lay_uneven_rows_out_as_a_table_and_back():
    mask = torch.tensor([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=torch.bool)
    pairs = pair_table(mask)
    assert pairs.width == 2
    values = torch.tensor([1.0, 2.0, 3.0])
    table = pairs.table(values, -1.0)
    assert table.tolist() == [[1, 2], [-1, -1], [3, -1]]
    assert torch.equal(pairs.flat(table), values)
    assert pair_table(mask[:0, :0]).width == 0
