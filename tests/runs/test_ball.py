"""A training in the Poincaré ball, from its batches to its files: every distance that it tells is the ball's."""

import io
import json
import zlib

import numpy as np
import pytest
import torch
from dmlviz_app.answers.point_values import moved_embeddings
from safetensors.torch import load_file

from dmlviz import losses, nets
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.export.contents import RunExport
from dmlviz.export.onnx_file import from_bytes
from dmlviz.export.page_contents import run_contents
from dmlviz.export.query_net import query_net
from dmlviz.export.weights import loading, write_thresholds
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.runs.embed import embed
from dmlviz.runs.explanations import occlusion_maps
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.training.batch_terms import batch_terms

C = 2.0


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = TrainConfig(
        dataset="digits", net="mlp", embedding_dim=2, space="poincare", curvature=C, steps=60, num_snapshots=2
    )
    run = Runs(tmp_path_factory.mktemp("runs")).create(config)
    list(train_and_record(run))
    return run


def formula(x, y):
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    squared = ((x[:, None] - y) ** 2).sum(axis=2)
    rooms = np.outer(1 - C * (x**2).sum(axis=1), 1 - C * (y**2).sum(axis=1))
    return np.arccosh(1 + 2 * C * squared / rooms) / C**0.5


def test_embeddings_lie_in_the_ball_and_learn(run):
    assert (np.linalg.norm(np.asarray(run.embeddings), axis=1) < C**-0.5).all()
    assert run.metrics["precision_at_1"] > 0.6


def test_neighbors_and_a_new_picture_are_as_far_as_the_formula_says(run):
    found = run.neighbors(3, 8)
    expected = formula(run.embeddings[[3]], run.embeddings)[0]
    np.testing.assert_allclose([one.distance for one in found], np.sort(expected)[1:9], rtol=1e-3, atol=1e-4)
    image = load("digits").test.images[[3]]
    assert run.neighbors_of_point(embed(run, image)[0], 1)[0].distance == pytest.approx(0, abs=1e-3)
    gallery = Gallery(run)
    kept, _ = gallery.add([*image], ["three"])
    near = gallery.nearest(np.asarray(run.embeddings[9]), 1)[0]
    assert (near.id, near.distance) == (kept[0].id, pytest.approx(expected[9], rel=1e-3))
    images = load("digits").test.images[[3, 9]]
    assert np.isfinite(occlusion_maps(lambda these: embed(run, these), images)).all()


def test_the_terms_of_a_batch_are_those_of_its_loss(run):
    batch = run.batch(run.recorded_batch_steps[-1])
    told = batch_terms(run.config, batch)
    loss = losses.build("nt_xent", temperature=run.config.loss_params["temperature"])
    labels = torch.from_numpy(batch.labels)
    value = loss.compute(LabeledBatch(torch.from_numpy(np.array(batch.embeddings_before)), labels, curvature=C))
    assert value.item() == pytest.approx(batch.loss, rel=1e-3)
    shown = [term[0] for terms in told.terms for term in terms]
    assert np.mean(shown) == pytest.approx(batch.loss, rel=0.2)


def test_files_and_pages_say_the_ball(run):
    export, file = RunExport(run), io.BytesIO()
    write_thresholds(export, file)
    limit = json.loads(file.getvalue())
    assert (limit["distance"], limit["curvature"]) == ("poincare", C)
    assert f"curvature={C}, clip_radius=2.3" in loading(export)
    assert "ball_distance" in loading(export)
    net = nets.build("mlp", embedding_dim=2, normalize=False, curvature=C, size=8).eval()
    net.load_state_dict(load_file(run.path / "weights.safetensors"))
    data = load("digits")
    images = torch.from_numpy(data.test.images[:20])[:, None]
    same = from_bytes(net, data.mean, data.std)(images).detach().numpy()  # what an ONNX file holds
    np.testing.assert_allclose(same, run.embeddings[:20], atol=1e-5)
    contents = run_contents(export)
    _, curvature, *rows = np.frombuffer(zlib.decompress(contents["files"]["rows.bin"]), "<f4")
    np.testing.assert_array_equal(rows, np.ravel(run.embeddings))
    assert curvature == C
    assert "Poincaré ball" in contents["picture"]["note"]
    net_of_page = query_net(export)
    assert net_of_page.description["curvature"] == C
    np.testing.assert_array_equal(net_of_page.embeddings, run.embeddings)
    moved = moved_embeddings(run, None)
    assert np.frombuffer(moved, "<f4", 1, 4) == C
