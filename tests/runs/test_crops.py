"""Test-time crops: shifted copies of an image, embedded and put together."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.ops.pairwise_numpy import distances
from dmlviz.runs.crops import combine, embed_crops, offsets, shift
from dmlviz.runs.training_run import train_and_record

CONFIG = TrainConfig(dataset="digits", net="mlp", embedding_dim=4, steps=5, num_snapshots=1, eval_subset_size=50)


def test_the_first_crop_is_the_image_itself_and_each_shift_comes_once() -> None:
    assert offsets(1) == [(0, 0)]
    assert sorted(offsets(9)) == [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    assert offsets(25)[0] == (0, 0)
    assert set(offsets(9)) < set(offsets(25))


@pytest.mark.parametrize("count", [0, 4, 8, 16, 49, -1])
def test_another_number_of_crops_is_refused(count: int) -> None:
    with pytest.raises(UserError, match=rf"1, 9 or 25; got {count}"):
        offsets(count)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_shift_moves_the_pixels_and_repeats_the_edge(channels: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 255, (5, 6, 7, *channels))
    moved = shift(images, 1, -2)
    assert moved.shape == images.shape
    assert np.array_equal(moved[:, 1:, :-2], images[:, :-1, 2:])
    assert np.array_equal(moved[:, 0, :-2], images[:, 0, 2:])
    assert np.array_equal(moved[:, :, -1], moved[:, :, -3])


def test_crops_are_put_together_by_mean_or_by_pca(runs) -> None:
    run = runs.create(CONFIG)
    for _ in train_and_record(run):
        pass
    data = load("digits")
    one = embed_crops(run, data.test.images, 1)
    np.testing.assert_allclose(one[:, 0], run.embeddings, atol=1e-5)
    nine = embed_crops(run, data.test.images, 9)
    np.testing.assert_allclose(nine[:, 0], run.embeddings, atol=1e-5)
    mean = combine(nine, "mean", run.config, nine)
    expected = sum(nine[:, i] for i in range(9))
    np.testing.assert_allclose(mean, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)
    fitted = embed_crops(run, data.train.images[:300], 9)
    reduced = combine(nine, "concatenation", run.config, fitted)
    peer = PCA(4).fit(fitted.reshape(300, -1)).transform(nine.reshape(len(nine), -1))
    np.testing.assert_allclose(distances(reduced, "euclidean"), distances(peer, "euclidean"), atol=1e-3)
