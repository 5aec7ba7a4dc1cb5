"""The events of a training, and how it ends."""

import gc

import numpy as np
import pytest
import torch

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset
from dmlviz.nets import build
from dmlviz.ops.pairwise import distance_matrix
from dmlviz.training.events import Embedded, Failed, Finished, Snapshot, Started, Step, Stopped, Stopping
from dmlviz.training.loop import checkpoint_steps, snapshot_steps, train


def test_events_come_in_order_starting_with_the_untrained_net(digits: Dataset, quick, of) -> None:
    events = list(train(quick(), data=digits))
    assert isinstance(events[0], Started)
    assert isinstance(events[1], Snapshot)
    assert events[1].step == 0
    assert [step.step for step in of(Step, events)] == list(range(1, 13))
    assert [shot.step for shot in of(Snapshot, events)] == snapshot_steps(12, 4)
    assert type(events[-1]) is Finished
    assert events[0].steps == events[-1].step == 12
    assert events[0].train_images + events[0].validation_images == len(digits.train)
    assert events[0].validation_images == 120
    assert events[0].device == "cpu" or torch.cuda.is_available()


def test_snapshots_embed_the_tracked_images_and_the_end_all_of_them(digits: Dataset, quick, of) -> None:
    events = list(train(quick(embedding_dim=3), data=digits))
    tracked, end = events[0].tracked_indices, events[-1]
    assert len(tracked) == 100
    for shot in of(Snapshot, events):
        assert shot.embeddings.shape == (100, 3)
        assert shot.embeddings.dtype == np.float32
        assert 0 <= shot.metrics["precision_at_1"] <= 1
    assert end.embeddings.shape == (len(digits.test), 3)
    assert "nmi" in end.metrics
    untrained = build("mlp", embedding_dim=3, size=8, seed=0).eval()
    pixels = torch.from_numpy(digits.test.images[tracked]).float()[:, None] / 255
    with torch.no_grad():
        expected = untrained((pixels - digits.mean) / digits.std)
    assert np.allclose(of(Snapshot, events)[0].embeddings, expected, atol=1e-4)


def test_step_values_equal_those_of_the_batch(digits: Dataset, quick, of) -> None:
    config = quick(loss="triplet", miner=None, steps=1, normalize=False, validation_fraction=0)
    step = of(Step, list(train(config, data=digits)))[0]
    from dmlviz.training import sampling

    batch = next(sampling.build(config, digits.train.labels, 0))
    net = build("mlp", embedding_dim=config.embedding_dim, normalize=False, size=8, seed=0)
    images = torch.from_numpy(digits.train.images[batch]).float()[:, None] / 255
    distances = distance_matrix(net((images - digits.mean) / digits.std).detach())
    labels = torch.from_numpy(digits.train.labels[batch])
    same = labels[:, None] == labels
    others = ~torch.eye(len(labels), dtype=torch.bool)
    assert step.positive_distance == pytest.approx(distances[same & others].mean().item(), rel=1e-4)
    assert step.negative_distance == pytest.approx(distances[~same].mean().item(), rel=1e-4)
    violations = 0.2 + distances[:, :, None] - distances[:, None, :]
    valid = (same & others)[:, :, None] & ~same[:, None, :]
    assert step.loss == pytest.approx(violations.clamp_min(0)[valid].mean().item(), rel=1e-4)
    assert step.active == pytest.approx((violations[valid] > 0).float().mean().item(), abs=1e-3)
    assert step.terms_per_image == pytest.approx(valid.sum().item() / len(labels))
    assert step.images_per_second > 0


def test_stop_ends_between_batches_and_embeds_all_test_images(digits: Dataset, quick, of) -> None:
    events: list[object] = []
    for event in train(quick(), data=digits, stop=lambda: len(of(Step, events)) == 5):
        events.append(event)
    assert len(of(Step, events)) == 5
    end = events[-1]
    assert type(end) is Stopped
    assert end.step == 5
    assert end.reason == "stopped by hand"
    assert end.embeddings.shape == (len(digits.test), 64)
    assert {"precision_at_1", "map_at_r", "nmi"} <= set(end.metrics)


def test_stop_before_the_first_batch_returns_the_untrained_net(digits: Dataset, quick) -> None:
    events = list(train(quick(), data=digits, stop=lambda: True))
    assert [type(event) for event in events] == [Started, Snapshot, Stopping, Embedded, Stopped]
    assert events[-1].step == 0


def test_stop_does_not_wait_for_the_final_scores(digits: Dataset, quick, of) -> None:
    events: list[object] = []
    asked: list[bool] = []
    for event in train(quick(), data=digits, stop=lambda: bool(asked)):
        events.append(event)
        if isinstance(event, Embedded):
            asked.append(True)
    assert [type(event) for event in events[-3:]] == [Embedded, Stopping, Stopped]
    end, tracked = events[-1], events[0].tracked_indices
    assert (end.step, end.reason) == (12, "stopped by hand")
    assert end.metrics["queries"] == len(tracked) < len(digits.test)
    assert {"precision_at_1", "map_at_r", "nmi"} <= set(end.metrics)
    assert "map" not in end.metrics


def test_stop_does_not_wait_for_a_snapshot(digits: Dataset, quick, of) -> None:
    events: list[object] = []
    asked: list[bool] = []
    for event in train(quick(num_snapshots=12), data=digits, stop=lambda: bool(asked)):
        events.append(event)
        if isinstance(event, Step) and event.step == 5:
            asked.append(True)
    assert 5 in snapshot_steps(12, 12)
    assert [event.step for event in of(Snapshot, events)][-1] < 5
    assert [type(event) for event in events[-3:]] == [Stopping, Embedded, Stopped]


def test_max_seconds_ends_a_long_training(digits: Dataset, quick) -> None:
    events = list(train(quick(steps=1_000_000, max_seconds=0.3, num_snapshots=1000), data=digits))
    assert type(events[-1]) is Stopped
    assert "max_seconds = 0.3" in events[-1].reason
    assert 0.3 <= events[-1].seconds < 10
    assert events[-1].step < 1_000_000


def _nets() -> set[int]:
    return {id(thing) for thing in gc.get_objects() if type(thing).__name__ == "EmbeddingNet"}


def test_closing_the_iterator_ends_the_training_and_frees_memory(digits: Dataset, quick) -> None:
    gc.collect()
    before = _nets()  # other tests may keep some
    events = train(quick(steps=10_000), data=digits)
    for _ in range(6):
        next(events)
    assert _nets() - before
    events.close()
    del events
    gc.collect()
    assert _nets() <= before


def test_a_diverging_training_fails_with_a_reason_after_its_last_finite_snapshot(digits: Dataset, quick, of) -> None:
    fields = {"net": "small", "loss": "softmax", "normalize": False, "optimizer": "sgd", "learning_rate": 10}
    config = quick(**fields, steps=300, num_snapshots=100, validation_fraction=0)
    events = list(train(config, data=digits))
    end = events[-1]
    assert type(end) is Failed
    assert f"The training diverged: step {end.step} gave " in end.reason
    assert "Try a smaller learning rate than 10" in end.reason
    assert all(np.isfinite(shot.embeddings).all() for shot in of(Snapshot, events))
    assert all(np.isfinite(step.loss) for step in of(Step, events))


def test_final_weights_reproduce_the_final_embeddings(digits: Dataset, quick) -> None:
    end = list(train(quick(net="protonet"), data=digits))[-1]
    net = build("protonet", size=8, seed=9).eval()
    net.load_state_dict({name: torch.from_numpy(value) for name, value in end.net_weights.items()})
    images = torch.from_numpy(digits.test.images).float()[:, None] / 255
    with torch.no_grad():
        embeddings = net((images - digits.mean) / digits.std)
    assert np.allclose(embeddings, end.embeddings, atol=1e-4)
    assert all(value.flags.c_contiguous for value in end.net_weights.values())


def test_snapshots_are_denser_at_the_start_and_exclude_the_last_step() -> None:
    steps = snapshot_steps(600, 60)
    assert steps[:4] == [0, 1, 4, 7]
    assert steps == sorted(set(steps))
    assert 600 not in steps
    gaps = np.diff([*steps, 600])
    assert gaps[:10].mean() < gaps[-10:].mean() / 2
    assert gaps.max() <= 16
    assert len(steps) <= 60
    assert snapshot_steps(3, 60) == [0, 1, 2]
    assert snapshot_steps(1, 1) == [0]


@pytest.mark.parametrize(("parameters", "kept"), [(1, 12), (155_000, 12), (400_000, 5), (600_000, 0), (11_000_000, 0)])
def test_checkpoints_are_evenly_spread_and_large_nets_have_none(parameters: int, kept: int) -> None:
    steps = snapshot_steps(600, 60)
    chosen = sorted(checkpoint_steps(steps, parameters))
    assert len(chosen) == kept
    assert not chosen or chosen[0] == 0
    places = [steps.index(step) for step in chosen]
    assert len(set(np.diff(places))) <= 2
    assert len(checkpoint_steps([0, 5, 9, 20], 1)) == 4
    assert checkpoint_steps([0, 5], 1) == set()


def test_checkpoints_reproduce_their_snapshots(digits: Dataset, quick) -> None:
    config = quick(net="mlp", embedding_dim=4, num_snapshots=6)
    snapshots = [event for event in train(config, data=digits) if isinstance(event, Snapshot)]
    assert [event.net_weights is not None for event in snapshots] == [True] * len(snapshots)
    tracked = next(event.tracked_indices for event in train(config, data=digits) if isinstance(event, Started))
    net = build("mlp", embedding_dim=4, normalize=True, channels=digits.channels, size=digits.size)
    images = torch.from_numpy(digits.test.images[tracked].astype(np.float32)).reshape(len(tracked), 1, 8, 8)
    for event in (snapshots[0], snapshots[-1]):
        net.load_state_dict({name: torch.from_numpy(value) for name, value in event.net_weights.items()})
        with torch.no_grad():
            again = net.eval()((images / 255 - digits.mean) / digits.std).numpy()
        assert np.allclose(again, event.embeddings, atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "centers"), [("arcface", 10), ("soft_triple", 100), ("center", 10), ("nt_xent", None)]
)
def test_class_centers_are_part_of_every_snapshot(loss, centers):
    config = TrainConfig(
        dataset="digits", net="mlp", loss=loss, embedding_dim=2, steps=2, num_snapshots=1, eval_subset_size=20
    )
    shown = [event.centers for event in train(config) if isinstance(event, Snapshot | Finished)]
    if centers is None:
        assert shown == [None, None]
        return
    assert [found.shape for found in shown] == [(centers, 2)] * 2
    if loss != "center":
        np.testing.assert_allclose(np.linalg.norm(shown[-1], axis=1), 1, rtol=1e-5)
