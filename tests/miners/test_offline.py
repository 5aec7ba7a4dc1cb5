"""Offline hard negatives: of the whole training set, kept between refreshes, added to the batch."""

import numpy as np
import pytest
import torch

from dmlviz import miners
from dmlviz.losses import build as build_loss
from dmlviz.training.refresh import NeedsTrainEmbeddings, refresh_in_chunks

N, K = 120, 4


@pytest.fixture
def training_set():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(N, 6, generator=generator), torch.randint(0, 5, (N,), generator=generator)


@pytest.fixture
def mine(training_set):
    miner = miners.build("offline_hard", seed=3, negatives=K)
    miner.refresh(*training_set)
    return miner


def hardest(training_set, anchor):
    embeddings, labels = training_set
    d = (embeddings - embeddings[anchor]).norm(dim=1)
    others = [i for i in range(N) if labels[i] != labels[anchor]]
    return set(sorted(others, key=lambda i: d[i])[:K])


def drawn(miner, training_set, batch):
    """Pairs (anchor, negative) as training image numbers, of one completed and mined batch."""
    embeddings, labels = training_set
    completed = miner.extend_batch(batch)
    triplets = miner(embeddings[completed], labels[completed])
    assert (labels[completed][triplets.a] == labels[completed][triplets.p]).all()
    return completed, [(completed[a], completed[p], completed[n]) for a, p, n in zip(*triplets, strict=True)]


def test_every_positive_pair_gets_one_of_its_anchors_hardest_negatives_of_the_training_set(mine, training_set):
    batch = np.arange(0, 60, 3)
    completed, triplets = drawn(mine, training_set, batch)
    labels = training_set[1]
    assert completed[: len(batch)].tolist() == batch.tolist()
    assert len(set(completed)) == len(completed)
    assert all(n in hardest(training_set, a) for a, _, n in triplets)
    expected = {(a, p) for a in batch for p in batch if a != p and labels[a] == labels[p]}
    assert {(a, p) for a, p, _ in triplets} == expected


def test_all_kept_negatives_are_drawn_in_time(mine, training_set):
    partner = next(i for i in range(1, N) if training_set[1][i] == training_set[1][0])
    found = {n for _ in range(60) for a, _, n in drawn(mine, training_set, np.array([0, partner]))[1] if a == 0}
    assert found == hardest(training_set, 0)


def test_a_refresh_forgets_what_was_kept(mine, training_set):
    mine.extend_batch(np.arange(N))
    moved = training_set[0].flip(0).contiguous(), training_set[1]
    mine.refresh(*moved)
    _, triplets = drawn(mine, moved, np.arange(30))
    assert triplets
    assert all(n in hardest(moved, a) for a, _, n in triplets)


def test_without_a_refresh_the_batch_is_left_as_it_is_and_mined_for_its_own_hardest(training_set):
    embeddings, labels = training_set
    batch = np.arange(20)
    miner = miners.build("offline_hard")
    assert miner.extend_batch(batch) is batch
    expected = miners.build("hardest_negative")(embeddings[:20], labels[:20])
    assert all(torch.equal(a, b) for a, b in zip(miner(embeddings[:20], labels[:20]), expected, strict=True))


@pytest.mark.parametrize("labels", [[0] * 6, list(range(6)), [0, 0, 0, 0, 0, 1]])
def test_a_training_set_with_few_negatives_gives_what_there_is(labels):
    embeddings, labels = torch.randn(6, 3), torch.tensor(labels)
    miner = miners.build("offline_hard", negatives=100)
    miner.refresh(embeddings, labels)
    completed = miner.extend_batch(np.arange(6))
    triplets = miner(embeddings[completed], labels[completed])
    pairs_with_negative = [(a, p) for a in range(6) for p in range(6) if a != p and labels[a] == labels[p]]
    assert len(triplets.a) == (0 if len(labels.unique()) == 1 else len(pairs_with_negative))
    assert (labels[triplets.a] != labels[triplets.n]).all()


def test_a_space_with_nan_in_it_is_no_obstacle(training_set):
    embeddings, labels = training_set
    miner = miners.build("offline_hard")
    miner.refresh(embeddings.masked_fill(torch.arange(N)[:, None] == 5, torch.nan), labels)
    completed = miner.extend_batch(np.arange(10))
    assert (labels[completed][miner(embeddings[completed], labels[completed]).n] >= 0).all()


def test_equal_seeds_draw_equally(training_set):
    first, second = (miners.build("offline_hard", seed=4) for _ in range(2))
    for miner in (first, second):
        miner.refresh(*training_set)
    for _ in range(3):
        assert first.extend_batch(np.arange(40)).tolist() == second.extend_batch(np.arange(40)).tolist()


def test_refreshing_hands_over_the_whole_set_one_chunk_at_a_step(training_set):
    embeddings, labels = training_set
    miner, seen = miners.build("offline_hard", negatives=K), []

    def embed(which):
        seen.append(which)
        return embeddings[which]

    assert isinstance(miner, NeedsTrainEmbeddings)
    assert not isinstance(build_loss("triplet"), NeedsTrainEmbeddings)
    work = refresh_in_chunks(miner, embed, labels, chunk=50)
    for done in range(1, 4):
        next(work)
        assert len(seen) == done
        assert len(miner.extend_batch(np.arange(10))) == 10  # not yet
    assert next(work, "done") == "done"
    _, triplets = drawn(miner, training_set, np.arange(10))
    assert all(n in hardest(training_set, a) for a, _, n in triplets)
