"""The terms that are told of a recorded batch are those of its loss, and their formulas hold with their numbers."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from dmlviz import losses, miners
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.losses.answers import BatchTerms
from dmlviz.miners.tuples import Pairs
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.batch_recorder import BatchRecorder
from dmlviz.training.batch_terms import NO_TERMS, batch_terms, class_arcs
from dmlviz.training.tuple_difficulty import classify_tuples

# Each lists all its terms: one a comparison.
ONE_EACH: dict[str, dict[str, Any]] = {
    "contrastive": {"loss": "contrastive", "miner": None},
    "contrastive, mined": {"loss": "contrastive", "miner": "hard_negative_pairs"},
    "contrastive, classical": {"loss": "contrastive", "sampler": "random_pairs"},
    "triplet": {"loss": "triplet", "miner": "hardest_negative"},
    "triplet, one an anchor": {"loss": "triplet", "miner": "batch_hard"},
    "triplet_soft": {"loss": "triplet_soft", "miner": "batch_hard"},
    "multi_similarity": {"loss": "multi_similarity", "miner": None},
    "nt_xent": {"loss": "nt_xent"},
    "batch_hard": {"loss": "batch_hard"},
    "softmax": {"loss": "softmax"},
    "arcface": {"loss": "arcface"},
}
CASES: dict[str, dict[str, Any]] = {name: {"loss": name} for name in LOSSES} | {
    "contrastive, all pairs": {"loss": "contrastive", "miner": None},
    "margin, triplets": {"loss": "margin", "miner": "batch_hard"},
    "margin, of each class": {"loss": "margin", "loss_params": {"per_class": True}, "miner": "all_pairs"},
    "multi_similarity, mined": {"loss": "multi_similarity", "miner": "multi_similarity"},
    "snr_contrastive, all pairs": {"loss": "snr_contrastive", "miner": None},
    "lifted, mined": {"loss": "lifted", "miner": "hard_negative_pairs"},
    "lifted, not squared": {"loss": "lifted", "loss_params": {"squared": False}},
    "nt_xent, mined": {"loss": "nt_xent", "miner": "multi_similarity"},
    "nca, without logarithm": {"loss": "nca", "loss_params": {"log": False}},
    "angular, mined": {"loss": "angular", "miner": "hardest_negative"},
    "batch_hard, soft": {"loss": "batch_hard", "loss_params": {"margin": "soft"}},
    "arcface, without class 3": {"loss": "arcface", "held_out_classes": (3,)},
    "triplet, cosine": {"loss": "triplet", "loss_params": {"distance": "cosine"}, "miner": "hardest_negative"},
    "triplet, all": {"loss": "triplet", "miner": None},
}


def recorded(config: TrainConfig) -> BatchRecord:
    """Images that lie around the centers of their classes, too near each other, as a run records them."""
    random = torch.Generator().manual_seed(1)
    labels, classes = torch.arange(5).repeat_interleave(4), torch.tensor(config.train_classes)
    x = 0.8 * torch.randn(5, 8, generator=random)[labels] + torch.randn(20, 8, generator=random)
    x = (l2_normalize(x) if config.normalize else x).requires_grad_()
    loss = losses.build(config.loss, embedding_dim=8, num_classes=len(classes), seed=1, **config.loss_params)
    with torch.no_grad():
        for weight in loss.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=random)
    tuples = miners.build(config.miner, **config.miner_params)(x, labels) if config.miner else None
    if config.sampler == "random_pairs":
        tuples = Pairs(*(torch.tensor(part) for part in ([0, 4], [1, 5], [2, 6], [8, 12])))
    value = loss(x, labels, tuples)
    recorder = BatchRecorder(torch.arange(20), labels, x, tuples, loss)
    value.backward()
    batch = recorder.finish(1, value.item(), 1.0, torch.nn.Identity(), x)
    assert batch is not None
    return replace(batch, labels=classes[labels].numpy())


def told(fields: dict[str, Any]) -> tuple[BatchRecord, BatchTerms, int]:
    """A batch, its terms, and how many comparisons it has."""
    config = TrainConfig(dataset="digits", embedding_dim=8, **fields)
    batch = recorded(config)
    return batch, batch_terms(config, batch), len(classify_tuples(config, batch).indices)


@pytest.mark.parametrize("case", ONE_EACH)
def test_the_terms_of_all_comparisons_make_the_loss(case: str) -> None:
    batch, found, count = told(ONE_EACH[case])
    assert all(len(terms) == 1 for terms in found.terms)
    assert np.mean([terms[0][0] for terms in found.terms]) == pytest.approx(batch.loss, rel=1e-5)
    assert found.count.startswith(f"{count} ")


@pytest.mark.parametrize("case", CASES)
def test_the_formula_of_a_term_holds_with_its_numbers(case: str) -> None:
    _, found, count = told(CASES[case])
    assert len(found.terms) == count
    if LOSSES[CASES[case]["loss"]].compares_dimensions:
        assert found.reason == NO_TERMS
        return
    assert any(found.terms)
    assert not found.reason
    for value, negative, *numbers in [term for terms in found.terms for term in terms][:200]:
        known = found.constants | dict(zip(found.symbols, numbers, strict=True))
        *steps, last = (found.negative_formula if negative and found.negative_formula else found.formula).split(
            r",\quad "
        )
        for step in steps:
            symbol, formula = step.split(" = ", 1)
            assert evaluate(formula, known) == pytest.approx(known[symbol], rel=2e-4, abs=2e-5), step
        assert evaluate(last, known) == pytest.approx(value, rel=1e-3, abs=1e-4), last
        fill(found.note, known)


@pytest.mark.parametrize("case", CASES)
def test_a_batch_that_compares_one_thing_or_none_has_its_terms(case: str) -> None:
    """As a batch of one class, of one image a class, of a converged net and its miner, is recorded."""
    config = TrainConfig(dataset="digits", embedding_dim=8, **CASES[case])
    full = recorded(config)
    fewer = [{"labels": np.full_like(full.labels, config.train_classes[0])}]
    if full.triplets is not None:
        fewer += [{"triplets": full.triplets[:count]} for count in (0, 1)]
    if full.pairs is not None:
        one = np.zeros_like(full.pairs)
        one[0, 1] = True
        fewer += [{"pairs": np.zeros_like(full.pairs)}, {"pairs": one if full.is_anchored else one | one.T}]
    for part in fewer:
        batch = replace(full, **part)
        found = batch_terms(config, batch)
        assert len(found.terms) == len(classify_tuples(config, batch).indices)
        assert np.isfinite([number for terms in found.terms for term in terms for number in term]).all()
        assert set(found.symbols).isdisjoint(found.constants)


def evaluate(formula: str, numbers: dict[str, float]) -> float:
    """The value of a formula in the LaTeX of the specs."""
    text = re.sub(r"\\[bB]ig|\\[, ]", "", fill(formula, numbers))
    text = text.replace(r"\tfrac12", "(1/2)").replace(r"\cdot", "*")
    while text != (smaller := re.sub(r"e\^\{([^{}]*)\}", r"exp(\1)", text)) or r"\frac" in text:
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", smaller)
    text = re.sub(r"\[(.*)\]_\+", r"relu(\1)", text).replace("^2", "**2").replace("\\", "")
    text = re.sub(r"(?<=[0-9])\(|(?<=\))\s*(?=[a-z(])", lambda match: "*" + match[0], text)
    with np.errstate(over="ignore"):
        names = {"exp": np.exp, "log": np.log, "cos": math.cos, "max": max, "relu": lambda x: max(x, 0.0)}
        return float(eval(text, {"__builtins__": {}}, names))


def fill(text: str, numbers: dict[str, float]) -> str:
    """The text with each number in the place of its symbol; KeyError where a number lacks."""
    in_radians = {"°": f"*{math.pi / 180}", "": ""}
    return re.sub(r"<([^<>]*?)(°?)>", lambda match: f"({numbers[match[1]]!r}{in_radians[match[2]]})", text)


def test_every_loss_that_comes_with_the_program_has_the_formula_of_a_term() -> None:
    single = [spec for spec in LOSSES.values() if not spec.parts({}) and spec.name not in LOSSES.plugged]
    assert all(spec.term_for(spec.with_defaults({})) or spec.compares_dimensions for spec in single)


def test_weights_that_were_not_recorded_are_said_to_lack() -> None:
    config = TrainConfig(dataset="digits", embedding_dim=8, loss="softmax")
    found = batch_terms(config, replace(recorded(config), loss_weights={}))
    assert not any(found.terms)
    assert "not recorded" in found.reason


def test_an_image_of_no_pair_has_no_term() -> None:
    _, found, count = told({"loss": "n_pairs"})
    assert 0 < sum(map(bool, found.terms)) < count


def test_classes_on_a_circle_keep_gaps_as_wide_as_the_angle_of_the_margin() -> None:
    weight = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    for margin in (0.0, 0.4):
        loss = losses.build("arcface", embedding_dim=2, num_classes=4, margin=margin)
        with torch.no_grad():
            loss.get_parameter("weight").copy_(weight)
            arcs = class_arcs(loss, 3 * weight)
        for row in range(4):
            width = sum(arc["end"] - arc["start"] for arc in arcs if arc["row"] == row)
            assert width == pytest.approx(math.pi / 2 - margin, abs=0.02)
    assert class_arcs(losses.build("softmax", embedding_dim=2, num_classes=4), weight) == []
    assert class_arcs(losses.build("triplet"), weight) == []


def test_the_tree_of_a_batch_names_classes_of_the_data_set():
    config = TrainConfig(dataset="digits", loss="hierarchical_triplet", held_out_classes=(0, 3))
    tree = batch_terms(config, recorded(config)).tree
    assert [node["label"] for node in tree[:5]] == [1, 2, 4, 5, 6]
    assert tree[-1]["label"] == -1
    assert batch_terms(TrainConfig(dataset="digits"), recorded(TrainConfig(dataset="digits"))).tree == []
