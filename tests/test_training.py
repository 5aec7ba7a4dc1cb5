"""What a training promises, on the digits that come with the program: seconds, not minutes."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from dmlviz import metrics
from dmlviz.batches import SeenBatch
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split, load
from dmlviz.errors import UserError
from dmlviz.events import Event, Failed, Finished, Snapshot, Started, Step, Stopped
from dmlviz.geometry import distance_matrix
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS
from dmlviz.nets import build
from dmlviz.training import kept_steps, snapshot_steps, train, warm_up


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def quick(**fields) -> TrainConfig:
    return TrainConfig(**{"dataset": "digits", "steps": 12, "snapshots": 4, "watched": 100} | fields)


def of(kind: type, events: list[Event]) -> list:
    return [event for event in events if type(event) is kind]


def equal(a: Event, b: Event) -> bool:
    """Whether all that is not a time is the same, bit for bit."""
    times = {"images_per_second", "cpu_seconds", "seconds"}
    for name in vars(a).keys() - times:
        one, other = getattr(a, name), getattr(b, name)
        if isinstance(one, dict):
            if one.keys() != other.keys() or not all(
                np.array_equal(one[key], other[key], equal_nan=True) for key in one
            ):
                return False
        elif not np.array_equal(one, other):
            return False
    return type(a) is type(b)


def test_events_come_in_order_and_the_untrained_picture_first(digits: Dataset) -> None:
    events = list(train(quick(), data=digits))
    assert isinstance(events[0], Started)
    assert isinstance(events[1], Snapshot)
    assert events[1].step == 0
    assert [step.step for step in of(Step, events)] == list(range(1, 13))
    assert [shot.step for shot in of(Snapshot, events)] == snapshot_steps(12, 4)
    assert type(events[-1]) is Finished
    assert events[0].steps == events[-1].step == 12
    assert events[0].train_images == len(digits.train)
    assert events[0].device == "cpu" or torch.cuda.is_available()


def test_snapshots_hold_the_watched_images_and_the_end_all_of_them(digits: Dataset) -> None:
    events = list(train(quick(embedding_dim=3), data=digits))
    watched, end = events[0].watched, events[-1]
    assert len(watched) == 100
    for shot in of(Snapshot, events):
        assert shot.embeddings.shape == (100, 3)
        assert shot.embeddings.dtype == np.float32
        assert 0 <= shot.metrics["precision_at_1"] <= 1
    assert end.embeddings.shape == (len(digits.test), 3)
    assert "nmi" in end.metrics
    untrained = build("small", embedding_dim=3, size=8, seed=0).eval()
    pixels = torch.from_numpy(digits.test.images[watched]).float()[:, None] / 255
    with torch.no_grad():
        expected = untrained((pixels - digits.mean) / digits.std)
    assert np.allclose(of(Snapshot, events)[0].embeddings, expected, atol=1e-4)


@pytest.mark.parametrize("net", ["small", "lenet", "mlp", "protonet"])
@pytest.mark.parametrize("normalize", [True, False])
def test_a_few_steps_teach_digits(digits: Dataset, net: str, normalize: bool) -> None:
    config = quick(loss="nt_xent", net=net, normalize=normalize, steps=30, learning_rate=4e-3, embedding_dim=32)
    events = list(train(config, data=digits))
    steps = of(Step, events)
    assert np.mean([step.loss for step in steps[-5:]]) < 0.7 * np.mean([step.loss for step in steps[:5]])
    assert events[-1].metrics["precision_at_1"] > 0.9
    assert events[-1].metrics["map_at_r"] > of(Snapshot, events)[0].metrics["map_at_r"] + 0.1


@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_trains_as_recommended(digits: Dataset, loss: str) -> None:
    config = quick(loss=loss, steps=6, classes_per_batch=5, images_per_class=6, batch_size=30)
    end = list(train(config, data=digits))[-1]
    assert type(end) is Finished, getattr(end, "reason", "")
    assert np.isfinite(end.embeddings).all()


@pytest.mark.parametrize("miner", list(MINERS))
def test_every_miner_trains_with_a_loss_that_takes_it(digits: Dataset, miner: str) -> None:
    loss = "triplet" if MINERS[miner].makes == "triplets" else "contrastive"
    config = quick(loss=loss, miner=miner, steps=45, classes_per_batch=5, images_per_class=6)
    events = list(train(config, data=digits))
    assert type(events[-1]) is Finished, getattr(events[-1], "reason", "")
    assert any(step.active > 0 for step in of(Step, events))


@pytest.mark.parametrize(
    ("sampler", "loss"),
    [("random_pairs", "contrastive"), ("random_triplets", "triplet"), ("episodes", "prototypical")],
)
def test_classical_batches_teach_digits(digits: Dataset, sampler: str, loss: str) -> None:
    config = quick(loss=loss, sampler=sampler, batch_size=120, steps=100, embedding_dim=32)
    assert list(train(config, data=digits))[-1].metrics["precision_at_1"] > 0.9


@pytest.mark.parametrize(("sampler", "loss"), [("random_pairs", "contrastive"), ("random_triplets", "triplet")])
def test_the_loss_sees_only_the_pairs_and_triplets_that_were_drawn(digits: Dataset, sampler: str, loss: str) -> None:
    from dmlviz.data import sampling

    config = quick(loss=loss, sampler=sampler, batch_size=60, steps=1)
    step = of(Step, list(train(config, data=digits)))[0]
    batch = next(sampling.build(config, digits.train.labels, 0))
    net = build("small", embedding_dim=config.embedding_dim, normalize=config.normalize, size=8, seed=0)
    images = torch.from_numpy(digits.train.images[batch]).float()[:, None] / 255
    points = net((images - digits.mean) / digits.std).detach()
    if loss == "contrastive":
        d = (points[0::2] - points[1::2]).norm(dim=1)
        same = torch.arange(30) % 2 == 0
        expected = torch.where(same, d**2, (1 - d).clamp_min(0) ** 2).mean()
    else:
        a, p, n = (points[start::3] for start in range(3))
        expected = (0.2 + (a - p).norm(dim=1) - (a - n).norm(dim=1)).clamp_min(0).mean()
    assert step.loss == pytest.approx(expected.item(), rel=1e-3)


@pytest.mark.parametrize(
    "fields",
    [
        {"loss": "triplet", "miner": "random_hard_negative"},
        {"loss": "softmax", "embedding_dim": 2, "optimizer": "sgd"},
        {"loss": "nt_xent", "net": "protonet"},
        {"loss": "contrastive", "miner": "balanced_pairs", "schedule": "linear", "weight_decay": 1e-4},
    ],
)
def test_the_same_config_gives_the_same_numbers_bit_for_bit(digits: Dataset, fields: dict) -> None:
    first, again = (list(train(quick(**fields), data=digits)) for _ in range(2))
    assert len(first) == len(again)
    assert all(equal(a, b) for a, b in zip(first, again, strict=True))
    other = list(train(quick(**fields, seed=1), data=digits))
    assert not np.array_equal(first[-1].embeddings, other[-1].embeddings)


def test_no_global_random_state_is_used_or_touched(digits: Dataset) -> None:
    torch.manual_seed(1)
    first = list(train(quick(), data=digits))[-1]
    before = torch.random.get_rng_state()
    torch.manual_seed(2)
    again = list(train(quick(), data=digits))[-1]
    assert np.array_equal(first.embeddings, again.embeddings)
    torch.manual_seed(1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_two_trainings_taken_in_turns_do_not_disturb_each_other(digits: Dataset) -> None:
    alone = [list(train(quick(seed=seed), data=digits)) for seed in (0, 1)]
    together = list(zip(*(train(quick(seed=seed), data=digits) for seed in (0, 1)), strict=True))
    assert all(equal(a, pair[0]) and equal(b, pair[1]) for a, b, pair in zip(*alone, together, strict=True))


def test_live_figures_are_those_of_the_batch(digits: Dataset) -> None:
    config = quick(loss="triplet", miner=None, steps=1, normalize=False)
    step = of(Step, list(train(config, data=digits)))[0]
    from dmlviz.data import sampling

    batch = next(sampling.build(config, digits.train.labels, 0))
    net = build("small", embedding_dim=config.embedding_dim, normalize=False, size=8, seed=0)
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
    assert step.images_per_second > 0


def test_stop_ends_between_batches_with_everything_embedded(digits: Dataset) -> None:
    asked = iter([False] * 5 + [True] * 99)
    events = list(train(quick(), data=digits, stop=lambda: next(asked)))
    assert len(of(Step, events)) == 5
    end = events[-1]
    assert type(end) is Stopped
    assert end.step == 5
    assert end.reason == "stopped by hand"
    assert end.embeddings.shape == (len(digits.test), 64)
    assert {"precision_at_1", "map_at_r", "nmi"} <= set(end.metrics)


def test_stop_before_the_first_batch_gives_the_untrained_net(digits: Dataset) -> None:
    events = list(train(quick(), data=digits, stop=lambda: True))
    assert [type(event) for event in events] == [Started, Snapshot, Stopped]
    assert events[-1].step == 0


def test_max_seconds_ends_a_training_that_would_take_days(digits: Dataset) -> None:
    events = list(train(quick(steps=1_000_000, max_seconds=0.3, snapshots=1000), data=digits))
    assert type(events[-1]) is Stopped
    assert "max_seconds = 0.3" in events[-1].reason
    assert 0.3 <= events[-1].seconds < 10
    assert 0 < events[-1].step < 1_000_000


def test_closing_the_iterator_ends_the_training_and_frees_it(digits: Dataset) -> None:
    events = train(quick(steps=10_000), data=digits)
    for _ in range(6):
        next(events)
    events.close()
    del events
    gc.collect()
    held = [thing for thing in gc.get_objects() if type(thing).__name__ == "EmbeddingNet"]
    assert held == []


def test_a_diverging_training_fails_with_a_sentence_and_keeps_what_was_good(digits: Dataset) -> None:
    config = quick(loss="softmax", normalize=False, optimizer="sgd", learning_rate=10, steps=300, snapshots=100)
    events = list(train(config, data=digits))
    end = events[-1]
    assert type(end) is Failed
    assert f"The training diverged: step {end.step} gave " in end.reason
    assert "Try a smaller learning rate than 10" in end.reason
    assert all(np.isfinite(shot.embeddings).all() for shot in of(Snapshot, events))
    assert all(np.isfinite(step.loss) for step in of(Step, events))


def test_weights_give_back_the_final_embeddings(digits: Dataset) -> None:
    end = list(train(quick(net="protonet"), data=digits))[-1]
    net = build("protonet", size=8, seed=9).eval()
    net.load_state_dict({name: torch.from_numpy(value) for name, value in end.weights.items()})
    images = torch.from_numpy(digits.test.images).float()[:, None] / 255
    with torch.no_grad():
        embeddings = net((images - digits.mean) / digits.std)
    assert np.allclose(embeddings, end.embeddings, atol=1e-4)
    assert all(value.flags.c_contiguous for value in end.weights.values())


def test_a_loss_with_weights_of_its_own_trains_them_at_its_own_rate(digits: Dataset) -> None:
    def final(rate: float | None) -> np.ndarray:
        config = quick(loss="arcface", loss_learning_rate=rate, steps=5)
        return list(train(config, data=digits))[-1].embeddings

    usual = TrainConfig(loss="arcface").learning_rate
    assert np.array_equal(final(None), final(usual))
    assert not np.array_equal(final(None), final(50 * usual if 50 * usual <= 10 else 10))


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_falling_schedule_moves_the_weights_less(digits: Dataset, schedule: str) -> None:
    start = build("small", size=8, seed=0).state_dict()

    def moved(schedule: str) -> float:
        config = quick(schedule=schedule, optimizer="sgd", momentum=0.0, learning_rate=0.1)
        weights = list(train(config, data=digits))[-1].weights
        return sum(float(np.linalg.norm(value - start[name].numpy())) for name, value in weights.items())

    assert 0.2 * moved("constant") < moved(schedule) < moved("constant")


@pytest.mark.parametrize("loss", ["triplet", "arcface", "hierarchical_triplet"])
def test_unseen_classes_are_never_trained_on_and_are_scored_apart(digits: Dataset, loss: str) -> None:
    config = quick(loss=loss, unseen_classes=(0, 4, 9), images_per_class=8)
    events = list(train(config, data=digits))
    kept = ~np.isin(digits.train.labels, config.unseen_classes)
    assert events[0].train_images == kept.sum()
    # With those classes' images gone from the data, and numbered as they are, everything is the same.
    without = Dataset(
        digits.name,
        digits.classes,
        Split(digits.train.images[kept], digits.train.labels[kept]),
        digits.test,
        digits.mean,
        digits.std,
    )
    again = list(train(config, data=without))
    assert np.array_equal(events[-1].embeddings, again[-1].embeddings)
    for batch in of(SeenBatch, events):
        assert np.array_equal(batch.labels, digits.train.labels[batch.images])
        assert not np.isin(batch.labels, config.unseen_classes).any()
    rows = np.isin(digits.test.labels, config.unseen_classes)
    alone = metrics.evaluate(events[-1].embeddings[rows], digits.test.labels[rows])
    assert alone == {key: events[-1].metrics[f"unseen/{key}"] for key in alone}
    assert all("seen/precision_at_1" in shot.metrics for shot in of(Snapshot, events))


def test_fewer_training_images_on_request(digits: Dataset) -> None:
    events = list(train(quick(train_images=200, images_per_class=8), data=digits))
    assert events[0].train_images == 200
    first, again = (
        list(train(quick(train_images=200, images_per_class=8), data=data))[-1]
        for data in (
            digits,
            Dataset(
                digits.name,
                digits.classes,
                Split(digits.train.images[:200], digits.train.labels[:200]),
                digits.test,
                digits.mean,
                digits.std,
            ),
        )
    )
    assert np.array_equal(first.embeddings, again.embeddings)


def test_more_of_a_class_than_there_is_is_one_sentence(digits: Dataset) -> None:
    with pytest.raises(UserError, match=r"takes K = 400 images of a class; class \d has 11\d"):
        next(train(quick(images_per_class=400), data=digits))


def test_colour_images_train_as_well() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 4
    images = rng.integers(0, 80, (80, 16, 16, 3)).astype(np.uint8)
    images[..., 0] += (labels * 40).astype(np.uint8)[:, None, None]
    split = Split(images, labels)
    data = Dataset("colours", ("a", "b", "c", "d"), split, split, 0.2, 0.2)
    config = quick(classes_per_batch=4, images_per_class=8, steps=25)
    assert list(train(config, data=data))[-1].metrics["precision_at_1"] > 0.9


def test_looks_are_denser_at_the_start_and_never_at_the_end() -> None:
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
def test_small_nets_are_kept_evenly_and_large_ones_not_at_all(parameters: int, kept: int) -> None:
    steps = snapshot_steps(600, 60)
    chosen = sorted(kept_steps(steps, parameters))
    assert len(chosen) == kept
    assert not chosen or chosen[0] == 0
    places = [steps.index(step) for step in chosen]
    assert len(set(np.diff(places))) <= 2
    assert len(kept_steps([0, 5, 9, 20], 1)) == 4
    assert kept_steps([0, 5], 1) == set()


def test_the_nets_on_the_way_are_those_of_their_snapshots(digits: Dataset) -> None:
    config = quick(net="mlp", embedding_dim=4, snapshots=6)
    snapshots = [event for event in train(config, data=digits) if isinstance(event, Snapshot)]
    assert [event.weights is not None for event in snapshots] == [True] * len(snapshots)
    watched = next(event.watched for event in train(config, data=digits) if isinstance(event, Started))
    net = build("mlp", embedding_dim=4, normalize=True, channels=digits.channels, size=digits.size)
    images = torch.from_numpy(digits.test.images[watched].astype(np.float32)).reshape(len(watched), 1, 8, 8)
    for event in (snapshots[0], snapshots[-1]):
        net.load_state_dict({name: torch.from_numpy(value) for name, value in event.weights.items()})
        with torch.no_grad():
            again = net.eval()((images / 255 - digits.mean) / digits.std).numpy()
        assert np.allclose(again, event.embeddings, atol=1e-5)


def test_warming_up_once_makes_the_first_step_quick() -> None:
    code = """
import sys, time, torch
torch.set_num_threads(1)
from dmlviz.training import train, warm_up
from dmlviz import TrainConfig
from dmlviz.data import load
warm_up()
digits = load("digits")
start = time.process_time()
events = train(TrainConfig(dataset="digits", steps=5), data=digits)
kinds = [type(next(events)).__name__ for _ in range(3)]
assert kinds == ["Started", "Snapshot", "Step"], kinds
assert time.process_time() - start < 0.5, time.process_time() - start
assert "torch._dynamo" not in sys.modules  # two seconds of imports, for a compiler that nothing here uses
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_warming_up_leaves_no_trace() -> None:
    before = torch.random.get_rng_state()
    warm_up()
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("loss", "centres"), [("arcface", 10), ("soft_triple", 100), ("center", 10), ("nt_xent", None)]
)
def test_a_loss_with_class_centres_shows_them_with_every_snapshot(loss, centres):
    config = TrainConfig(dataset="digits", net="mlp", loss=loss, embedding_dim=2, steps=2, snapshots=1, watched=20)
    shown = [event.centres for event in train(config) if isinstance(event, Snapshot | Finished)]
    if centres is None:
        assert shown == [None, None]
        return
    assert [found.shape for found in shown] == [(centres, 2)] * 2
    if loss != "center":
        np.testing.assert_allclose(np.linalg.norm(shown[-1], axis=1), 1, rtol=1e-5)
