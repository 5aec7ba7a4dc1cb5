"""What goes wrong in a training is noticed, named, and met with something that can be tried."""

import numpy as np
import pytest

from dmlviz.alarms import GROWN, RECENT, REMEDIES, Watch, remedies
from dmlviz.config import TrainConfig
from dmlviz.events import Failed, Snapshot, Step
from dmlviz.losses.declared import LOSSES

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


def watched(*events, config=None):
    """(step, name, whether it goes on) in order."""
    watch = Watch(config or TrainConfig(embedding_dim=16))
    told = []
    for event in events:
        raised, over = watch.take(event)
        told += [(event.step, alarm.name, True) for alarm in raised] + [(event.step, name, False) for name in over]
        assert all(len(alarm.sentence) > 30 or isinstance(event, Failed) for alarm in raised)
    return told


def test_a_healthy_training_is_left_in_peace():
    events = [snapshot(0), *(step(i, loss=2 / i) for i in range(1, 200)), snapshot(200)]
    assert watched(*events) == []


def test_a_collapse_goes_on_once_and_off_when_the_space_opens_again():
    tiny = 0.04 * HEALTHY["mean_negative_distance"]
    events = [snapshot(0), *(snapshot(i, mean_negative_distance=tiny) for i in (5, 10)), snapshot(20)]
    assert watched(*events) == [(5, "collapsed", True), (20, "collapsed", False)]


def test_a_line_is_a_collapse_of_many_dimensions_but_not_of_two():
    events = [snapshot(0), snapshot(5, effective_rank=1.1)]
    assert watched(*events) == [(5, "collapsed", True)]
    assert watched(*events, config=TrainConfig(embedding_dim=2)) == []


def test_an_untrained_net_is_never_an_alarm():
    assert watched(snapshot(0, collapsed=1.0, effective_rank=1.0)) == []


def test_a_loss_without_active_terms_is_noticed_after_enough_batches():
    events = [step(i, active=0.0) for i in range(1, RECENT + 5)]
    assert watched(*events) == [(RECENT, "idle", True)]
    assert watched(*events, step(99, active=0.01))[-1] == (99, "idle", False)


def test_a_rising_loss_is_noticed_and_a_noisy_small_one_is_not():
    rising = [step(i, loss=1.0 if i < 40 else 10.0) for i in range(1, 80)]
    assert [name for _, name, _ in watched(*rising)] == ["diverging"]
    noisy = [step(i, loss=1.0 if i < 30 else 0.001 if i < 60 else 0.01) for i in range(1, 90)]
    assert watched(*noisy) == []


def test_a_failed_training_is_an_alarm_with_a_remedy():
    assert watched(Failed(step=7, reason="nan")) == [(7, "diverging", True)]


def test_exploding_norms_are_noticed():
    assert watched(snapshot(0), snapshot(3, mean_norm=GROWN + 1)) == [(3, "exploding", True)]
    assert watched(snapshot(0), snapshot(3, mean_norm=GROWN - 1)) == []


def test_learning_by_heart_needs_both_the_gap_and_a_falling_score():
    batches = [step(i, positive=0.01) for i in range(1, RECENT + 1)]
    fallen = snapshot(50, precision_at_1=0.8)
    assert watched(snapshot(0), *batches, fallen) == [(50, "overfitting", True)]
    assert watched(snapshot(0), *batches, snapshot(50)) == []
    assert watched(snapshot(0), *(step(i) for i in range(1, RECENT + 1)), fallen) == []


@pytest.mark.parametrize("loss", LOSSES)
def test_every_remedy_is_a_training_of_its_own(loss):
    config = TrainConfig(loss=loss, train_images=500)
    for name in REMEDIES:
        for remedy in remedies(name, config):
            changed = config.but(**remedy.changes)
            assert changed != config
            assert remedy.words


def test_a_missing_margin_is_put_back_and_hard_mining_is_made_kinder():
    words = [
        remedy.words for remedy in remedies("collapsed", TrainConfig(loss="contrastive", loss_params={"margin": 0}))
    ]
    assert words[0] == "a margin of 1"
    hard = TrainConfig(loss="triplet", miner="batch_hard", learning_rate=0.05)
    assert [remedy.changes for remedy in remedies("collapsed", hard)] == [
        {"miner": "semihard_nearest"},
        {"learning_rate": 0.005},
    ]
