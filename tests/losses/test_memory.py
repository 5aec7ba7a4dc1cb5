"""With a memory of earlier batches every loss and miner that takes one equals the same loops over more images."""

import pytest
import torch

from dmlviz import losses, miners
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.miners.tuples import tuples_within
from dmlviz.ops.labeled_batch import LabeledBatch, Memory
from dmlviz.training.memory import CrossBatchMemory

IMAGES = torch.arange(12)
OF_MEMORY = torch.tensor([3, 20, 21, 22, 0, 23, 24])  # two of them are images of the batch


def _remembered(case_type):
    class Remembered(case_type):
        """A batch whose last images are a memory's: no anchors, and no partners of the same image."""

        def _pairs(self, same):
            images, count = torch.cat([IMAGES, OF_MEMORY]).tolist(), len(IMAGES)
            return [(i, j) for i, j in super()._pairs(same) if i < count and images[i] != images[j]]

        @property
        def anchors(self):
            return range(len(IMAGES))

    return Remembered


def _remembering(case):
    generator = torch.Generator().manual_seed(7)
    kept = 0.4 * torch.randn(len(OF_MEMORY), 6, generator=generator, dtype=torch.float64)
    labels = torch.cat([case.labels[3:4], torch.tensor([0, 1, 2]), case.labels[:1], torch.tensor([4, 5])])
    together = torch.cat([case.labels, labels])
    peer = _remembered(type(case))(torch.cat([case.x, kept]), together)
    return LabeledBatch(case.x, case.labels, Memory(kept, labels, OF_MEMORY), IMAGES), peer


def _gradients(value, leaves):
    found = torch.autograd.grad(value, leaves, allow_unused=True)
    return [torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, found, strict=True)]


def test_a_memory_adds_its_images_to_the_loops(remembering, random_case):
    oracle, taken = remembering, LOSSES[remembering.name].memory
    case, loss = random_case(), oracle.build()
    batch, peer = _remembering(case)
    leaves, tuples = [case.x, *loss.parameters()], None
    if taken == "mined":
        tuples = miners.build("hardest_negative").mine(batch)
        peer.tuples = tuples
    ours, theirs = loss.compute(batch, tuples), oracle.peer(peer, loss)
    pairs = zip([ours, *_gradients(ours, leaves)], [theirs, *_gradients(theirs, leaves)], strict=True)
    for mine, expected in pairs:
        torch.testing.assert_close(mine, expected, rtol=oracle.tolerance, atol=oracle.tolerance)


@pytest.mark.parametrize("name", [name for name, spec in LOSSES.items() if not spec.needs_pairs])
def test_a_loss_with_weights_of_classes_leaves_a_memory_to_the_other_of_a_sum(name, random_case):
    case = random_case()
    batch, _ = _remembering(case)
    loss = losses.build(name, embedding_dim=6, num_classes=5).double()
    torch.testing.assert_close(loss.compute(batch), loss(case.x, case.labels))


@pytest.mark.parametrize("name", [name for name in MINERS if name != "offline_hard"])
def test_a_miner_selects_from_a_memory_but_never_the_same_image(name, random_case):
    case = random_case()
    batch, peer = _remembering(case)
    mined = miners.build(name).mine(batch)
    sides = ((mined[0], mined[1]), (mined[-3 if len(mined) == 3 else -2], mined[-1]))
    listed = [{*zip(a.tolist(), b.tolist(), strict=True)} for a, b in sides]
    for found, possible in zip(listed, (peer.positives, peer.negatives), strict=True):
        assert found <= {(a, b) for a in peer.anchors for b in possible(a)}
    assert max(max(b for _, b in side) for side in listed) >= len(case.labels)
    assert all(int(index.max()) < len(case.labels) for index in tuples_within(mined, len(case.labels)))


def test_a_memory_forgets_the_oldest_and_begins_when_the_net_is_warm():
    memory, x = CrossBatchMemory(5, steps=20), torch.arange(16.0)[:, None]
    held = []
    for step in range(1, 7):
        rows = slice(2 * step, 2 * step + 2)
        batch = memory.beside(x[rows], torch.zeros(2), torch.arange(16)[rows])
        held.append([] if batch.memory is None else sorted(batch.memory.embeddings.flatten().tolist()))
        memory.keep(step, x[rows].requires_grad_(), torch.zeros(2), torch.arange(16)[rows])
    assert held == [[], [], [], [6, 7], [6, 7, 8, 9], [7, 8, 9, 10, 11]]
    assert not memory.beside(x[:2], torch.zeros(2), torch.arange(2)).memory.embeddings.requires_grad
