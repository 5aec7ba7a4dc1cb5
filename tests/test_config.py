"""Configs: ID, JSON round trip, and one sentence for every invalid combination."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError


@pytest.mark.slow
def test_equal_settings_are_one_config_in_every_process() -> None:
    config = TrainConfig(seed=3, loss_params={"temperature": 0.2}, loss="nt_xent")
    reordered = TrainConfig(loss="nt_xent", seed=3.0, loss_params={"temperature": 0.2}, dataset="mnist")
    assert config == reordered
    assert config.id == reordered.id
    assert hash(config) == hash(reordered)
    code = "import dmlviz; print(dmlviz.TrainConfig(loss='nt_xent', seed=3, loss_params=dict(temperature=.2)).id)"
    other_process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert other_process.stdout.strip() == config.id
    assert len(config.id) == 16


def test_every_field_changes_the_id() -> None:
    config = TrainConfig(loss="nt_xent")
    changes = {
        "dataset": "digits",
        "max_train_images": 1000,
        "held_out_classes": [4],
        "net": "mlp",
        "embedding_dim": 7,
        "normalize": not config.normalize,
        "loss_params": {"temperature": 0.3},
        "miner": "all_pairs",
        "sampler": "shuffled",
        "classes_per_batch": 5,
        "images_per_class": 5,
        "batch_size": 77,
        "optimizer": "sgd",
        "learning_rate": 0.5,
        "loss_learning_rate": 0.5,
        "schedule": "constant",
        "momentum": 0.5,
        "weight_decay": 0.5,
        "decay_epochs": 5,
        "decay_factor": 0.5,
        "warmup_steps": 7,
        "steps": 77,
        "max_seconds": 77,
        "seed": 77,
        "validation_fraction": 0.2,
        "eval_subset_size": 77,
        "num_snapshots": 7,
    }
    # Without a step schedule nothing falls every so many epochs, and without augmentation views would be the same.
    config = config.replace(augmentation={"rotate": 10}, schedule="step")
    changes |= {
        "corrections": "0123456789abcdef",
        "projection_dim": 5,
        "label_noise": 0.1,
        "use_labels": False,
        "views": 3,
        "augmentation": {"crop": 0.2},
        "backbone_rate": 0.5,
        "mixed_precision": True,
        "memory": 77,
        "prefixes": (5,),
        "imbalance": 7.0,
        "space": "poincare",
    }
    # Tested where there is what they need: tests/nets/test_fine_tuning.py, below, tests/training/test_second_labels.py,
    # tests/losses/test_ball.py, tests/training/test_neck.py.
    elsewhere = {"bn_neck", "unfrozen_blocks", "frozen_batch_norm", "second_labels", "curvature", "clip_radius"}
    assert set(changes) == set(TrainConfig.model_fields) - {"loss", "miner_params"} - elsewhere
    ids = [config.replace(**{name: value}).id for name, value in changes.items()]
    assert len({config.id, *ids}) == len(ids) + 1


def test_batch_norm_is_frozen_where_there_is_some() -> None:
    config = TrainConfig(dataset="digits", net="protonet")
    frozen = config.replace(frozen_batch_norm=True)
    assert frozen.id != config.id
    assert "frozen_batch_norm" not in config.to_dict()
    assert frozen.replace(net="resnet18").frozen_batch_norm
    assert frozen.replace(net="small") == config.replace(net="small")
    with pytest.raises(UserError, match="small has none: use frozen_batch_norm = false, or protonet, resnet18"):
        TrainConfig(net="small", frozen_batch_norm=True)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_has_valid_defaults_and_round_trips_through_json(loss: str) -> None:
    config = TrainConfig(loss=loss)
    parsed = TrainConfig.from_json(config.to_json())
    assert parsed == config
    assert parsed.id == config.id
    json.loads(config.to_json())
    for name, value in LOSSES[loss].recommended.items():
        if not name.endswith("_params"):
            assert getattr(config, name) == value


def test_given_fields_override_recommended_ones() -> None:
    assert TrainConfig(loss="contrastive").miner == "hard_negative_pairs"
    assert TrainConfig(loss="contrastive", miner=None).miner is None


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '"loss"'])
def test_invalid_json_is_one_sentence(text: str) -> None:
    with pytest.raises(UserError, match="A config is one JSON object"):
        TrainConfig.from_json(text)


def test_a_config_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        TrainConfig().seed = 1  # type: ignore[misc]


def test_replacing_the_loss_replaces_its_recommended_values() -> None:
    settings = {"dataset": "digits", "seed": 5, "steps": 50, "embedding_dim": 3}
    for old, new in pairwise([*LOSSES, *LOSSES]):
        assert TrainConfig(loss=old).replace(loss=new) == TrainConfig(loss=new)
        assert TrainConfig(loss=old, **settings).replace(loss=new) == TrainConfig(loss=new, **settings)


def test_replacing_the_loss_keeps_a_compatible_miner() -> None:
    chosen = TrainConfig(loss="contrastive", miner="hard_negative_pairs", miner_params={"distance": "cosine"})
    kept = TrainConfig(loss="nt_xent", miner="hard_negative_pairs", miner_params={"distance": "cosine"})
    assert kept.replace(loss="contrastive_linear").miner == "hard_negative_pairs"
    assert kept.replace(loss="triplet") == TrainConfig(loss="triplet")
    assert chosen.replace(miner="all_pairs").miner_params == {}
    assert chosen.replace(seed=1).miner_params == {"distance": "cosine"}


def test_a_pair_sampler_excludes_a_miner() -> None:
    config = TrainConfig(loss="contrastive", sampler="random_pairs", batch_size=41)
    assert config.miner is None
    assert config.effective_batch_size == 40
    assert TrainConfig(loss="contrastive").replace(sampler="random_pairs", batch_size=41) == config
    assert config.replace(sampler="balanced", batch_size=160) == TrainConfig(loss="contrastive")
    assert config.replace(loss="triplet").sampler == "balanced"
    assert config.replace(loss="contrastive_linear").sampler == "random_pairs"


def test_replacing_the_loss_drops_its_parameters() -> None:
    config = TrainConfig(loss="nt_xent", loss_params={"temperature": 0.5})
    assert config.replace(seed=1).loss_params["temperature"] == 0.5
    assert config.replace(loss="contrastive").loss_params["margin"] == 1.0
    assert config.replace(loss="triplet", loss_params={"margin": 0.7}).loss_params["margin"] == 0.7


def test_held_out_classes_are_a_set_and_reduce_classes_per_batch() -> None:
    config = TrainConfig(loss="triplet", held_out_classes=[9, 7, 8, 7])
    assert config == TrainConfig(loss="triplet", held_out_classes="7, 8, 9") == TrainConfig.from_json(config.to_json())
    assert config.held_out_classes == (7, 8, 9)
    assert config.train_classes == (0, 1, 2, 3, 4, 5, 6)
    assert config.classes_per_batch == 7
    assert config.replace(held_out_classes=()) == TrainConfig(loss="triplet")
    assert config.replace(loss="nt_xent") == TrainConfig(loss="nt_xent", held_out_classes=[7, 8, 9])
    assert config.replace(classes_per_batch=5).replace(held_out_classes=()).classes_per_batch == 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"loss": "triplett"}, r"There is no loss called 'triplett': did you mean 'triplet'"),
        ({"dataset": "imagenet"}, "no data set called 'imagenet': "),
        ({"net": "vgg"}, "no net called 'vgg': "),
        ({"sampler": "x"}, "no sampler called 'x': "),
        ({"miner": "nobody"}, "no miner called 'nobody': "),
        ({"loss": ["triplet"]}, "There is no loss called"),
        ({"lerning_rate": 1}, "Unknown setting 'lerning_rate'; the settings are dataset, "),
        ({"lerning_rate": 1, "stepps": 2}, "Unknown settings 'lerning_rate', 'stepps'; the settings are dataset, "),
        ({"learning_rate": 0}, "learning_rate: .*more than 0; got 0"),
        ({"learning_rate": float("nan")}, "learning_rate: "),
        ({"steps": 1.5}, "steps: .*got 1.5"),
        ({"optimizer": "lion"}, "optimizer: .*'adam', 'sgd' or 'rmsprop'; got 'lion'"),
        ({"loss": "nt_xent", "loss_params": {"tau": 1}}, "nt_xent has no parameter 'tau'; its parameters are temp"),
        ({"loss": "nt_xent", "loss_params": 7}, "loss_params: .*got 7"),
        (
            {"loss": "magface", "loss_params": {"longest": 1}},
            "magface: longest is more than shortest; got 1 and 10: change",
        ),
        ({"loss": "softmax", "miner": "all_pairs"}, "softmax takes no miner; all_pairs makes pairs: use no miner"),
        ({"loss": "triplet", "miner": "all_pairs"}, "triplet takes triplets; all_pairs makes pairs: use .*hardest_neg"),
        ({"loss": "nt_xent", "miner": None, "miner_params": {"a": 1}}, "miner_params need a miner"),
        (
            {"loss": "batch_hard", "images_per_class": 1},
            "batch_hard needs at least 2 images of a class; got 10 images of 10 classes: use the balanced sampler",
        ),
        ({"loss": "nt_xent", "classes_per_batch": 1}, "needs images of at least 2 classes; got 16 images of 1 class"),
        ({"loss": "nt_xent", "classes_per_batch": 12}, r"has P = 12 classes; MNIST has 10: use classes_per_batch ≤ 10"),
        ({"held_out_classes": (3, 12)}, "Class IDs of MNIST run from 0 to 9; got 12 in held_out_classes"),
        ({"held_out_classes": range(9)}, "needs at least 2 classes; held_out_classes leaves 1 of 10: hold out fewer"),
        (
            {"held_out_classes": "7,8", "classes_per_batch": 9},
            "P = 9 classes; 8 of 10 are seen: use classes_per_batch ≤",
        ),
        ({"held_out_classes": "seven"}, "held_out_classes: .*got 'seven'"),
        ({"sampler": "balanced", "images_per_class": 999}, "A batch has at most 4096 images; got 9990"),
        ({"sampler": "balanced", "max_train_images": 100}, "A batch has 160 images; got max_train_images = 100"),
        (
            {"loss": "nt_xent", "sampler": "shuffled", "batch_size": 3},
            "nt_xent needs at least 4 images per batch; got 3",
        ),
        (
            {"loss": "nt_xent", "use_labels": False, "batch_size": 2},
            "nt_xent needs at least 4 different images per batch; got 2",
        ),
        (
            {"loss": "contrastive", "embedding_dim": 1, "normalize": True},
            "A normalized 1-D embedding has only two points",
        ),
        (
            {"loss": "nt_xent", "embedding_dim": 1, "normalize": False},
            r"1-D embedding \(by nt_xent\) has only two points",
        ),
        (
            {"loss": "contrastive", "sampler": "random_pairs", "miner": "all_pairs"},
            "random_pairs makes the pairs itself; got the miner all_pairs: use no miner",
        ),
        ({"loss": "triplet", "sampler": "random_pairs"}, "triplet takes triplets; random_pairs makes pairs: use anoth"),
        ({"loss": "softmax", "sampler": "random_triplets"}, "softmax takes whole batches; random_triplets makes trip"),
    ],
)
def test_invalid_settings_are_one_sentence(fields: dict, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        TrainConfig(**fields)
    assert "\n" not in str(error.value)
    assert "pydantic" not in str(error.value)


def test_every_problem_is_reported() -> None:
    with pytest.raises(UserError, match=r"steps: .*seed: "):
        TrainConfig(steps=-1, seed=-1)


def test_losses_with_class_weights_need_no_pairs() -> None:
    assert TrainConfig(loss="softmax", sampler="balanced", images_per_class=1).effective_batch_size == 10
    assert TrainConfig(loss="arcface", sampler="shuffled", batch_size=2).effective_batch_size == 2


@pytest.mark.parametrize("miner", list(MINERS))
def test_every_miner_is_compatible_with_some_loss(miner: str) -> None:
    losses = [loss for loss in LOSSES if MINERS[miner].tuple_kind in LOSSES[loss].tuple_kinds]
    assert losses
    assert TrainConfig(loss=losses[0], miner=miner).miner == miner


def test_a_projection_has_its_own_id() -> None:
    pca = ProjectionConfig()
    assert ProjectionConfig.from_json(pca.to_json()) == pca
    assert pca.id != pca.replace(dims=3).id
    with pytest.raises(UserError, match="dims: "):
        ProjectionConfig(dims=4)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_users_script_passes_strict_mypy_without_plug_ins(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        """from dmlviz.config import ProjectionConfig, TrainConfig

config = TrainConfig(dataset="digits", steps=2)
other: TrainConfig = TrainConfig(loss="triplet", loss_params={"margin": 0.3}, miner="batch_hard", max_seconds=1.5)
steps: int = other.replace(steps=3).steps
ProjectionConfig(method="tsne", params={"perplexity": 5}, dims=3).id.upper()
TrainConfig(steps="two")
TrainConfig(stepz=2)
"""
    )
    settings = tmp_path / "mypy.ini"  # what the settings import besides says nothing of their types, and takes a minute
    settings.write_text(
        "[mypy]\nstrict = True\nfollow_imports = skip\n"
        "[mypy-dmlviz,dmlviz.config,dmlviz.config.*,pydantic.*]\nfollow_imports = silent\n"
    )
    options = ["--config-file", settings, "--cache-dir", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, script], capture_output=True, text=True, cwd=tmp_path
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.split(":")[1] for line in errors] == ["7", "8"], done.stdout + done.stderr


def test_classes_are_listed_by_name_and_by_number() -> None:
    spec = replace(DATASETS["digits"], title="Odd", classes=("cat", "7", "red, or so", "dog"))
    ways = ["cat,dog", " 0, dog", "0,3", "7", "1", "2-3", "red, or so", ""]
    assert [sorted(spec.class_ids(way, "--hide")) for way in ways] == [[0, 3]] * 3 + [[1]] * 2 + [[2, 3], [2], []]
    for wrong in ("fox", "4", "3-4", "3-2", "-1", "²", "9" * 5000):
        with pytest.raises(UserError, match=r"--hide takes .*; Odd has 0 cat, 1 7, 2 red, or so, 3 dog; got "):
            spec.class_ids(wrong, "--hide")


def test_what_is_shown_is_named_as_it_is() -> None:
    spec = DATASETS["digits"]
    kinds = (spec, DATASETS["moons"], replace(spec, trainable=False), replace(spec, size=0))
    said = ["a test image", "a test point", "an image", "a row"]
    assert [kind.said("a test image") for kind in kinds] == said
