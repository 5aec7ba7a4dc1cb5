"""The formulas that the page computes itself, held against the library's losses and torch's gradients."""

import random

import pytest
import torch

from dmlviz import losses
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.parameters import Parameter
from dmlviz.miners.tuples import Triplets

NAMES = [name for name in LOSSES if name != "weighted_sum"]
BATCHES = ([0, 0, 1], [0, 0, 1, 1], [0, 1, 2, 0, 1, 2, 0, 1])


def drawn(parameter: Parameter, rng: random.Random):
    """A value that the page's slider can take."""
    if parameter.kind is bool:
        return rng.random() < 0.5
    if parameter.kind is str:
        return rng.choice(parameter.choices)
    if parameter.special_values and rng.random() < 0.5:
        return rng.choice(parameter.special_values)
    high = min(parameter.maximum, max(2 * parameter.default, 1))
    if parameter.kind is int:
        return rng.randint(int(parameter.minimum), int(high))
    return rng.uniform(max(parameter.minimum, 0.05), high)


def case(name: str, seed: int):
    """A module in float64, its input, and the same as plain data."""
    rng = random.Random(f"{name} {seed}")
    torch.manual_seed(rng.randrange(2**31))
    declared, labels = LOSSES[name], BATCHES[seed % len(BATCHES)]
    params = {} if seed < 2 else {parameter.name: drawn(parameter, rng) for parameter in declared.parameters}
    params = declared.with_defaults(params | ({"hidden": 2} if name == "hinge_pair" else {}))
    dims = 2 + seed % 2
    module = losses.build(name, embedding_dim=dims, num_classes=3, **params).double()
    own = {key: torch.randn_like(value) for key, value in module.named_parameters()}
    if name == "hinge_pair":  # its net says the same of every pair
        own = {key: torch.full_like(value, rng.uniform(-2, 2) * (key == "bias")) for key, value in own.items()}
    with torch.no_grad():
        for key, value in module.named_parameters():
            value.copy_(own[key])
    told = {key: value.tolist() for key, value in own.items()}
    told["score"] = told.get("bias")
    x = (torch.randn(len(labels), dims, dtype=torch.float64) * 0.8).requires_grad_()
    triplets = None
    if "triplets" in declared.tuple_kinds and "pairs" not in declared.tuple_kinds and seed % 2:
        triplets = [[a, p, n] for a, p, n in [(0, 1, 2), (0, 3, 1)] if max(a, p, n) < len(labels)]
        triplets = [t for t in triplets if labels[t[0]] == labels[t[1]] != labels[t[2]]]
    plain = {
        "loss": name,
        "params": params,
        "points": x.tolist(),
        "labels": labels,
        "triplets": triplets,
        "own": told,
    }
    return module, x, plain


@pytest.fixture(scope="module")
def computed(page_script):
    """What node computes for every case, in one go: {(name, seed): (module, x, plain, result)}."""
    keys = [(name, seed) for name in NAMES for seed in range(6)]
    cases = [case(*key) for key in keys]
    answer = page_script("formulas", [plain for *_, plain in cases])
    found = zip(cases, answer["results"], strict=True)
    return answer["names"], dict(zip(keys, [(*made, result) for made, result in found], strict=True))


def test_every_loss_but_sums_has_a_formula_on_the_page(computed):
    assert sorted(computed[0]) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_loss_and_forces_on_the_page_are_the_librarys(computed, name):
    for seed in range(6):
        module, x, plain, result = computed[1][name, seed]
        labels = torch.tensor(plain["labels"])
        tuples = None if plain["triplets"] is None else Triplets(*torch.tensor(plain["triplets"]).T)
        loss = module(x, labels, tuples)
        learned = [module.weight] if "weight" in plain["own"] else []
        gradient, *on_weights = torch.autograd.grad(loss, [x, *learned])
        assert result["loss"] == pytest.approx(loss.item(), rel=1e-6, abs=1e-9), plain
        torch.testing.assert_close(torch.tensor(result["gradients"]).double(), gradient, rtol=1e-5, atol=1e-7)
        for found, expected in zip([result["onWeights"]], on_weights, strict=bool(learned)):
            torch.testing.assert_close(torch.tensor(found).double(), expected, rtol=1e-5, atol=1e-7)
        if result["terms"]:
            assert result["active"] / result["terms"] == pytest.approx(float(module.active), abs=1e-6), plain
