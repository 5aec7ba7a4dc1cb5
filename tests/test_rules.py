"""RULES: what excludes what, on drawn settings and changes; the form and `replace` carry the same over."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from dmlviz_app.forms.training_settings import TrainingDraft

from dmlviz.catalog.dataset_spec import ClassSplit, DatasetSpec, Features
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.config import TrainConfig
from dmlviz.config.fields import FIELDS, badges, limits, text_of
from dmlviz.config.rules import RULES
from dmlviz.errors import UserError

OF_RESNET = Features(backbone="resnet18", weights="0" * 16, dimensions=32, mean=0.0, std=1.0)
OWN: dict[str, dict[str, Any]] = {
    "custom-000000000000000a": {"most": {"images_per_class": 5, "batch_size": 20}},
    "custom-000000000000000b": {"class_split": ClassSplit(train=8, test=4, disjoint=True)},
    "custom-000000000000000c": {"features": OF_RESNET},
    "custom-000000000000000d": {"trainable": False},
}
VALUES: dict[str, list[Any]] = {
    "dataset": ["mnist", "digits", "numbers", "identities", "sketches", *OWN],
    "max_train_images": [None, 10],
    "held_out_classes": [(), (7, 8, 9), (25,), tuple(range(1, 10))],
    "corrections": [None, "0123456789abcdef"],
    "net": list(NETS),
    "embedding_dim": [1, 2, 64],
    "normalize": [True, False],
    "space": ["euclidean", "poincare"],
    "curvature": [1.0, 2.0],
    "clip_radius": [2.3, 5.0],
    "unfrozen_blocks": [0, 0, 2, 9],
    "frozen_batch_norm": [False, True],
    "projection_dim": [0, 8],
    "use_labels": [True, False],
    "views": [1, 2, 3],
    "augmentation": [{}, {"rotate": 15.0}],
    "loss": [*LOSSES, "weighted_sum", "weighted_sum"],
    "second_labels": ["", "model", "domain"],
    "miner": [None, *MINERS],
    "memory": [0, 64],
    "bn_neck": [False, True],
    "imbalance": [1.0, 50.0],
    "prefixes": [(), (1,), (2, 8)],
    "sampler": list(SAMPLERS),
    "classes_per_batch": [1, 9, 12],
    "images_per_class": [1, 16, 500],
    "batch_size": [2, 160, 4096],
    "seed": [0, 5],
    "schedule": ["cosine", "step"],
}
SETTINGS: list[dict[str, Any]] = [
    {"loss": "weighted_sum", "second_labels": "model"},
    {"loss": "weighted_sum", "second_labels": "model", "dataset": "identities", "memory": 64},
    {"loss": "weighted_sum", "second_labels": "model", "dataset": "identities", "sampler": "shuffled", "views": 2},
    {"dataset": "custom-000000000000000c", "net": "mlp", "augmentation": {"rotate": 15.0}},
    {"dataset": "custom-000000000000000c", "net": "mlp", "unfrozen_blocks": 2, "frozen_batch_norm": True},
    {"miner": "all_pairs"},
    {"dataset": "custom-000000000000000a", "sampler": "shuffled", "batch_size": 160},
    {"decay_epochs": 3},
    {"warmup_steps": 600},
    {"augmentation": {"hue": 0.2}},
    {"net": "protonet", "frozen_batch_norm": True},
    {"net": "protonet", "frozen_batch_norm": True},
    {"prefixes": (1,)},
    {"use_labels": False, "loss": "softmax", "sampler": "shuffled", "views": 2, "augmentation": {"rotate": 15.0}},
    {"dataset": "moons", "augmentation": {"rotate": 15.0}},
    {"prefixes": (2, 8), "projection_dim": 8},
    {"dataset": "identities", "loss": "triplet", "sampler": "random_triplets", "imbalance": 50.0},
    *({"loss": "weighted_sum", "bn_neck": True, **more} for more in ({}, {"memory": 64})),
    *({"space": "poincare", **more} for more in ({"clip_radius": 5.0}, {"projection_dim": 8}, {"normalize": True})),
]


@pytest.fixture(autouse=True)
def own_data(monkeypatch):
    common: dict[str, Any] = {"summary": "", "classes": tuple("abcdefghijkl"), "size": 28, "mean": 0.5, "std": 0.2}
    for name, more in OWN.items():
        monkeypatch.setitem(DATASETS._in_folders, name, DatasetSpec(name=name, title=name, **common, **more))


def drawn(count: int) -> Iterator[tuple[dict[str, Any], TrainConfig | None, str]]:
    """Settings, the config that they make, and the sentence if they make none."""
    draw = random.Random(371)
    for _ in range(count):
        fields = {name: draw.choice(values) for name, values in VALUES.items() if draw.random() < 0.15}
        if draw.random() < 0.3:  # what would rarely meet
            fields |= draw.choice(SETTINGS)
        if "miner" in fields and fields["miner"] is None and draw.random() < 0.3:
            fields["miner_params"] = {"a": 1}
        try:
            yield fields, TrainConfig(**fields), ""
        except UserError as error:
            yield fields, None, str(error)


def refusal(fields: dict[str, Any]) -> tuple[int, str]:
    """Number and sentence of the first rule that some settings break."""
    config = TrainConfig.unchecked(fields)
    for number, rule in enumerate(RULES):
        try:
            rule.refuse(config)
        except UserError as error:
            return number, str(error)
    return -1, ""


def test_settings_are_refused_with_the_sentence_of_the_first_rule_that_they_break() -> None:
    first = set()
    for fields, config, sentence in drawn(4000):
        number, words = refusal(fields)
        assert words == sentence, fields
        assert (config is None) == sentence.endswith(".")
        first.add(number)
    assert first == {-1, *(number for number, rule in enumerate(RULES) if rule.sentence)}


@pytest.mark.slow
def test_the_form_carries_over_what_replace_does_and_nothing_else_changes() -> None:
    draw = random.Random(27)
    usual = {"classes_per_batch", "miner_params", "loss_params"}  # follow from others
    accepted = [config for _, config, _ in drawn(3000) if config is not None]
    moved, refused = set(), 0
    for config in accepted:
        name = draw.choice([*VALUES, *(name for rule in RULES for name in rule.to)])
        value = draw.choice([value for value in VALUES[name] if value != getattr(config, name)])
        draft = TrainingDraft()
        draft.load(config)
        draft.set(name, value)
        try:
            changed, said = config.replace(**{name: value}), []
        except UserError as error:
            changed, said = config, [str(error)]
        assert [*draft.messages.all().values()] == said, (config, name, value)
        if said:
            refused += 1
            continue
        assert getattr(changed, name) == value
        if name not in ("dataset", "loss", "use_labels", "embedding_dim"):  # which recommend other values
            differs = {key for key in VALUES if getattr(changed, key) != getattr(config, key)} - {name}
            may = {key for rule in RULES if name in rule.to for key in rule.gives_way}
            assert differs <= may | usual, (config, name, value)
            moved |= differs
            assert changed == draft.config("mnist"), (config, name, value)
    assert moved >= {"miner", "frozen_batch_norm"}
    assert refused > 50


def test_every_setting_has_a_field_whose_control_offers_its_value() -> None:
    assert set(FIELDS) == set(TrainConfig.model_fields)
    for _, config, _ in drawn(300):
        for name, field in FIELDS.items() if config is not None else ():
            value = getattr(config, name)
            if field.options is not None and field.has_meaning(config):
                assert value in field.options(config), name
                assert text_of(config, name)
            elif isinstance(value, int | float) and field.options is None and field.has_meaning(config):
                least, most = limits(config, name)
                assert least <= value <= most, name
                assert type(least) is type(most) is type(value)


def test_a_badge_tells_of_each_setting_that_is_not_usual() -> None:
    assert badges(TrainConfig(loss="softmax", views=2, augmentation={"rotate": 15.0}, label_noise=0.25, seed=7)) == [
        *("MNIST", LOSSES["softmax"].title, "Small", "64-d free", "600 steps"),
        *("25% of labels wrong", "2 views", "augmented", "seed 7"),
    ]
