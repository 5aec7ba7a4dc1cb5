"""No batch makes a miner fail: where no tuple is valid it selects none."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz import miners
from dmlviz.errors import UnknownNameError, UserError
from dmlviz.miners.base import IMPLEMENTATIONS
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.ops.labeled_batch import LabeledBatch

NAMES = list(miners.MINERS)
PER_PAIR = ["random_negative", "hardest_negative", "semihard_nearest"]


def points(n=8, d=4):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(n))


def with_rows(rows, value):
    embeddings = points()
    embeddings[rows] = value
    return embeddings


TWO_EACH = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
BATCHES = {
    "empty": (points(0), torch.empty(0, dtype=torch.int64)),
    "one image": (points(1), torch.tensor([3])),
    "one class": (points(), torch.zeros(8, dtype=torch.int64)),
    "all classes distinct": (points(), torch.arange(8)),
    "one image without partner": (points(), torch.tensor([0, 0, 0, 1, 1, 1, 1, 2])),
    "coincident positives": (points()[[0, 0, 1, 1, 2, 2, 3, 3]], TWO_EACH),
    "coincident negatives": (points()[[0, 1, 0, 1, 2, 3, 2, 3]], TWO_EACH),
    "all points equal": (torch.ones(8, 4), TWO_EACH),
    "zero vectors": (torch.zeros(8, 4), TWO_EACH),
    "norms of 1e-20": (points() * 1e-20, TWO_EACH),
    "norms of 1e20": (points().double() * 1e20, TWO_EACH),
    "one NaN row": (with_rows(3, torch.nan), TWO_EACH),
    "all NaN": (with_rows(slice(None), torch.nan), TWO_EACH),
    "infinite": (with_rows(slice(0, 4), torch.inf), TWO_EACH),
    "one dimension": (points(8, 1), TWO_EACH),
}


def assert_valid(tuples, labels):
    """Index tensors of one length, in range, that keep what positive and negative mean."""
    labels = labels.long()
    for index in tuples:
        assert index.dtype == torch.int64
        assert index.ndim == 1
        assert not index.requires_grad
    first, second = (tuples.a, tuples.p), (tuples.b if isinstance(tuples, Pairs) else tuples.a, tuples.n)
    assert (labels[first[0]] == labels[first[1]]).all()
    assert (first[0] != first[1]).all()
    assert (labels[second[0]] != labels[second[1]]).all()


DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("name", NAMES)
def test_every_batch_gives_valid_tuples(name):
    for embeddings, labels in BATCHES.values():
        assert_valid(miners.build(name)(embeddings.requires_grad_(), labels), labels)


# A batch is checked once, before any miner sees it: one that selects pairs, one that selects triplets.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["all_pairs", "batch_hard"])
def test_embeddings_of_every_type_are_taken(name, dtype):
    for embeddings, labels in BATCHES.values():
        assert_valid(miners.build(name)(embeddings.detach().to(dtype).requires_grad_(), labels), labels)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_triplet_there_are_no_triplets(name):
    for batch in ("empty", "one image", "one class", "all classes distinct"):
        tuples = miners.build(name)(*BATCHES[batch])
        assert min(len(tuples.a), len(tuples.n)) == 0, batch


@pytest.mark.parametrize("name", PER_PAIR)
def test_a_miner_for_each_pair_leaves_none_out(name):
    for batch in set(BATCHES) - {"empty", "one image", "one class"}:
        embeddings, labels = BATCHES[batch]
        triplets = miners.build(name)(embeddings, labels)
        same = (labels[:, None] == labels).fill_diagonal_(False)
        assert torch.stack([triplets.a, triplets.p], 1).tolist() == same.nonzero().tolist(), batch


LABELS = {
    "int64": TWO_EACH,
    "int32": TWO_EACH.int(),
    "int16": TWO_EACH.short(),
    "int8": TWO_EACH.to(torch.int8),
    "uint8": TWO_EACH.to(torch.uint8),
    "bool": TWO_EACH > 1,
    "float holding integers": TWO_EACH.float(),
    "non-contiguous": TWO_EACH.repeat_interleave(2)[::2],
    "negative": TWO_EACH - 2,
    "huge": TWO_EACH + 2**62,
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ["all_pairs", "batch_hard"])
def test_every_type_of_label_selects_the_same(name, labels):
    reference = TWO_EACH if labels != "bool" else (TWO_EACH > 1).long()
    mined, expected = miners.build(name)(points(), LABELS[labels]), miners.build(name)(points(), reference)
    assert all(torch.equal(a, b) for a, b in zip(mined, expected, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_autocast_and_no_grad_select_the_same(name):
    expected = miners.build(name)(points(), TWO_EACH)
    with torch.autocast("cpu", torch.bfloat16):
        cast = miners.build(name)(points(), TWO_EACH)
    with torch.no_grad():
        frozen = miners.build(name)(points(), TWO_EACH)
    with torch.inference_mode():
        inferred = miners.build(name)(points(), TWO_EACH)
    for mined in (cast, frozen, inferred):
        assert all(torch.equal(a, b) for a, b in zip(mined, expected, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_batch_is_refused_in_a_sentence(name):
    mine = miners.build(name)
    with pytest.raises(UserError, match=r"n images × d dimensions; got shape \(8,\)"):
        mine(torch.randn(8), TWO_EACH)
    with pytest.raises(UserError, match="one label for each embedding"):
        mine(points(), TWO_EACH[:7])
    with pytest.raises(UserError, match="whole numbers"):
        mine(points(), TWO_EACH + 0.5)


@pytest.mark.parametrize("name", NAMES)
def test_mining_leaves_the_batch_and_the_global_random_state_alone(name):
    embeddings, before = points().requires_grad_(), torch.random.get_rng_state()
    batch = LabeledBatch(embeddings, TWO_EACH)
    miners.build(name).mine(batch)
    miners.build(name).mine(batch)
    assert torch.equal(embeddings, points())
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_select_equally_every_time(name):
    embeddings, labels = points(40), torch.arange(40) % 4
    one, two = miners.build(name, seed=9), miners.build(name, seed=9)
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(one(embeddings, labels), two(embeddings, labels), strict=True))


@pytest.mark.parametrize("name", ["balanced_pairs", "random_negative", "random_hard_negative", "distance_weighted"])
def test_other_seeds_and_later_batches_select_differently(name):
    embeddings, labels = points(40), torch.arange(40) % 4
    mine = miners.build(name, seed=1)
    first, second, other = (m(embeddings, labels).n for m in (mine, mine, miners.build(name, seed=2)))
    assert not torch.equal(first, second)
    assert not torch.equal(first, other)


DETERMINED = ["all_pairs", "hard_negative_pairs", "multi_similarity", "hardest_negative", "semihard_nearest"]
DETERMINED += ["batch_hard", "easy_positive"]


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.parametrize("name", DETERMINED)
def test_permuting_and_relabeling_the_batch_permutes_what_is_selected(name, data):
    labels = torch.tensor(data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=16)))
    order = torch.tensor(data.draw(st.permutations(range(len(labels)))))
    embeddings = points(len(labels)).double()
    there = miners.build(name)(embeddings, labels)
    here = miners.build(name)(embeddings[order], 10 - 3 * labels[order])

    def as_sets(tuples, place):
        parts = [tuples] if isinstance(tuples, Triplets) else [tuples[:2], tuples[2:]]
        direction = frozenset if type(tuples) is Pairs else tuple
        return [{direction(t) for t in zip(*(place[index].tolist() for index in part), strict=True)} for part in parts]

    assert as_sets(there, torch.arange(len(labels))) == as_sets(here, order)


def test_every_declared_miner_is_implemented_and_no_other():
    miners.build("all_pairs")
    assert set(IMPLEMENTATIONS) == set(miners.MINERS)


def test_building_a_miner_checks_its_name_and_parameters():
    with pytest.raises(UnknownNameError, match="did you mean 'batch_hard'"):
        miners.build("batch_hardest")
    with pytest.raises(UserError, match="random_hard_negative: margin lies between 0 and 100; got -1"):
        miners.build("random_hard_negative", margin=-1)
    with pytest.raises(UserError, match="all_pairs has no parameter 'margin'"):
        miners.build("all_pairs", margin=1)
