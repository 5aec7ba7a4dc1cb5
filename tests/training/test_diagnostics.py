"""Problems of a training are detected and named, with suggestions that can be applied."""

import numpy as np
import pytest

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.training.diagnostics import NORM_GROWTH_FACTOR, WINDOW_STEPS, TrainingMonitor
from dmlviz.training.events import Failed, Snapshot, Step
from dmlviz.training.suggestions import SUGGESTIONS, suggestions

HEALTHY = {
    "precision_at_1": 0.9,
    "mean_positive_distance": 0.4,
    "mean_negative_distance": 1.2,
    "effective_rank": 9.0,
    "mean_norm": 1.0,
    "collapsed": 0.0,
}


def snapshot(step, **changes):
    return Snapshot(step=step, embeddings=np.zeros((2, 8)), metrics=HEALTHY | changes)


def step(number, loss=1.0, active=0.5, positive=0.3, negative=1.2):
    return Step(
        step=number,
        loss=loss,
        active=active,
        positive_distance=positive,
        negative_distance=negative,
        images_per_second=1.0,
        cpu_seconds=0.0,
    )


def tracked(*events, config=None):
    """(step, name, whether it goes on) in order."""
    watch = TrainingMonitor(config or TrainConfig(embedding_dim=16))
    told = []
    for event in events:
        raised, over = watch.update(event)
        told += [(event.step, alarm.name, True) for alarm in raised] + [(event.step, name, False) for name in over]
        assert all(len(alarm.message) > 30 or isinstance(event, Failed) for alarm in raised)
    return told


def test_a_healthy_training_raises_no_alarm():
    events = [snapshot(0), *(step(i, loss=2 / i) for i in range(1, 200)), snapshot(200)]
    assert tracked(*events) == []


def test_a_collapse_is_raised_once_and_cleared_on_recovery():
    tiny = 0.04 * HEALTHY["mean_negative_distance"]
    events = [snapshot(0), *(snapshot(i, mean_negative_distance=tiny) for i in (5, 10)), snapshot(20)]
    assert tracked(*events) == [(5, "collapsed", True), (20, "collapsed", False)]


def test_a_line_counts_as_collapse_only_above_two_dimensions_and_classes():
    events = [snapshot(0), snapshot(5, effective_rank=1.1)]
    assert tracked(*events) == [(5, "collapsed", True)]
    assert tracked(*events, config=TrainConfig(embedding_dim=2)) == []
    assert tracked(*events, config=TrainConfig(dataset="moons", embedding_dim=16)) == []  # two means are on one


@pytest.mark.parametrize(
    ("dimensions", "changes", "shape"),
    [
        (2, {"collapsed": 1.0, "effective_rank": 1.05}, "to a line: effective rank 1.1 of 2"),  # far apart: rings
        (16, {"effective_rank": 1.1}, "to a line: effective rank 1.1 of 16"),
        (2, {"collapsed": 1.0, "effective_rank": 1.9}, "to a point: mean distance"),
        (2, {"collapsed": 1.0, "effective_rank": 0.0, "mean_negative_distance": 0.0}, "to a point: mean distance"),
    ],
)
def test_a_collapse_is_called_a_line_or_a_point(dimensions, changes, shape):
    watch = TrainingMonitor(TrainConfig(embedding_dim=dimensions, normalize=False))
    watch.update(snapshot(0))
    ((alarm,), _) = watch.update(snapshot(5, **changes))
    assert shape in alarm.message


def test_an_untrained_net_raises_no_alarm():
    assert tracked(snapshot(0, collapsed=1.0, effective_rank=1.0)) == []


def test_a_loss_without_active_terms_is_reported_after_a_full_window():
    events = [step(i, active=0.0) for i in range(1, WINDOW_STEPS + 5)]
    assert tracked(*events) == [(WINDOW_STEPS, "inactive", True)]
    assert tracked(*events, step(99, active=0.01))[-1] == (99, "inactive", False)


def test_a_rising_loss_is_reported_and_a_noisy_small_one_is_not():
    rising = [step(i, loss=1.0 if i < 40 else 10.0) for i in range(1, 80)]
    assert [name for _, name, _ in tracked(*rising)] == ["diverging"]
    noisy = [step(i, loss=1.0 if i < 30 else 0.001 if i < 60 else 0.01) for i in range(1, 90)]
    assert tracked(*noisy) == []


def test_a_failed_training_raises_an_alarm_with_suggestions():
    assert tracked(Failed(step=7, reason="nan")) == [(7, "diverging", True)]
    assert tracked(Failed(step=0, reason="The corrections are of another data set.", diverged=False)) == []


def test_exploding_norms_are_reported():
    assert tracked(snapshot(0), snapshot(3, mean_norm=NORM_GROWTH_FACTOR + 1)) == [(3, "exploding", True)]
    assert tracked(snapshot(0), snapshot(3, mean_norm=NORM_GROWTH_FACTOR - 1)) == []


# Mean lengths at the snapshots of trainings on MNIST: net `small`, 2 dimensions, free, default learning rate.
LECTURE = TrainConfig(loss="triplet", loss_params={"margin": 1.0}, embedding_dim=2, normalize=False)
ENDLESS = TrainConfig(loss="contrastive_no_margin", embedding_dim=2, normalize=False)
HARD = "0.0392 0.783 0.821 0.835 0.813 1.18 1.15 1.36 1.29 1.43 1.47 1.61 1.76 1.5 1.65 1.69 1.73 1.54 1.51"
SEMIHARD = "0.0392 0.402 0.919 1.77 3.54 5.0 7.19 9.3 10.5 11.8 13.7 14.7 17.3 17.3 18.9 17.8 19.0 17.6 19.7 20.1 18.0"
LOGISTIC = "0.0392 0.729 3.52 3.93 3.2 2.39 3.19 3.09 3.49 4.55 4.55 4.1 3.64 3.9 3.57 4.19 3.83 3.85 3.73 3.97 4.08"
SETTLING = "0.0392 0.728 1.39 2.13 2.9 3.35 3.8 4.06 4.21 4.27 4.31 4.38 4.42 4.45 4.47 4.49 4.5 4.51 4.52 4.53"
# L1, "classical or mined": margin 1, 160 images a batch, random pairs or triplets against all of a batch with a miner.
PAIRS = "0.0378 0.739 0.88 0.616 0.533 0.609 0.643 0.676 0.725 0.602 0.733 0.638 0.609 0.675 0.674 0.72 0.706 0.728"
MINED_PAIRS = "0.0378 0.653 0.618 0.964 1.05 1.08 1.13 1.19 1.2 1.08 1.2 1.18 1.2 1.23 1.18 1.25 1.24 1.23 1.21 1.21"
MINED_TRIPLETS = "0.0378 0.701 0.835 1.18 1.32 1.58 1.71 1.69 1.69 1.67 1.7 1.79 1.61 1.64 1.7 1.46 1.51 1.56 1.49"
UNBOUND = "0.0392 1.33 5.54 14.9 48.6 136 345 1040 2740 6180 13000 28500 49800 94300 165000 296000 450000"
TOO_FAST = "0.0392 3730 81900 57400 3840 4670"


def lengths(text, config):
    return tracked(*(snapshot(i, mean_norm=float(n)) for i, n in enumerate(text.split())), config=config)


@pytest.mark.parametrize("grown", [HARD, SEMIHARD, LOGISTIC, SETTLING, MINED_TRIPLETS])
def test_growth_up_to_the_margin_is_no_explosion(grown):
    assert lengths(grown, LECTURE) == []


@pytest.mark.parametrize("grown", [PAIRS, MINED_PAIRS])
def test_growth_up_to_the_margin_of_pairs_is_no_explosion(grown):
    assert lengths(grown, LECTURE.replace(loss="contrastive", loss_params={"margin": 1.0}, miner=None)) == []


def test_unlimited_growth_is_an_explosion_from_a_factor_of_100():
    assert lengths(UNBOUND, ENDLESS) == [(2, "exploding", True)]
    assert lengths(UNBOUND, LECTURE) == [(2, "exploding", True)]
    assert lengths(TOO_FAST, LECTURE) == [(1, "exploding", True)]


def test_a_larger_margin_allows_larger_norms():
    grown = "0.04 2 3.5 6 10 18 30 50 70 80 80"
    assert lengths(grown, LECTURE) == []
    assert lengths(grown, LECTURE.replace(loss_params={"margin": 0.2}))[0][1:] == ("exploding", True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "explodes"),
    [(LECTURE.replace(learning_rate=4e-3), False), (LECTURE.replace(learning_rate=0.5), True), (ENDLESS, True)],
    ids=["the lecture's own setting", "an absurd learning rate", "a loss without an end"],
)
def test_real_trainings_explode_exactly_when_expected(config, explodes):
    from dmlviz.training.loop import train

    watch, seen = TrainingMonitor(config), set()
    for event in train(
        config.replace(dataset="digits", steps=50, num_snapshots=12, images_per_class=6, eval_subset_size=200)
    ):
        seen |= {alarm.name for alarm in watch.update(event)[0]}
    assert ("exploding" in seen) is explodes


def test_overfitting_needs_both_a_wider_spread_and_a_falling_score():
    batches = [step(i, positive=0.01) for i in range(1, WINDOW_STEPS + 1)]
    fallen = snapshot(50, precision_at_1=0.8)
    assert tracked(snapshot(0), *batches, fallen) == [(50, "overfitting", True)]
    assert tracked(snapshot(0), *batches, snapshot(50)) == []
    assert tracked(snapshot(0), *(step(i) for i in range(1, WINDOW_STEPS + 1)), fallen) == []


@pytest.mark.parametrize("loss", LOSSES)
def test_every_suggestion_is_a_valid_different_config(loss):
    config = TrainConfig(loss=loss, max_train_images=500)
    for name in SUGGESTIONS:
        for remedy in suggestions(name, config):
            changed = config.replace(**remedy.changes)
            assert changed != config
            assert remedy.label


def test_suggestions_restore_a_zero_margin_and_soften_hard_mining():
    words = [
        remedy.label for remedy in suggestions("collapsed", TrainConfig(loss="contrastive", loss_params={"margin": 0}))
    ]
    assert words[0] == "a margin of 1"
    hard = TrainConfig(loss="triplet", miner="batch_hard", learning_rate=0.05)
    assert [remedy.changes for remedy in suggestions("collapsed", hard)] == [
        {"miner": "semihard_nearest"},
        {"learning_rate": 0.005},
    ]
