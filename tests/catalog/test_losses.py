"""The catalog of losses: complete texts, valid choices, and weighted sums of two."""

import ast
from collections.abc import Iterator
from pathlib import Path

import dmlviz_app
import pytest
import torch

import dmlviz
from dmlviz import TrainConfig, losses, miners
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError


def test_every_loss_is_explained():
    for loss in losses.LOSSES.values():
        assert all((loss.title, loss.formula, loss.family, loss.reference)), loss.name
        assert loss.summary.endswith("."), loss.name
        assert len(loss.summary) < 160, loss.name
        assert loss.when_to_use.endswith("."), loss.name
        for parameter in loss.parameters:
            assert parameter.help, (loss.name, parameter.name)
            assert parameter.kind is not float or None not in (parameter.minimum, parameter.maximum), loss.name


@pytest.mark.parametrize("loss_name", losses.LOSSES)
def test_every_loss_trains_by_its_name_alone(loss_name):
    config = TrainConfig(loss=loss_name)
    assert config.miner is None or config.miner in TrainConfig(loss=loss_name, miner=config.miner).miner
    assert TrainConfig.from_json(config.to_json()) == config
    loss = losses.build(loss_name, embedding_dim=4, num_classes=3, **config.loss_params)
    x = torch.randn(12, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss(x, torch.arange(12) % 3).backward()
    assert x.grad.abs().max() > 0
    assert loss.active > 0


def test_unknown_names_and_parameters_are_answered_with_the_known_ones():
    with pytest.raises(UserError, match="did you mean 'contrastive'"):
        losses.build("contrastiv")
    with pytest.raises(UserError, match="no parameter 'margni'; its parameters are margin, pos_margin, reduction"):
        losses.build("contrastive", margni=1)
    with pytest.raises(UserError, match=r"temperature lies between 0\.001 and 10; got 0"):
        losses.build("nt_xent", temperature=0)


def test_a_sum_is_one_configuration_however_it_is_written():
    plain = TrainConfig(loss="weighted_sum", loss_params={"a": "triplet", "b": "softmax", "weights": [1, 0.5]})
    for a in ({"name": "triplet"}, {"name": "triplet", "margin": 0.2}, "{'name': 'triplet'}"):
        for weights in ("1, 0.5", "[1.0, 0.5]", (1, 0.5)):
            assert plain.replace(loss_params={"a": a, "b": "softmax", "weights": weights}).id == plain.id
    other = plain.replace(loss_params={"a": {"name": "triplet", "margin": 0.3}})
    assert other.loss_params["a"] == {"name": "triplet", "margin": 0.3, "distance": "euclidean", "reduction": "mean"}
    assert TrainConfig.from_json(other.to_json()) == other


def test_a_sum_takes_the_miners_of_its_losses_and_the_advice_of_its_first():
    triplets = {"a": "triplet", "b": "softmax"}
    assert TrainConfig(loss="weighted_sum", loss_params=triplets, miner="hardest_negative").miner == "hardest_negative"
    with pytest.raises(UserError, match="weighted_sum takes triplets; all_pairs makes pairs"):
        TrainConfig(loss="weighted_sum", loss_params=triplets, miner="all_pairs")
    with pytest.raises(UserError, match="weighted_sum takes no miner; all_pairs"):
        TrainConfig(loss="weighted_sum", loss_params={"a": "arcface", "b": "softmax"}, miner="all_pairs")
    for name in ("contrastive", "nca", "softmax"):
        advice = losses.LOSSES[name].recommended
        config = TrainConfig(loss="weighted_sum", loss_params={"a": name})
        assert {field: getattr(config, field) for field in advice} == dict(advice)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"a": "weighted_sum"}, "no sum itself"),
        ({"a": "tripel"}, "did you mean 'triplet'"),
        ({"a": {"name": "triplet", "margn": 3}}, "triplet has no parameter 'margn'"),
        ({"b": {"name": "arcface", "scale": -1}}, "arcface: scale lies between"),
        ({"b": {"margin": 3}}, 'b is a loss, as in "triplet"; got'),
        ({"b": None}, "b is a loss"),
        ({"weights": [1]}, "weights is 2 numbers, as in 1, 0.5; got"),
        ({"weights": "heavy"}, "weights is 2 numbers"),
        ({"weights": [1, -1]}, "weights lies between 0 and 1000; got -1"),
        ({"c": 1}, "its parameters are a, b, weights"),
    ],
)
def test_an_invalid_sum_is_one_sentence(params, said):
    with pytest.raises(UserError, match=said):
        TrainConfig(loss="weighted_sum", loss_params=params)


def test_each_loss_of_a_sum_sees_the_tuples_it_takes():
    x, labels = torch.randn(12, 4, generator=torch.Generator().manual_seed(0)), torch.arange(12) % 3
    triplets = miners.build("hardest_negative")(x, labels)
    both = losses.build("weighted_sum", a="contrastive", b="triplet")
    expected = losses.build("contrastive")(x, labels) + losses.build("triplet")(x, labels, triplets)
    torch.testing.assert_close(both(x, labels, triplets), expected)
    pairs = miners.build("hard_negative_pairs")(x, labels)
    expected = losses.build("contrastive")(x, labels, pairs) + losses.build("triplet")(x, labels)
    torch.testing.assert_close(both(x, labels, pairs), expected)


def test_sums_train_the_weights_of_both_losses():
    loss = losses.build("weighted_sum", a="margin", b="arcface", embedding_dim=4, num_classes=3)
    assert {name for name, _ in loss.named_parameters()} == {"a.beta", "b.weight"}
    assert losses.LOSSES["weighted_sum"].needs_classes
    assert not losses.build("weighted_sum", a="contrastive", b="nt_xent").declaration.needs_classes
    with pytest.raises(UserError, match="got no num_classes"):
        losses.build("weighted_sum")


IN_DIMENSIONS = [(loss.name, dimensions) for loss in losses.LOSSES.values() for dimensions in loss.in_dimensions]


@pytest.mark.parametrize(("name", "dimensions"), IN_DIMENSIONS)
def test_recommendations_for_a_dimension_apply_only_there_and_can_be_overridden(name, dimensions):
    declared = losses.LOSSES[name]
    advice = declared.in_dimensions[dimensions]
    config = TrainConfig(loss=name, embedding_dim=dimensions)
    assert config.loss_params == declared.params_in(dimensions)
    assert config.loss_params.items() >= advice.get("loss_params", {}).items()
    assert all(getattr(config, field) == value for field, value in advice.items() if field != "loss_params")
    assert TrainConfig(loss=name).loss_params == declared.with_defaults({})
    assert TrainConfig(loss=name).steps == TrainConfig.model_fields["steps"].default
    given = TrainConfig(loss=name, embedding_dim=dimensions, steps=77, loss_params=declared.with_defaults({}))
    assert given.loss_params == declared.with_defaults({})
    assert given.steps == 77
    for known in (config, given):
        assert TrainConfig.from_json(known.to_json()).id == known.id
    other = {"loss": "triplet", "embedding_dim": dimensions}
    assert config.replace(loss="triplet") == TrainConfig(**other)
    assert TrainConfig(**other).replace(loss=name) == config


def test_setting_one_parameter_keeps_the_other_recommendations():
    config = TrainConfig(loss="arcface", embedding_dim=2, loss_params={"margin": 0.5})
    assert config.loss_params == losses.LOSSES["arcface"].params_in(2) | {"margin": 0.5}


def test_in_two_dimensions_class_weights_start_evenly_in_seeded_order():
    def angles(seed, **params):
        weight = losses.build(params.pop("name"), embedding_dim=2, num_classes=10, seed=seed, **params).weight.detach()
        return torch.rad2deg(torch.atan2(weight[:, 1], weight[:, 0])) % 360

    begun = angles(0, name="arcface")
    gaps = begun.sort().values.diff()
    torch.testing.assert_close(gaps, torch.full((9,), 36.0), rtol=0, atol=1e-3)
    assert begun.argsort().tolist() != angles(1, name="arcface").argsort().tolist()
    several = angles(0, name="soft_triple", centers=3).view(10, 3)
    within = (several - several[:, :1]) % 360
    torch.testing.assert_close(within, torch.tensor([0.0, 12.0, 24.0]).expand(10, 3), rtol=0, atol=1e-3)


def test_a_catalog_says_whether_it_holds_a_name():
    assert "triplet" in LOSSES
    assert "tripel" not in LOSSES
    assert None not in LOSSES


# Words of other meanings too: a key of a frame, a parameter, a kind of space, an alarm, a picture, a module, a term's.
AMBIGUOUS = {"margin", "center", "circle", "collapsed", "map", "recall_at_k", "numbers", "linear"}
# Where the choices are implemented: a table of scores by name, the kinds of linear projections. And the experiments,
# each of which says what it compares.
HOMES = ("dmlviz/metrics/", "dmlviz/ops/linear_projection.py", "dmlviz/labs/")
NAMES = {*LOSSES, *MINERS, *NETS, *SAMPLERS, *DATASETS.builtin, *METRICS, *PROJECTIONS} - AMBIGUOUS


def comparisons(source: str) -> Iterator[str]:
    """Every name that is compared with, matched, or used as a key of a table."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        else:
            continue
        for constant in (one for part in parts for one in ast.walk(part) if isinstance(one, ast.Constant)):
            if constant.value in NAMES:
                yield f"{constant.lineno}: {constant.value}"


def test_the_search_for_names_finds_an_offender():
    found = comparisons("x = name == 'arcface' or name in ('triplet', 'x')\ny = {'lenet': 1}")
    assert set(found) == {"1: arcface", "1: triplet", "2: lenet"}


@pytest.mark.slow
def test_no_code_asks_for_a_choice_by_name():
    roots = [Path(dmlviz.__file__).parent, Path(dmlviz_app.__file__).parent]
    catalog = roots[0] / "catalog"
    files = [
        path
        for root in roots
        for path in root.rglob("*.py")
        if catalog not in path.parents and not path.relative_to(root.parent).as_posix().startswith(HOMES)
    ]
    asked = {f"{path}:{where}" for path in files for where in comparisons(path.read_text())}
    assert len(files) > 100
    assert asked == set()
