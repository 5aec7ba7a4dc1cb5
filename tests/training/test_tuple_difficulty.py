"""The pairs and triplets of a batch, classified as easy, semi-hard or hard."""

from itertools import product

import numpy as np
import pytest

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.ops.pairwise_numpy import distances
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.tuple_difficulty import EASY, HARD, SEMI_HARD, classify_tuples

POSITIONS = np.array([[0.0, 0], [0.3, 0], [0.9, 0], [1.0, 0], [2.5, 0], [2.6, 0]], np.float32)
LABELS = np.array([0, 0, 1, 1, 2, 2])


def batch(positions=POSITIONS, labels=LABELS, **fields):
    fixed = {"step": 1, "loss": 0.0, "active": 0.0, "images": np.arange(len(labels)), "labels": labels}
    arrays = {"embeddings_before": positions, "embeddings_after": positions, "gradient": np.zeros_like(positions)}
    return BatchRecord(**fixed | arrays | fields)


def config(loss, **fields):
    return TrainConfig(**{"dataset": "digits", "loss": loss, "embedding_dim": 2, "normalize": False} | fields)


def classify_by_loops(positions, labels, margin, d):
    """Map (anchor, positive, negative) to its difficulty, as FaceNet defines it."""
    n, kinds = len(labels), {}
    for a, p, m in product(range(n), repeat=3):
        if a != p and labels[a] == labels[p] and labels[a] != labels[m]:
            near, far = d[a, p], d[a, m]
            kinds[a, p, m] = HARD if far <= near else SEMI_HARD if far < near + margin else EASY
    return kinds


def test_triplet_counts_equal_those_of_a_naive_loop():
    random = np.random.default_rng(1)
    positions, labels = random.normal(size=(12, 2)).astype(np.float32), np.repeat(np.arange(4), 3)
    tuples = classify_tuples(config("triplet", miner=None, loss_params={"margin": 0.5}), batch(positions, labels))
    expected = classify_by_loops(positions, labels, 0.5, distances(positions, "euclidean"))
    assert tuples.counts == tuple(sum(kind == target for kind in expected.values()) for target in range(3))
    assert min(tuples.counts) > 0
    for row, kind in zip(tuples.indices.tolist(), tuples.difficulty, strict=True):
        assert expected[tuple(row)] == kind
    assert (tuples.kind, tuples.source) == ("triplets", "all")


def test_mined_triplets_are_returned_unchanged():
    rows = np.array([[0, 1, 2], [2, 3, 1], [4, 5, 0]])
    tuples = classify_tuples(config("triplet", loss_params={"margin": 0.7}), batch(triplets=rows, num_mined=3))
    np.testing.assert_array_equal(tuples.indices, rows)
    assert tuples.difficulty.tolist() == [SEMI_HARD, SEMI_HARD, EASY]
    assert tuples.source == "selection"


def test_pairs_on_the_wrong_side_of_the_boundary_are_hard():
    chosen = np.zeros((6, 6), bool)
    for i, j in ((0, 1), (1, 2), (0, 4), (0, 3)):
        chosen[i, j] = chosen[j, i] = True
    params = {"margin": 1.2, "pos_margin": 0.2}
    tuples = classify_tuples(config("contrastive", loss_params=params), batch(pairs=chosen, num_mined=4))
    by_pair = dict(zip(map(tuple, tuples.indices.tolist()), tuples.difficulty, strict=True))
    # The boundary lies at 0.7: a positive at 0.3 is right but pulled; negatives: 0.6 wrong, 1.0 pushed, 2.5 free.
    assert by_pair == {(0, 1): SEMI_HARD, (1, 2): HARD, (0, 3): SEMI_HARD, (0, 4): EASY}


def test_without_a_miner_every_pair_is_listed_once():
    tuples = classify_tuples(config("contrastive", miner=None), batch())
    assert len(tuples.indices) == sum(tuples.counts) == 15
    assert (tuples.indices[:, 0] < tuples.indices[:, 1]).all()


def test_structured_losses_list_each_positive_pair_with_its_nearest_negative():
    tuples = classify_tuples(config("nt_xent", normalize=True), batch())
    assert tuples.source == "nearest"
    assert len(tuples.indices) == 6
    d = distances(POSITIONS, "cosine")
    for a, _, n in tuples.indices:
        assert LABELS[a] != LABELS[n]
        assert d[a, n] == d[a, LABELS[a] != LABELS].min()


def test_an_image_of_a_proxy_loss_is_hard_if_another_class_scores_higher():
    weight = np.zeros((10, 2), np.float32)
    weight[:3] = [[1, 0], [0, 1], [-1, 0]]
    positions = np.array([[1, 0], [0.1, 0.9], [1, 0.2]], np.float32)
    terms = np.array([0.001, 0.5, 3.0])
    tuples = classify_tuples(
        config("arcface", normalize=True),
        batch(positions, np.array([0, 1, 2]), loss_weights={"weight": weight}, loss_per_image=terms),
    )
    assert tuples.kind == "classes"
    assert tuples.difficulty.tolist() == [EASY, SEMI_HARD, HARD]
    assert tuples.indices.tolist()[2] == [2, 2, 0]


def test_held_out_classes_do_not_shift_class_ids():
    weight = np.array([[1, 0], [0, 1]] + [[-1, 0]] * 5, np.float32)
    keeping = config("normalized_softmax", normalize=True, held_out_classes=(0, 2, 4))
    assert keeping.train_classes[:2] == (1, 3)
    positions = np.array([[1, 0.1], [0.9, 0.1]], np.float32)
    tuples = classify_tuples(
        keeping,
        batch(positions, np.array([1, 3]), loss_weights={"weight": weight}, loss_per_image=np.array([0.5, 2.0])),
    )
    assert tuples.indices.tolist() == [[0, 1, 3], [1, 3, 1]]
    assert tuples.difficulty.tolist() == [SEMI_HARD, HARD]


def test_prototypes_leave_out_one_query_image():
    tuples = classify_tuples(config("prototypical"), batch())
    assert tuples.kind == "classes"
    assert tuples.indices[:, 1].tolist() == LABELS.tolist()
    assert tuples.difficulty[4] != HARD


def test_a_weighted_sum_is_classified_by_its_tuple_loss():
    tuples = classify_tuples(
        config("weighted_sum", loss_params={"a": "softmax", "b": "triplet"}), batch(triplets=np.array([[0, 1, 2]]))
    )
    assert (tuples.kind, tuples.thresholds.margin) == ("triplets", 0.2)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_yields_classified_tuples(loss):
    d = 3
    positions = np.random.default_rng(0).normal(size=(12, d)).astype(np.float32)
    settings = config(loss, embedding_dim=d, miner=None)
    centers = settings.loss_params.get("centers", 1)
    weights = {"weight": np.ones((10 * centers, d), np.float32)} if LOSSES[loss].needs_classes else {}
    tuples = classify_tuples(settings, batch(positions, np.repeat(np.arange(4), 3), loss_weights=weights))
    assert len(tuples.indices) > 0
    assert len(tuples.indices) == len(tuples.difficulty) <= sum(tuples.counts)
    assert tuples.indices.shape[1] == (2 if tuples.kind == "pairs" else 3)


def test_a_single_image_yields_no_tuples():
    alone = batch(POSITIONS[:1], LABELS[:1])
    for loss in ("contrastive", "triplet", "nt_xent", "fastap"):
        assert classify_tuples(config(loss, miner=None), alone).counts == (0, 0, 0)


def test_thresholds_follow_a_learned_boundary():
    params = LOSSES["margin"].with_defaults({})
    assert LOSSES["margin"].thresholds_for(params, {}).decision_boundary == 1.2
    moved = LOSSES["margin"].thresholds_for(params, {"beta": np.array([0.9])})
    assert (moved.positive_threshold, moved.negative_threshold) == (pytest.approx(0.7), pytest.approx(1.1))


@pytest.mark.parametrize("measure", ["euclidean", "sqeuclidean", "cosine"])
def test_distances_equal_those_of_the_losses(measure):
    torch = pytest.importorskip("torch")
    from dmlviz.ops.pairwise import distance_matrix

    x = np.random.default_rng(3).normal(size=(9, 5)).astype(np.float32) + 50 * (measure != "cosine")
    expected = distance_matrix(torch.from_numpy(x), measure).numpy()
    np.testing.assert_allclose(distances(x, measure), expected, atol=2e-6, rtol=1e-5)
