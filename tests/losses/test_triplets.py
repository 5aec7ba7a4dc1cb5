"""All triplets without listing them, and what else is special about triplets."""

import subprocess
import sys
import textwrap
from itertools import permutations
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz import losses
from dmlviz.errors import UserError
from dmlviz.losses.hierarchical import ClassTree
from dmlviz.miners.tuples import Triplets
from dmlviz.training.refresh import NeedsTrainEmbeddings

LINE = torch.tensor([[0.0], [1.0], [3.0], [4.0]], dtype=torch.float64), torch.tensor([0, 0, 1, 1])


def every_triplet(labels):
    n = len(labels)
    same = labels[:, None] == labels
    keep = (same & ~torch.eye(n, dtype=torch.bool))[:, :, None] & ~same[:, None, :]
    return Triplets(*keep.nonzero(as_tuple=True))


@pytest.mark.parametrize("name", ["triplet", "triplet_soft", "batch_hard"])
def test_a_collapsed_space_is_the_plateau_at_the_margin(name):
    x = torch.full((8, 3), 0.7, requires_grad=True)
    loss = losses.build(name)
    value = loss(x, torch.arange(8) // 2)
    assert value.item() == pytest.approx(0.6931472 if name == "triplet_soft" else 0.2)
    assert loss.active == 1
    assert torch.autograd.grad(value, x)[0].abs().max() == 0


def test_sixteen_images_of_ten_classes_make_345600_triplets():
    loss = losses.build("triplet", margin=1, reduction="sum")
    assert loss(torch.zeros(160, 2), torch.arange(160) % 10) == 345_600


HINGES = [("triplet", {"margin": 1.0}), ("triplet_ratio", {"margin": 1.0}), ("triplet_soft", {})]


@pytest.mark.slow
@settings(max_examples=30)
@given(data=st.data(), reduction=st.sampled_from(["mean", "sum", "nonzero"]))
@pytest.mark.parametrize(("name", "params"), HINGES)
def test_all_triplets_equal_every_triplet_listed_with_ties_and_uneven_classes(name, params, data, reduction):
    n = data.draw(st.integers(2, 14))
    labels = torch.tensor(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    grid = st.lists(st.integers(0, 3), min_size=2, max_size=2)  # many equal distances, some exactly at the margin
    x = torch.tensor(data.draw(st.lists(grid, min_size=n, max_size=n)), dtype=torch.float64, requires_grad=True)
    loss = losses.build(name, **params, reduction=reduction)
    whole = loss(x, labels)
    active = loss.active
    listed = loss(x, labels, every_triplet(labels))
    torch.testing.assert_close(whole, listed, rtol=1e-12, atol=1e-12)
    assert active == loss.active
    gradients = [torch.autograd.grad(value, x)[0] for value in (whole, listed)]
    if name != "triplet_ratio":  # which has kinks of its own where terms are exactly zero
        torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "params"), HINGES)
def test_all_triplets_in_float32_equal_float64(name, params):
    x = torch.nn.functional.normalize(torch.randn(150, 16, generator=torch.Generator().manual_seed(2)))
    labels = torch.arange(150) % 7
    loss = losses.build(name, **params)
    results = []
    for points in (x.clone().requires_grad_(), x.double().requires_grad_()):
        value = loss(points, labels)
        results.append((value.double(), torch.autograd.grad(value, points)[0].double()))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-6, atol=0)
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-3, atol=1e-7)


def test_all_triplets_do_not_come_unreduced_but_mined_ones_do():
    loss = losses.build("triplet", margin=2, reduction="none")
    with pytest.raises(UserError, match="use a miner"):
        loss(*LINE)
    assert loss(*LINE, every_triplet(LINE[1])).tolist() == [0, 0, 1, 0, 0, 1, 0, 0]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_2048_images_take_less_than_500_megabytes():
    code = r"""
        import re, torch
        from dmlviz import losses
        torch.set_num_threads(1)
        loss, labels = losses.build("triplet"), torch.arange(2048) % 128
        peak = lambda: int(re.search(r"VmHWM:\s*(\d+) kB", open("/proc/self/status").read())[1]) / 1024
        loss(torch.randn(64, 64, requires_grad=True), labels[:64]).backward()
        before = peak()
        loss(torch.randn(2048, 64, requires_grad=True), labels).backward()
        print(peak() - before)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True)
    assert 10 < float(run.stdout) < 500


def test_the_class_tree_of_the_training_set_replaces_that_of_the_batch():
    loss = losses.build("hierarchical_triplet", reduction="sum")
    x = torch.randn(12, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(12) % 3
    own_tree = loss(x, labels)
    assert isinstance(loss, NeedsTrainEmbeddings)
    loss.refresh(x, labels)
    assert loss(x, labels) == own_tree
    loss.refresh(torch.randn(60, 5, generator=torch.Generator().manual_seed(2)), torch.arange(60) % 3)
    assert loss(x, labels) != own_tree
    other = loss(x[:6], labels[:6])
    loss.refresh(x[:0], labels[:0])
    assert loss(x, labels) == own_tree
    assert other != 0


def test_classes_that_the_tree_lacks_are_parted_by_beta_alone():
    loss = losses.build("hierarchical_triplet", beta=0.3)
    x = torch.ones(8, 5)
    loss.refresh(torch.randn(20, 5), torch.arange(20) % 2)
    assert loss(x, 10 + torch.arange(8) % 2).item() == pytest.approx(0.3)


def test_classes_far_apart_are_asked_for_more_distance_than_similar_ones():
    directions = torch.tensor([[1.0, 0.05], [1.0, -0.05], [1.0, 0.3], [1.0, 0.4], [-1.0, 0.05], [-1.0, -0.05]])
    loss = losses.build("hierarchical_triplet")
    loss.refresh(directions, torch.tensor([0, 0, 1, 1, 2, 2]))
    merged = loss.tree.merged
    assert merged[0, 1] < merged[0, 2]
    assert merged[0, 2] == merged[1, 2] == merged[2, 0]


def test_two_classes_meet_in_the_drawn_tree_where_the_loss_merges_them():
    random = torch.Generator().manual_seed(3)
    labels = torch.arange(40) % 8 + 5
    x = torch.randn(8, 4, generator=random)[labels - 5] + 0.5 * torch.randn(40, 4, generator=random)
    loss = losses.build("hierarchical_triplet", levels=9)
    nodes = loss.class_tree(loss.batch(x, labels))
    tree = ClassTree(x, labels, 9)
    assert [(node["label"], node["children"]) for node in nodes[:8]] == [(label, []) for label in range(5, 13)]
    assert [node["height"] for node in nodes[:8]] == tree.spread.tolist()
    below = []
    for node in nodes:
        assert node["label"] == -1 or not node["children"]
        below.append({node["label"]} if not node["children"] else set().union(*(below[c] for c in node["children"])))
    assert below[-1] == set(range(5, 13))
    for i, j in permutations(range(8), 2):
        meeting = next(node for node, classes in zip(nodes, below, strict=True) if {i + 5, j + 5} <= classes)
        assert meeting["height"] == tree.merged[i, j].item()
    assert losses.build("triplet").class_tree(loss.batch(x, labels)) == []
