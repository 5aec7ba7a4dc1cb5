"""Saturation, what is active, what is kept, what is learned."""

import math

import pytest
import torch
from pytorch_metric_learning.losses import SmoothAPLoss
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dmlviz import losses
from dmlviz.errors import UserError
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets
from dmlviz.ops.labeled_batch import LabeledBatch

LINE = torch.tensor([[0.0], [1.0], [3.0], [4.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("name", "params", "value"),
    [
        ("nt_xent", {"temperature": 0.01}, math.log(7)),
        ("nt_xent", {"temperature": 10}, math.log(7)),
        ("nca", {}, math.log(7)),
        ("generalized_lifted", {"margin": 1}, 1 + math.log(6)),
        ("fastap", {}, 6 / 7),
    ],
)
def test_the_plateau_of_a_collapsed_space(name, params, value):
    x = torch.ones(8, 5, requires_grad=True)
    loss = losses.build(name, **params)(x, torch.arange(8) // 2)
    assert loss.item() == pytest.approx(value, rel=1e-5)
    loss.backward()
    assert x.grad.abs().max() < 1e-5


def _batch(seed=0, classes=4, images=4, d=8, spread=0.3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(classes).repeat_interleave(images)
    centers = torch.randn(classes, d, generator=generator, dtype=dtype)
    return centers[labels] + spread * torch.randn(len(labels), d, generator=generator, dtype=dtype), labels


@pytest.mark.parametrize("swapped", [False, True])
def test_nt_xent_does_not_saturate(swapped):
    # Well separated the loss is next to nothing, with wrong labels it is large: float32 keeps both.
    x, labels = _batch(spread=0.02)
    x = x + 2 * torch.eye(4, 8, dtype=torch.float64)[labels]
    labels = labels.roll(1) if swapped else labels
    loss = losses.build("nt_xent", temperature=0.01)
    wide, narrow = x.clone().requires_grad_(), x.float().requires_grad_()
    expected, value = loss(wide, labels), loss(narrow, labels)
    assert expected > 20 if swapped else 0 < expected < 1e-8
    torch.testing.assert_close(value.double(), expected, rtol=1e-3, atol=0)
    expected.backward()
    value.backward()
    torch.testing.assert_close(narrow.grad.double(), wide.grad, rtol=1e-2, atol=1e-3 * wide.grad.abs().max().item())


def test_single_precision_agrees_with_double(loss_name):
    x, labels = _batch(spread=0.8)
    results = []
    for dtype in (torch.float64, torch.float32):
        points = x.to(dtype).requires_grad_()
        value = losses.build(loss_name, embedding_dim=8, num_classes=4)(points, labels)
        results.append((value.double(), torch.autograd.grad(value, points)[0].double()))
    (wide, wide_gradient), (narrow, narrow_gradient) = results
    torch.testing.assert_close(narrow, wide, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(narrow_gradient, wide_gradient, rtol=1e-3, atol=1e-4)


class _Largest(TorchDispatchMode):
    """Notes the largest tensor that any operation makes."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        self.numbers = max([self.numbers, *(leaf.numel() for leaf in tree_leaves(made) if torch.is_tensor(leaf))])
        return made


def test_no_tensor_grows_faster_than_the_square_of_the_batch(loss_name):
    n, d = 256, 8
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = losses.build(loss_name, embedding_dim=d, num_classes=16)
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with _Largest() as largest, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        value = loss(x, torch.arange(n) % 16)
    with largest:
        value.backward()
    assert largest.numbers <= 16 * n * n, "a cube would hold n³ = 256 n² numbers"
    assert sum(kept.values()) <= 100 * n * n, "bytes kept for backward"


def test_smooth_ap_that_counts_the_anchor_is_pytorch_metric_learnings():
    x, labels = _batch()  # as many classes as images of each: theirs takes one number for the other
    x.requires_grad_()
    ours, theirs = losses.build("smooth_ap", temperature=0.1, count_anchor=True), SmoothAPLoss(0.1)
    values = ours(x, labels), theirs(x, labels)
    torch.testing.assert_close(*values, check_dtype=False)
    torch.testing.assert_close(*(torch.autograd.grad(value, x)[0] for value in values), rtol=1e-5, atol=1e-7)


def test_a_similarity_of_its_own_takes_the_place_of_the_labels():
    x, labels = _batch()
    graded, same = losses.build("graded_contrastive"), labels[:, None] == labels
    torch.testing.assert_close(graded(x, labels.flip(0), similarity=same), losses.build("supcon")(x, labels))
    assert not torch.isclose(graded(x, labels), losses.build("supcon")(x, labels))
    torch.testing.assert_close(graded(x, labels, similarity=3 * same.double()), graded(x, labels, similarity=same))
    assert graded(x, labels, similarity=torch.zeros(16, 16)) == 0
    with pytest.raises(UserError, match=r"for each of 16 embeddings; got shape \(16,\)"):
        graded(x, labels, similarity=torch.ones(16))


def test_sigreg_sees_the_batch_from_other_sides_after_each_step():
    x, labels = _batch()
    loss = losses.build("sigreg", directions=3)
    values = []
    for _ in range(3):
        values.append(loss(x, labels).item())
        assert loss(x, labels).item() == values[-1]
        loss.after_step(LabeledBatch(x, labels))
    assert len({*values}) == 3
    again = losses.build("sigreg", directions=3)
    again.load_state_dict(loss.state_dict())
    assert again(x, labels) == loss(x, labels)
    normal = torch.randn(2000, 8, generator=torch.Generator().manual_seed(0))
    apart = torch.arange(2000)
    assert loss(normal, apart) < 0.1 < loss(0.1 * normal, apart)


def test_active_is_the_share_of_terms_that_pull():
    labels = torch.tensor([0, 0, 1, 1])
    loss = losses.build("contrastive", margin=2.5)
    loss(LINE, labels)  # both positives, and of four negatives the one at distance 2
    assert loss.active.item() == pytest.approx(3 / 6)
    loss(10 * LINE, labels)
    assert loss.active.item() == pytest.approx(2 / 6)
    assert not loss.active.requires_grad
    # A smooth term is active while a hundredth of its pull is left.
    far = losses.build("nt_xent", temperature=0.05)
    x, classes = _batch(spread=0.01)
    far(x, classes)
    assert far.active == 0
    far(torch.ones(4, 2), labels)
    assert far.active == 1
    assert losses.build("contrastive").active == 0


def test_reduction_none_lists_the_terms():
    labels = torch.tensor([0, 0, 1, 1])
    assert losses.build("contrastive", margin=2.5, reduction="none")(LINE, labels).tolist() == [1, 0, 0, 0.25, 0, 1]
    assert losses.build("lifted", reduction="none")(LINE, labels).shape == (2,)
    with pytest.raises(UserError, match="one of mean, nonzero, sum; got 'most'"):
        losses.build("contrastive", reduction="most")


def test_a_pair_without_direction_counts_for_both_images_an_anchored_one_for_its_anchor():
    x, labels = _batch()
    i, j = (labels[:, None] == labels).triu(1).nonzero(as_tuple=True)
    k, m = (labels[:, None] != labels).triu(1).nonzero(as_tuple=True)
    for name in ("nt_xent", "lifted", "multi_similarity", "snr_contrastive", "fastap"):
        loss = losses.build(name)
        torch.testing.assert_close(loss(x, labels, Pairs(i, j, k, m)), loss(x, labels))
        assert not torch.isclose(loss(x, labels, AnchoredPairs(i, j, k, m)), loss(x, labels)), name


def test_only_the_listed_pairs_are_pulled():
    x, labels = _batch()
    x.requires_grad_()
    one = torch.tensor([0])
    for name in losses.LOSSES:
        if "pairs" in losses.LOSSES[name].tuple_kinds and not losses.LOSSES[name].needs_classes:
            loss = losses.build(name, embedding_dim=8)(x, labels, Pairs(one, one + 1, one, one + 5))
            (gradient,) = torch.autograd.grad(loss, x)
            outside = torch.ones(16, dtype=torch.bool)
            outside[[0, 1, 5]] = False
            if name == "snr_contrastive":  # its regularizer sees every image
                continue
            assert gradient[outside].abs().max() == 0, name


def test_tuples_of_the_wrong_kind_are_refused_with_the_right_kind_named():
    x, labels = _batch()
    index = torch.tensor([0])
    with pytest.raises(UserError, match="contrastive takes pairs; got triplets: use a miner that makes pairs"):
        losses.build("contrastive")(x, labels, Triplets(index, index, index))


def test_margin_learns_where_the_boundary_lies():
    x, labels = _batch(spread=0.1)
    for params, size in (({}, 1), ({"per_class": True}, 4)):
        loss = losses.build("margin", num_classes=4, beta=0.1, **params)
        assert loss.beta.shape == (size,)
        optimizer = torch.optim.SGD(loss.parameters(), lr=0.1)
        for _ in range(50):
            optimizer.zero_grad()
            loss(x, labels).backward()
            optimizer.step()
        assert (loss.beta > 0.3).all(), "boundaries below the distances within a class move outwards"
    with pytest.raises(UserError, match="pass it, or per_class=False"):
        losses.build("margin", per_class=True)
    with pytest.raises(UserError, match="0 to 3; got 0 to 9"):
        losses.build("margin", per_class=True, num_classes=4)(x, labels * 3)


@pytest.mark.slow
def test_contrastive_without_a_margin_diverges_and_says_so():
    x, labels = _batch()
    x.requires_grad_()
    loss = losses.build("contrastive_no_margin")
    values = []
    for _ in range(400):
        value = loss(x, labels)
        (gradient,) = torch.autograd.grad(value, x)
        with torch.no_grad():
            x -= gradient
        values.append(value.item())
    assert values[-1] < -1e6
    assert "margin" in losses.LOSSES["contrastive_no_margin"].caveat


def test_weights_of_a_loss_come_from_the_seed():
    first, same, other = (losses.build("hinge_pair", embedding_dim=4, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.first, same.first)
    assert not torch.equal(first.first, other.first)
    with pytest.raises(UserError, match="pass embedding_dim to build"):
        losses.build("hinge_pair")
