"""Recorded batches: small, exact, and without effect on the training."""

import io

import numpy as np
import pytest
import torch

from dmlviz import losses
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset
from dmlviz.errors import DamagedFileError
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets
from dmlviz.runs.run import RunNotFoundError
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.training import loop
from dmlviz.training.batch_record import MAX_TOTAL_BYTES, NUM_RECORDED, BatchRecord, recorded_steps


def quick(**fields) -> TrainConfig:
    small = {"dataset": "digits", "net": "mlp", "steps": 8, "num_snapshots": 2, "eval_subset_size": 50}
    return TrainConfig(**small | {"classes_per_batch": 5, "images_per_class": 4, "batch_size": 20} | fields)


def batches(config: TrainConfig, data: Dataset) -> list[BatchRecord]:
    return [event for event in loop.train(config, data=data) if isinstance(event, BatchRecord)]


def round_trip(batch: BatchRecord, tmp_path) -> BatchRecord:
    with open(tmp_path / "batch.npz", "wb") as file:
        batch.save(file)
    return BatchRecord.load(tmp_path / "batch.npz")


@pytest.mark.slow
@pytest.mark.parametrize("fields", [{}, {"loss": "arcface"}, {"net": "protonet"}], ids=["pairs", "proxies", "norms"])
def test_recording_batches_does_not_change_the_training(digits, monkeypatch, fields):
    config = quick(**fields)
    recorded = list(loop.train(config, data=digits))
    monkeypatch.setattr(loop, "recorded_steps", lambda config: [])
    plain = list(loop.train(config, data=digits))
    assert len(recorded) == len(plain) + len(recorded_steps(config))
    for name, weights in plain[-1].net_weights.items():
        assert np.array_equal(weights, recorded[-1].net_weights[name]), name
    assert np.array_equal(plain[-1].embeddings, recorded[-1].embeddings)
    step_losses = [[event.loss for event in events if type(event).__name__ == "Step"] for events in (recorded, plain)]
    assert step_losses[0] == step_losses[1]


def test_recorded_steps_include_first_and_last_and_are_denser_at_the_start():
    steps = recorded_steps(TrainConfig(dataset="mnist", steps=600))
    assert len(steps) == NUM_RECORDED
    assert (steps[0], steps[-1]) == (1, 600)
    assert np.all(np.diff(np.diff(steps)) >= 0)
    assert recorded_steps(TrainConfig(dataset="mnist", steps=1)) == [1]
    assert recorded_steps(TrainConfig(dataset="mnist", steps=3)) == [1, 2, 3]


def test_large_batches_are_recorded_less_often_and_huge_ones_never():
    wide = TrainConfig(dataset="mnist", images_per_class=60, embedding_dim=512)
    count = len(recorded_steps(wide))
    assert 1 <= count < NUM_RECORDED
    assert count * 600 * 512 * 4 <= MAX_TOTAL_BYTES
    assert recorded_steps(TrainConfig(dataset="mnist", images_per_class=65)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "miner"),
    [
        ("contrastive", "hard_negative_pairs"),
        ("contrastive", None),
        ("triplet", "random_hard_negative"),
        ("multi_similarity", "multi_similarity"),
        ("nt_xent", None),
        ("margin", "distance_weighted"),
        ("arcface", None),
        ("center", None),
        ("weighted_sum", None),
    ],
)
def test_a_recorded_batch_reproduces_loss_and_gradient(digits, loss, miner):
    config = quick(loss=loss, miner=miner, embedding_dim=16)
    first, *_, last = batches(config, digits)
    for batch in (first, last):
        rebuilt = losses.build(loss, embedding_dim=16, num_classes=10, seed=0, **config.loss_params)
        rebuilt.load_state_dict({name: torch.from_numpy(value) for name, value in batch.loss_weights.items()})
        x = torch.from_numpy(batch.embeddings_before).requires_grad_()
        labels, tuples = torch.from_numpy(batch.labels), None
        if batch.triplets is not None:
            tuples = Triplets(*torch.from_numpy(batch.triplets).unbind(1))
        elif batch.pairs is not None:
            selected = torch.from_numpy(batch.pairs if batch.is_anchored else np.triu(batch.pairs))
            same = labels[:, None] == labels
            positive, negative = (selected & same).nonzero(as_tuple=True), (selected & ~same).nonzero(as_tuple=True)
            tuples = (AnchoredPairs if batch.is_anchored else Pairs)(*positive, *negative)
        value = rebuilt(x, labels, tuples)
        value.backward()
        assert value.item() == pytest.approx(batch.loss, rel=1e-5)
        assert x.grad is not None
        np.testing.assert_allclose(batch.gradient, x.grad, atol=1e-4 * np.abs(batch.gradient).max())


def test_images_index_the_training_set_and_embeddings_move(digits):
    for batch in batches(quick(), digits):
        np.testing.assert_array_equal(digits.train.labels[batch.images], batch.labels)
        assert np.abs(batch.embeddings_after - batch.embeddings_before).max() > 1e-4


@pytest.mark.parametrize(("sampler", "loss"), [("random_pairs", "contrastive"), ("random_triplets", "triplet")])
def test_tuples_of_a_sampler_are_recorded(digits, sampler, loss):
    batch = batches(quick(sampler=sampler, loss=loss, batch_size=24), digits)[0]
    if loss == "triplet":
        np.testing.assert_array_equal(batch.triplets, np.arange(24).reshape(8, 3))
        assert batch.num_mined == 8
    else:
        expected = np.zeros((24, 24), bool)
        expected[range(0, 24, 2), range(1, 24, 2)] = True
        np.testing.assert_array_equal(batch.pairs, expected | expected.T)
        assert batch.num_mined == 12


@pytest.mark.parametrize("width", [2, 64])
def test_a_batch_round_trips_through_a_file_within_rounding(digits, tmp_path, width):
    batch = batches(quick(embedding_dim=width, loss="triplet"), digits)[-1]
    loaded = round_trip(batch, tmp_path)
    for name in ("step", "loss", "active", "is_anchored", "num_mined"):
        assert getattr(loaded, name) == getattr(batch, name)
    for name in ("images", "labels", "triplets"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(batch, name))
    exact = width == 2
    assert np.abs(loaded.embeddings_before - batch.embeddings_before).max() <= (0 if exact else 2e-5)
    moved, gradient = np.abs(batch.embeddings_after - batch.embeddings_before).max(), np.abs(batch.gradient).max()
    assert np.abs(loaded.embeddings_after - batch.embeddings_after).max() <= 1e-6 + (0 if exact else moved / 200)
    assert np.abs(loaded.gradient - batch.gradient).max() <= (0 if exact else gradient / 200)


def test_pairs_loss_weights_and_per_image_losses_round_trip(digits, tmp_path):
    arcface = batches(quick(loss="arcface"), digits)[0]
    loaded = round_trip(arcface, tmp_path)
    assert loaded.loss_weights.keys() == {"weight"}
    np.testing.assert_allclose(loaded.loss_weights["weight"], arcface.loss_weights["weight"], atol=2e-5)
    assert loaded.loss_per_image.mean() == pytest.approx(arcface.loss, rel=1e-5)
    mined = batches(quick(loss="multi_similarity", miner="multi_similarity"), digits)[0]
    np.testing.assert_array_equal(round_trip(mined, tmp_path).pairs, mined.pairs)
    assert round_trip(mined, tmp_path).is_anchored
    assert mined.pairs.sum() == mined.num_mined


def test_zero_gradients_and_collapsed_embeddings_round_trip(tmp_path):
    flat = np.zeros((3, 16), np.float32)
    batch = BatchRecord(
        step=1,
        loss=0.0,
        active=0.0,
        images=np.arange(3),
        labels=np.arange(3),
        embeddings_before=flat,
        embeddings_after=flat,
        gradient=flat,
    )
    loaded = round_trip(batch, tmp_path)
    for part in (loaded.embeddings_before, loaded.embeddings_after, loaded.gradient):
        np.testing.assert_array_equal(part, flat)
    assert loaded.pairs is None
    assert loaded.triplets is None


def test_the_batches_of_a_default_run_take_less_than_420_kb():
    random = np.random.default_rng(0)
    x = random.normal(size=(160, 64)).astype(np.float32)
    anchors = np.arange(2400) // 15  # as miners list them: every positive of every anchor in turn
    before, file = x / np.linalg.norm(x, axis=1, keepdims=True), io.BytesIO()
    BatchRecord(
        step=1,
        loss=1.0,
        active=1.0,
        images=random.integers(0, 60_000, 160),
        labels=np.repeat(np.arange(10), 16),
        embeddings_before=before,
        embeddings_after=before + x * 0.01,
        gradient=x * 0.001,
        triplets=np.stack([anchors, anchors, random.integers(0, 160, 2400)], axis=1),
        num_mined=2400,
    ).save(file)
    assert len(file.getvalue()) * NUM_RECORDED < 420_000


def test_a_run_logs_and_stores_its_batches(tmp_path, digits):
    run = Runs(tmp_path).create(quick())
    for _ in train_and_record(run, data=digits):
        for logged in (event for event in run.events() if event["event"] == "batch"):
            assert run.batch(logged["step"]).loss == logged["loss"]
    logged = [event for event in run.events() if event["event"] == "batch"]
    assert [event["step"] for event in logged] == run.recorded_batch_steps == recorded_steps(quick())
    assert logged[0]["images"] == 20
    with pytest.raises(RunNotFoundError, match="no batch of step 9"):
        run.batch(9)


def test_an_invalid_batch_file_is_one_sentence(tmp_path, digits):
    run = Runs(tmp_path).create(quick(loss="triplet"))
    list(train_and_record(run, data=digits))
    path = run.path / "batches" / "1.npz"
    with np.load(path) as stored:
        whole = dict(stored)
    for name, wrong in (
        ("triplets", whole["triplets"] + 200),
        ("images", whole["images"][1:]),
        ("labels", np.zeros(0)),
    ):
        np.savez(path, **whole | {name: wrong})
        with pytest.raises(DamagedFileError, match=r"batches/1.npz .* cannot be read"):
            run.batch(1)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DamagedFileError, match=r"batches/1.npz .* cannot be read"):
        run.batch(1)
