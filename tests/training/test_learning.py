"""What a training learns, and from which images."""

import numpy as np
import pytest
import torch

from dmlviz import metrics
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split, load
from dmlviz.miners.offline import OfflineHard
from dmlviz.nets import build
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.events import Finished, Snapshot, Step
from dmlviz.training.loop import train

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("net", "normalize"), [("small", True), ("small", False), ("lenet", True), ("mlp", False), ("protonet", True)]
)
def test_every_net_learns_digits_in_a_few_steps(digits: Dataset, net: str, normalize: bool, quick, of) -> None:
    config = quick(loss="nt_xent", net=net, normalize=normalize, steps=35, learning_rate=4e-3, embedding_dim=32)
    events = list(train(config, data=digits))
    steps = of(Step, events)
    assert np.mean([step.loss for step in steps[-5:]]) < 0.7 * np.mean([step.loss for step in steps[:5]])
    assert events[-1].metrics["precision_at_1"] > 0.9
    assert events[-1].metrics["map_at_r"] > of(Snapshot, events)[0].metrics["map_at_r"] + 0.1


@pytest.mark.sample(10)
@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_trains_with_its_recommended_settings(digits: Dataset, loss: str, quick) -> None:
    config = quick(loss=loss, steps=6, classes_per_batch=5, images_per_class=6, batch_size=30)
    end = list(train(config, data=digits))[-1]
    assert type(end) is Finished, getattr(end, "reason", "")
    assert np.isfinite(end.embeddings).all()


@pytest.mark.parametrize("miner", list(MINERS))
def test_every_miner_trains_with_a_compatible_loss(digits: Dataset, miner: str, quick, of) -> None:
    loss = "triplet" if MINERS[miner].tuple_kind == "triplets" else "contrastive"
    config = quick(loss=loss, miner=miner, steps=12, classes_per_batch=5, images_per_class=6)
    events = list(train(config, data=digits))
    assert type(events[-1]) is Finished, getattr(events[-1], "reason", "")
    assert any(step.active > 0 for step in of(Step, events))


@pytest.mark.parametrize(
    ("sampler", "loss"), [("random_pairs", "contrastive"), ("random_triplets", "triplet"), ("episodes", "prototypical")]
)
def test_random_pairs_and_triplets_learn_digits(digits: Dataset, sampler: str, loss: str, quick) -> None:
    config = quick(loss=loss, sampler=sampler, batch_size=120, steps=100, embedding_dim=32)
    assert list(train(config, data=digits))[-1].metrics["precision_at_1"] > 0.9


@pytest.mark.parametrize(("sampler", "loss"), [("random_pairs", "contrastive"), ("random_triplets", "triplet")])
def test_the_loss_uses_only_the_sampled_pairs_and_triplets(digits: Dataset, sampler: str, loss: str, quick, of) -> None:
    from dmlviz.training import sampling

    config = quick(loss=loss, sampler=sampler, batch_size=60, steps=1, validation_fraction=0)
    step = of(Step, list(train(config, data=digits)))[0]
    batch = next(sampling.build(config, digits.train.labels, 0))
    net = build("mlp", embedding_dim=config.embedding_dim, normalize=config.normalize, size=8, seed=0)
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


def test_loss_parameters_train_at_their_own_learning_rate(digits: Dataset, quick) -> None:
    def final(rate: float | None) -> np.ndarray:
        config = quick(loss="arcface", loss_learning_rate=rate, steps=5)
        return list(train(config, data=digits))[-1].embeddings

    usual = TrainConfig(loss="arcface").learning_rate
    assert np.array_equal(final(None), final(usual))
    assert not np.array_equal(final(None), final(50 * usual if 50 * usual <= 10 else 10))


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_decreasing_schedule_moves_the_weights_less(digits: Dataset, schedule: str, quick) -> None:
    start = build("mlp", size=8, seed=0).state_dict()

    def moved(schedule: str) -> float:
        config = quick(schedule=schedule, optimizer="sgd", momentum=0.0, learning_rate=0.1)
        weights = list(train(config, data=digits))[-1].net_weights
        return sum(float(np.linalg.norm(value - start[name].numpy())) for name, value in weights.items())

    assert 0.2 * moved("constant") < moved(schedule) < moved("constant")


@pytest.mark.parametrize("loss", ["triplet", "arcface", "hierarchical_triplet"])
def test_held_out_classes_are_not_trained_on_and_are_scored_separately(digits: Dataset, loss: str, quick, of) -> None:
    config = quick(loss=loss, held_out_classes=(0, 4, 9), images_per_class=8)
    events = list(train(config, data=digits))
    kept = ~np.isin(digits.train.labels, config.held_out_classes)
    assert events[0].train_images < kept.sum()
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
    for batch in of(BatchRecord, events):
        assert np.array_equal(batch.labels, digits.train.labels[batch.images])
        assert not np.isin(batch.labels, config.held_out_classes).any()
    rows = np.isin(digits.test.labels, config.held_out_classes)
    alone = metrics.evaluate(events[-1].embeddings[rows], digits.test.labels[rows])
    assert alone == {key: events[-1].metrics[f"unseen/{key}"] for key in alone}
    assert all("seen/precision_at_1" in shot.metrics for shot in of(Snapshot, events))


def test_max_train_images_limits_the_training_set(digits: Dataset, quick) -> None:
    events = list(train(quick(max_train_images=200, images_per_class=8), data=digits))
    assert events[0].train_images + events[0].validation_images == 200
    first, again = (
        list(train(quick(max_train_images=200, images_per_class=8), data=data))[-1]
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


def test_color_images_can_be_trained_on(quick) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 4
    images = rng.integers(0, 80, (80, 16, 16, 3)).astype(np.uint8)
    images[..., 0] += (labels * 40).astype(np.uint8)[:, None, None]
    split = Split(images, labels)
    data = Dataset("colors", ("a", "b", "c", "d"), split, split, 0.2, 0.2)
    config = quick(classes_per_batch=4, images_per_class=8, steps=25)
    assert list(train(config, data=data))[-1].metrics["precision_at_1"] > 0.9


@pytest.fixture(scope="module")
def digits():
    return load("digits")


def learned(data, **fields):
    """The scores at the end of a short training."""
    torch.set_num_threads(1)
    *_, end = train(
        TrainConfig(**{"dataset": "digits", "steps": 60, "num_snapshots": 1, "eval_subset_size": 100} | fields),
        data=data,
    )
    return end.metrics


@pytest.fixture(scope="module")
def raw_pixels(digits):
    return metrics.evaluate(digits.test.images.reshape(len(digits.test), -1), digits.test.labels)


def test_without_a_margin_the_embeddings_collapse_to_a_line_and_an_alarm_is_raised(digits, raw_pixels):
    scores = learned(digits, loss="contrastive_no_margin", net="mlp", steps=150)
    assert LOSSES["contrastive_no_margin"].caveat
    assert scores["collapsed"] == 1
    assert scores["effective_rank"] < 1.1
    assert scores["precision_at_1"] < raw_pixels["precision_at_1"] - 0.3


def test_batch_hard_with_its_defaults_does_not_collapse(digits):
    scores = learned(digits, loss="batch_hard")
    assert scores["collapsed"] == 0
    assert scores["precision_at_1"] > 0.95


def test_offline_hard_embeds_the_training_set_every_epoch_and_learns_digits(digits, monkeypatch):
    seen, completed = [], []
    refresh, complete = OfflineHard.refresh, OfflineHard.extend_batch
    monkeypatch.setattr(
        OfflineHard, "refresh", lambda self, *given: (seen.append(len(given[1])), refresh(self, *given))[1]
    )

    def tracked(self, batch):
        result = complete(self, batch)
        completed.append(np.setdiff1d(result, batch))
        return result

    monkeypatch.setattr(OfflineHard, "extend_batch", tracked)
    scores = learned(digits, loss="triplet", miner="offline_hard", miner_params={"every": 2}, steps=40)
    images = len(digits.train) - 120  # the rest is held out for validation
    epoch = images // 160
    assert seen == [images] * (1 + (40 - 1) // (2 * epoch))
    assert np.mean([len(new) for new in completed]) > 10  # negatives from outside the batch
    assert scores["precision_at_1"] > 0.95
