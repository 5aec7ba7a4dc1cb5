import pytest
import torch

from dmlviz.ops.sorted_negatives import pair_table, sort_negatives

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
