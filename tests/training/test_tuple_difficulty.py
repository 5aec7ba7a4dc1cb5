"""What a loss compares in a batch, and what is easy, semi-hard and hard about it."""

from itertools import product

import numpy as np
import pytest

from dmlviz.catalog.loss_thresholds import distances, pair_thresholds
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.tuple_difficulty import EASY, HARD, SEMI_HARD, classify_tuples

PLACES = np.array([[0.0, 0], [0.3, 0], [0.9, 0], [1.0, 0], [2.5, 0], [2.6, 0]], np.float32)
LABELS = np.array([0, 0, 1, 1, 2, 2])


def batch(places=PLACES, labels=LABELS, **fields):
    given = {"step": 1, "loss": 0.0, "active": 0.0, "images": np.arange(len(labels)), "labels": labels}
    same = {"embeddings_before": places, "embeddings_after": places, "gradient": np.zeros_like(places)}
    return BatchRecord(**given | same | fields)


def config(loss, **fields):
    return TrainConfig(**{"dataset": "digits", "loss": loss, "embedding_dim": 2, "normalize": False} | fields)


def naive(places, labels, margin, d):
    """(anchor, positive, negative) -> kind, by the definitions of FaceNet."""
    n, found = len(labels), {}
    for a, p, m in product(range(n), repeat=3):
        if a != p and labels[a] == labels[p] and labels[a] != labels[m]:
            near, far = d[a, p], d[a, m]
            found[a, p, m] = HARD if far <= near else SEMI_HARD if far < near + margin else EASY
    return found


def test_every_triplet_of_a_batch_is_counted_as_the_naive_loop_counts():
    random = np.random.default_rng(1)
    places, labels = random.normal(size=(12, 2)).astype(np.float32), np.repeat(np.arange(4), 3)
    seen = classify_tuples(config("triplet", miner=None, loss_params={"margin": 0.5}), batch(places, labels))
    expected = naive(places, labels, 0.5, distances(places, "euclidean"))
    assert seen.counts == tuple(sum(kind == wanted for kind in expected.values()) for wanted in range(3))
    assert min(seen.counts) > 0
    for row, kind in zip(seen.indices.tolist(), seen.difficulty, strict=True):
        assert expected[tuple(row)] == kind
    assert (seen.kind, seen.source) == ("triplets", "all")


def test_mined_triplets_are_those_that_are_told():
    rows = np.array([[0, 1, 2], [2, 3, 1], [4, 5, 0]])
    seen = classify_tuples(config("triplet", loss_params={"margin": 0.7}), batch(triplets=rows, num_mined=3))
    np.testing.assert_array_equal(seen.indices, rows)
    assert seen.difficulty.tolist() == [SEMI_HARD, SEMI_HARD, EASY]
    assert seen.source == "selection"


def test_pairs_are_hard_on_the_wrong_side_of_the_boundary():
    chosen = np.zeros((6, 6), bool)
    for i, j in ((0, 1), (1, 2), (0, 4), (0, 3)):
        chosen[i, j] = chosen[j, i] = True
    params = {"margin": 1.2, "pos_margin": 0.2}
    seen = classify_tuples(config("contrastive", loss_params=params), batch(pairs=chosen, num_mined=4))
    told = dict(zip(map(tuple, seen.indices.tolist()), seen.difficulty, strict=True))
    # The boundary lies at 0.7: a positive at 0.3 is right but pulled; negatives: 0.6 wrong, 1.0 pushed, 2.5 free.
    assert told == {(0, 1): SEMI_HARD, (1, 2): HARD, (0, 3): SEMI_HARD, (0, 4): EASY}


def test_without_a_miner_a_pair_loss_sees_every_pair_once():
    seen = classify_tuples(config("contrastive", miner=None), batch())
    assert len(seen.indices) == sum(seen.counts) == 15
    assert (seen.indices[:, 0] < seen.indices[:, 1]).all()


def test_a_structured_loss_shows_each_positive_pair_with_its_nearest_negative():
    seen = classify_tuples(config("nt_xent", normalize=True), batch())
    assert seen.source == "nearest"
    assert len(seen.indices) == 6
    d = distances(PLACES, "cosine")
    for a, _, n in seen.indices:
        assert LABELS[a] != LABELS[n]
        assert d[a, n] == d[a, LABELS[a] != LABELS].min()


def test_images_of_a_proxy_loss_are_hard_where_another_class_wins():
    weight = np.zeros((10, 2), np.float32)
    weight[:3] = [[1, 0], [0, 1], [-1, 0]]
    places = np.array([[1, 0], [0.1, 0.9], [1, 0.2]], np.float32)
    terms = np.array([0.001, 0.5, 3.0])
    seen = classify_tuples(
        config("arcface", normalize=True),
        batch(places, np.array([0, 1, 2]), loss_weights={"weight": weight}, loss_per_image=terms),
    )
    assert seen.kind == "classes"
    assert seen.difficulty.tolist() == [EASY, SEMI_HARD, HARD]
    assert seen.indices.tolist()[2] == [2, 2, 0]


def test_classes_that_training_does_not_see_keep_the_others_names():
    weight = np.array([[1, 0], [0, 1]] + [[-1, 0]] * 5, np.float32)
    keeping = config("normalized_softmax", normalize=True, held_out_classes=(0, 2, 4))
    assert keeping.train_classes[:2] == (1, 3)
    places = np.array([[1, 0.1], [0.9, 0.1]], np.float32)
    seen = classify_tuples(
        keeping, batch(places, np.array([1, 3]), loss_weights={"weight": weight}, loss_per_image=np.array([0.5, 2.0]))
    )
    assert seen.indices.tolist() == [[0, 1, 3], [1, 3, 1]]
    assert seen.difficulty.tolist() == [SEMI_HARD, HARD]


def test_prototypes_leave_an_image_to_ask_about():
    seen = classify_tuples(config("prototypical"), batch())
    assert seen.kind == "classes"
    assert seen.indices[:, 1].tolist() == LABELS.tolist()
    assert seen.difficulty[4] != HARD


def test_the_part_of_a_sum_that_compares_is_shown():
    seen = classify_tuples(
        config("weighted_sum", loss_params={"a": "softmax", "b": "triplet"}), batch(triplets=np.array([[0, 1, 2]]))
    )
    assert (seen.kind, seen.thresholds.margin) == ("triplets", 0.2)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_has_something_to_show(loss):
    d = 3
    places = np.random.default_rng(0).normal(size=(12, d)).astype(np.float32)
    settings = config(loss, embedding_dim=d, miner=None)
    centers = settings.loss_params.get("centers", 1)
    learned = {"weight": np.ones((10 * centers, d), np.float32)} if LOSSES[loss].needs_classes else {}
    seen = classify_tuples(settings, batch(places, np.repeat(np.arange(4), 3), loss_weights=learned))
    assert len(seen.indices) > 0
    assert len(seen.indices) == len(seen.difficulty) <= sum(seen.counts)
    assert seen.indices.shape[1] == (2 if seen.kind == "pairs" else 3)


def test_a_batch_with_nothing_to_compare_is_no_fault():
    alone = batch(PLACES[:1], LABELS[:1])
    for loss in ("contrastive", "triplet", "nt_xent", "fastap"):
        assert classify_tuples(config(loss, miner=None), alone).counts == (0, 0, 0)


def test_the_reach_of_a_learned_boundary_moves_with_it():
    params = LOSSES["margin"].with_defaults({})
    assert pair_thresholds("margin", params, {}).decision_boundary == 1.2
    moved = pair_thresholds("margin", params, {"beta": np.array([0.9])})
    assert (moved.positive_threshold, moved.negative_threshold) == (pytest.approx(0.7), pytest.approx(1.1))


@pytest.mark.parametrize("measure", ["euclidean", "sqeuclidean", "cosine"])
def test_distances_are_those_of_the_losses(measure):
    torch = pytest.importorskip("torch")
    from dmlviz.ops.pairwise import distance_matrix

    x = np.random.default_rng(3).normal(size=(9, 5)).astype(np.float32) + 50 * (measure != "cosine")
    expected = distance_matrix(torch.from_numpy(x), measure).numpy()
    np.testing.assert_allclose(distances(x, measure), expected, atol=2e-6, rtol=1e-5)
