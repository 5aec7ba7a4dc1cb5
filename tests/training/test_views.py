"""Augmentation, views and training without labels."""

import math
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from dmlviz import losses
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import AUGMENTATION, DATASETS, may_not_mirror, usual_strengths
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, Split
from dmlviz.errors import UserError
from dmlviz.metrics.probes import PROBES, knn_probe_accuracy
from dmlviz.nets.torchvision_operators import register_missing
from dmlviz.training.batch_record import BatchRecord, recorded_steps
from dmlviz.training.batch_terms import batch_terms
from dmlviz.training.events import Finished, Snapshot
from dmlviz.training.labeled_images import Augmentation
from dmlviz.training.loop import train
from dmlviz.training.trainer import Trainer
from dmlviz.training.tuple_difficulty import classify_tuples

UNLABELED = {"use_labels": False, "batch_size": 20, "steps": 3}


def augmentation(seed: int = 0, **strengths: float) -> Augmentation:
    return Augmentation(strengths, background=0.0, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", [one.name for one in AUGMENTATION.parameters if one.name != "ratio"])
def test_each_strength_changes_pictures_alike_for_equal_seeds(name: str, channels: int) -> None:
    if name == "hue" and channels == 1:
        pytest.skip("refused: see below")
    images = torch.rand(70, channels, 12, 12, generator=torch.Generator().manual_seed(0))
    before = torch.get_rng_state()
    first, again, other = (augmentation(seed, **{name: 0.4})(images) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape == images.shape
    assert 0 <= first.min() <= first.max() <= 1
    drawn = augmentation(0, **{name: 0.4})
    assert not torch.equal(drawn(images), drawn(images))  # differently every time
    one = images[:, :, :1, :1]
    assert augmentation(0, **{name: 0.4})(one).shape == one.shape


def test_a_flip_mirrors_left_to_right_the_share_that_was_asked_for() -> None:
    images = torch.rand(70, 1, 12, 12)
    assert torch.equal(augmentation(0, flip=1.0)(images), images.flip(-1))
    mirrored = sum(torch.equal(a, b.flip(-1)) for a, b in zip(augmentation(0, flip=0.5)(images), images, strict=True))
    assert 0.3 * 70 < mirrored < 0.7 * 70


def test_a_shift_and_a_rotation_are_those_of_torchvision(monkeypatch) -> None:
    if find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    register_missing()
    functional = import_module("torchvision.transforms.v2.functional")
    images = torch.rand(1, 3, 20, 20, generator=torch.Generator().manual_seed(0))
    for right, down, degrees in ((3, -2, 0.0), (0, 0, 90.0), (0, 0, -30.0)):
        draws = iter([right, down, math.radians(degrees)])
        changed = augmentation(shift=0.2, rotate=90)
        monkeypatch.setattr(changed, "_draw", lambda images, *_, draws=draws: torch.full((1, 1, 1, 1), next(draws)))
        expected = functional.affine(images, degrees, [right, down], 1.0, [0.0], functional.InterpolationMode.BILINEAR)
        inside = slice(6, -6) if degrees == -30 else slice(None)  # at a slanted edge each blends in its own way
        torch.testing.assert_close(
            changed(images)[..., inside, inside], expected[..., inside, inside], atol=1e-5, rtol=0
        )


def test_crops_are_as_large_as_those_of_torchvision() -> None:
    ramp = torch.linspace(0, 1, 32).expand(32, 32)
    images = torch.stack([ramp, ramp.T, ramp]).expand(2000, 3, 32, 32)
    x, y, _ = augmentation(crop=0.84)(images).unbind(1)
    sides = (x[:, 16, -1] - x[:, 16, 0]) * (y[:, -1, 16] - y[:, 0, 16])
    assert 0.51 < sides.mean() < 0.55  # 0.53 of 4,000 draws of RandomResizedCrop; without its retries 0.58


def test_colors_keep_their_gray_under_a_hue_and_their_mean_under_a_contrast() -> None:
    images = torch.rand(8, 3, 12, 12, generator=torch.Generator().manual_seed(0)) * 0.2 + 0.4
    luminance = torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)
    torch.testing.assert_close((augmentation(0, hue=0.2)(images) * luminance).sum(1), (images * luminance).sum(1))
    gray = images[:, :1].expand(-1, 3, -1, -1)
    torch.testing.assert_close(augmentation(0, jitter=0.3)(gray)[:, :1], augmentation(0, jitter=0.3)(gray)[:, 1:2])


def test_the_ratio_says_how_far_a_crop_is_stretched() -> None:
    images = torch.rand(8, 1, 12, 12)
    square, usual, wide = (augmentation(0, crop=0.5, **more)(images) for more in ({"ratio": 0.0}, {}, {"ratio": 0.8}))
    assert not torch.equal(square, usual)
    assert not torch.equal(wide, usual)
    assert TrainConfig(augmentation={"ratio": 0.25}).id == TrainConfig().id


OWN = {"summary": "", "size": 28, "mean": 0.5, "std": 0.2}


@pytest.mark.parametrize(
    ("data", "flipped"),
    [
        *((name, False) for name in ("mnist", "kmnist", "emnist_letters", "digits", "numbers", "sketches")),
        *((name, True) for name in ("fashion_mnist", "identities")),
        *(((channels, names), False) for channels in (1, 3) for names in (("0", "1", "10"), ("A", "b"))),
        *(((channels, ("cat", "dog")), channels == 3) for channels in (1, 3)),
    ],
)
def test_what_is_usual_goes_by_the_kind_of_the_images(data: str | tuple, flipped: bool) -> None:
    own = isinstance(data, tuple)
    spec = DatasetSpec(name="x", title="X", channels=data[0], classes=data[1], **OWN) if own else DATASETS[data]
    usual = usual_strengths(spec)
    assert ("flip" in usual) == flipped == (not may_not_mirror(spec))
    assert ("hue" in usual) == (spec.channels == 3)


def test_what_is_usual_follows_the_data_set() -> None:
    for labeled in (True, False):
        config = TrainConfig(
            dataset="fashion_mnist", use_labels=labeled, **{"augmentation": "usual"} if labeled else {}
        )
        assert config.augmentation["flip"] == 0.5
        assert "flip" not in config.replace(dataset="mnist").augmentation
        assert config.replace(dataset="mnist").replace(dataset="fashion_mnist") == config
        assert TrainConfig.from_json(config.to_json()) == config
    assert TrainConfig(dataset="fashion_mnist", augmentation={"flip": 1}).replace(dataset="mnist").augmentation == {
        "flip": 1
    }


@pytest.mark.slow
def test_labels_are_unused_without_labels(digits: Dataset, quick) -> None:
    config = quick(**UNLABELED, validation_fraction=0, miner="all_pairs")
    labels = np.random.default_rng(0).permutation(digits.train.labels)
    wrong = replace(digits, train=Split(digits.train.images, labels))
    ours, theirs = (list(train(config, data=data))[-1] for data in (digits, wrong))
    assert np.array_equal(ours.embeddings, theirs.embeddings)
    assert ours.metrics["linear_probe_accuracy"] > theirs.metrics["linear_probe_accuracy"] + 0.3
    assert ours.metrics["knn_probe_accuracy"] > 0.5


@pytest.mark.parametrize("held_out", [(), (7, 8)])
def test_the_probes_score_images_of_the_classes_that_were_trained_on(digits: Dataset, quick, held_out) -> None:
    trainer = Trainer(quick(**UNLABELED, held_out_classes=held_out), digits, torch.device("cpu"))
    images, labels = trainer.train_images, digits.test.labels
    embeddings = trainer.embed(trainer.test_images)
    seen = ~np.isin(labels, held_out)
    expected = knn_probe_accuracy(embeddings[seen], labels[seen], trainer.embed(images), images.labels)
    scores = trainer.probe_scores(embeddings, labels)
    assert scores["knn_probe_accuracy"] == expected
    assert scores["linear_probe_accuracy"] > 0.5
    assert {key for key in scores if "/" in key} == ({f"seen/{key}" for key in PROBES} if held_out else set())
    assert all(scores[key] == scores[f"seen/{key}"] for key in PROBES if held_out)


def test_after_stop_no_training_image_is_embedded_for_the_probes(digits: Dataset, quick, monkeypatch) -> None:
    monkeypatch.delattr(Trainer, "probe_scores")  # cannot be called
    end = list(train(quick(**UNLABELED), data=digits, stop=lambda: True))[-1]
    assert all(np.isnan(end.metrics[key]) for key in PROBES)
    assert end.metrics["precision_at_1"] > 0


def test_what_was_recorded_is_what_the_net_saw(digits: Dataset, quick, of, tmp_path) -> None:
    config = quick(**UNLABELED, projection_dim=12)
    batch = of(BatchRecord, train(config, data=digits))[0]
    assert batch.pixels is not None
    assert batch.pixels.shape == (40, 8, 8)
    assert batch.images[:20].tolist() == batch.images[20:].tolist()
    assert not np.array_equal(batch.pixels[:20], batch.pixels[20:])
    assert np.array_equal(batch.labels, digits.train.labels[batch.images])
    trainer = Trainer(config, digits, torch.device("cpu"))
    inputs = (torch.from_numpy(batch.pixels)[:, None].float() / 255 - digits.mean) / digits.std
    torch.testing.assert_close(
        trainer.trained.train()(inputs).detach(), torch.tensor(batch.embeddings_before), atol=1e-5, rtol=1e-4
    )
    with (tmp_path / "1.npz").open("wb") as file:
        batch.save(file)
    assert np.array_equal(BatchRecord.load(tmp_path / "1.npz").pixels, batch.pixels)
    # The positives are the views, and the terms make the loss.
    seen = classify_tuples(config, batch)
    assert all(batch.images[a] == batch.images[p] != batch.images[n] for a, p, n in seen.indices)
    values = [term[0] for terms in batch_terms(config, batch).terms for term in terms]
    assert np.mean(values) == pytest.approx(batch.loss, rel=1e-4)


def test_scores_and_weights_are_of_the_embedding_before_the_head(digits: Dataset, quick, of) -> None:
    events = list(train(quick(**UNLABELED, projection_dim=12, embedding_dim=5), data=digits))
    assert {event.embeddings.shape[1] for event in of(Snapshot, events) + of(Finished, events)} == {5}
    assert not any("head" in name for name in events[-1].net_weights)


def test_with_labels_views_are_more_images_of_the_class(digits: Dataset, quick, of) -> None:
    config = quick(views=2, augmentation={"rotate": 15}, classes_per_batch=4, images_per_class=3, loss="supcon")
    batch = of(BatchRecord, train(config, data=digits))[0]
    assert np.array_equal(np.unique(batch.labels, return_counts=True)[1], [6] * 4)


def test_two_views_make_supcon_the_loss_of_simclr() -> None:
    x, images = torch.randn(12, 5, generator=torch.Generator().manual_seed(0)), torch.arange(6).repeat(2)
    torch.testing.assert_close(losses.build("supcon")(x, images), losses.build("nt_xent")(x, images))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"views": 2}, "views = 2 and no augmentation"),
        ({"use_labels": False, "views": 1}, "use 2 or more"),
        ({"use_labels": False, "sampler": "balanced"}, "by class labels"),
        ({"use_labels": False, "loss": "arcface"}, "compares images with classes"),
        ({"use_labels": False, "loss": "weighted_sum"}, "^softmax in weighted_sum compares images with classes"),
        ({"loss": "arcface", "projection_dim": 8}, "no projection head"),
        ({"augmentation": {"turn": 3}}, "no parameter 'turn'; its parameters are flip, crop"),
        (
            {"augmentation": {"hue": 0.1}},
            "images of MNIST are gray and have no hue; got the augmentation hue = 0.1: leave",
        ),
        ({"augmentation": {"rotate": 999}}, "rotate lies between 0 and 180"),
        ({"augmentation": "much"}, "strengths by name"),
        ({"views": 8, "augmentation": {"rotate": 5}, "images_per_class": 60}, "got 4800: use fewer views"),
    ],
)
def test_settings_that_do_not_go_together(fields: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        TrainConfig(**fields)


def test_settings_at_their_defaults_leave_the_id_of_a_run_alone() -> None:
    assert TrainConfig().id == "6cd3e197abae8c6d"
    assert TrainConfig(augmentation={"rotate": 0}).id == TrainConfig().id
    unlabeled = TrainConfig(use_labels=False)
    assert TrainConfig.from_json(unlabeled.to_json()) == unlabeled
    assert unlabeled.replace(use_labels=True) == TrainConfig()
    assert TrainConfig(learning_rate=0.002).replace(use_labels=False).learning_rate == 0.002
    assert unlabeled.replace(loss="vicreg") == TrainConfig(use_labels=False, loss="vicreg")
    assert len(recorded_steps(unlabeled)) < len(recorded_steps(unlabeled.replace(dataset="digits")))
