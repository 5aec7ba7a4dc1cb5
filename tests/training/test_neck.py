"""A BNNeck: which loss sees what, in a training step as plain loops; the same net in every export."""

from itertools import product

import pytest
import torch
from torch.nn.functional import cross_entropy

from dmlviz import nets
from dmlviz.errors import UserError
from dmlviz.export.onnx_file import from_bytes
from dmlviz.export.program.training import embedding_program, training_program
from dmlviz.nets.models import freeze_batch_norm, mahalanobis_matrix, templates
from dmlviz.ops.labeled_batch import LabeledBatch, Memory
from dmlviz.training.trainer import Trainer
from dmlviz.training.tuple_difficulty import ComparingLoss

NECK = {"loss": "weighted_sum", "loss_params": {"a": "triplet", "b": "softmax", "weights": [2.0, 0.5]}, "bn_neck": True}


@pytest.mark.parametrize("normalize", [False, True])
def test_a_step_gives_each_loss_its_own_side_of_the_neck(digits, quick, normalize: bool) -> None:
    config = quick(**NECK, classes_per_batch=3, images_per_class=2, embedding_dim=5, miner=None, normalize=normalize)
    trainer = Trainer(config, digits, torch.device("cpu"))
    rows = next(trainer.batches)
    trainer.batches = iter([rows])
    labels, body, neck, softmax = trainer.labels[rows], trainer.net.body, trainer.net.neck, trainer.loss.b

    f = body(trainer.train_images[torch.from_numpy(rows)])
    deviation = (sum((row - sum(f) / 6) ** 2 for row in f) / 6 + neck.eps).sqrt()
    out = torch.stack([neck.weight * (row - sum(f) / 6) / deviation for row in f])
    out = out / out.norm(dim=1, keepdim=True) if normalize else out
    drawn = [(a, p, n) for a, p, n in product(range(6), repeat=3) if a != p and labels[a] == labels[p] != labels[n]]
    triplets = sum(torch.relu((f[a] - f[p]).norm() - (f[a] - f[n]).norm() + 0.2) for a, p, n in drawn) / len(drawn)
    expected = 2.0 * triplets + 0.5 * cross_entropy(out @ softmax.weight.T + softmax.bias, labels)
    weights = [*body.parameters(), neck.weight]
    gradients = torch.autograd.grad(expected, weights)
    stats = trainer.train_step(1, record=True)
    assert stats.loss == pytest.approx(float(expected.detach()), rel=1e-5)
    torch.testing.assert_close([weight.grad for weight in weights], [*gradients], rtol=1e-3, atol=1e-5)
    record = trainer.record_batch(1, stats)
    torch.testing.assert_close(torch.from_numpy(record.embeddings_before), f.detach())
    assert ComparingLoss.from_config(config, record).name == "triplet"


def test_a_memory_and_prefixes_have_both_sides_of_the_neck(digits, quick) -> None:
    more = {"classes_per_batch": 3, "images_per_class": 2, "miner": None, "normalize": True, "steps": 9}
    trainer = Trainer(quick(**NECK, **more, embedding_dim=5, memory=12, prefixes=(2,)), digits, torch.device("cpu"))
    batches = [torch.from_numpy(next(trainer.batches)) for _ in range(2)]
    trainer.batches = iter([rows.numpy() for rows in batches])
    trainer.train_step(1)
    held = Memory(trainer.neck.entered, trainer.labels[batches[0]], batches[0])
    f, labels = trainer.net.body(trainer.train_images[batches[1]]), trainer.labels[batches[1]]
    out, expected = trainer.net(trainer.train_images[batches[1]]), []
    for loss, k in (trainer.loss, 5), (trainer.of_prefixes[0], 2):
        seen = LabeledBatch(f[:, :k], labels, held._replace(embeddings=held.embeddings[:, :k]), batches[1])
        cut = LabeledBatch(torch.nn.functional.normalize(out[:, :k]), labels)
        expected.append(2.0 * loss.a.compute(seen, None) + 0.5 * loss.b.compute(cut, None))
    assert trainer.train_step(2).loss == pytest.approx(float(sum(expected).detach() / 2), rel=1e-4)


def test_in_testing_the_neck_has_the_statistics_of_training_and_every_export_is_that_net() -> None:
    net = nets.build("small", embedding_dim=4, normalize=False, size=8, bn_neck=True, seed=0).train()
    images = torch.randint(0, 256, (20, 1, 8, 8), dtype=torch.uint8)
    given = (images.float() / 255 - 0.3) / 0.2
    for _ in range(3):
        net(given)
    neck = net.eval().neck
    expected = (net.body(given) - neck.running_mean) / (neck.running_var + neck.eps).sqrt() * neck.weight
    torch.testing.assert_close(net(given), expected)
    torch.testing.assert_close(from_bytes(net, 0.3, 0.2)(images), expected)
    assert {"neck.running_mean", "neck.running_var"} <= embedding_program(net, 20, (1, 8, 8))[1].keys()  # of a page
    assert freeze_batch_norm(net) == []


def test_what_a_neck_excludes_is_said(quick) -> None:
    with pytest.raises(UserError, match="A page trains with labels and images as they are; got bn_neck"):
        training_program(quick(**NECK))
    for read in (templates, mahalanobis_matrix):
        with pytest.raises(UserError, match="A net with a BNNeck scales and shifts"):
            read(nets.build("linear", normalize=False, bn_neck=True, size=8))
    with pytest.raises(UserError, match="this linear takes points of 2 numbers"):
        templates(nets.build("linear", of_points=True, size=8))
