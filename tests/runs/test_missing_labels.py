"""Rows of a table without a label are of no class, whatever is done with the run."""

import numpy as np
import pytest
from typer.testing import CliRunner

from dmlviz.cli.neighbors import app as neighbors_app
from dmlviz.cli.project import app as project_app
from dmlviz.data.embedding_file import EmbeddingTable, validate_vectors
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.runs.example_item import example_item
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.point_values import point_values
from dmlviz.runs.store import Runs


@pytest.fixture(scope="module")
def half_labeled(tmp_path_factory):
    """A run of 90 rows in three groups, of which every second has a label, and its labels."""
    rng, group = np.random.default_rng(0), np.arange(90) % 3
    labels = np.array(list("abc"), object)[group]
    labels[::2] = None
    vectors = validate_vectors(
        "t", EmbeddingTable(5 * rng.normal(size=(3, 6))[group] + rng.normal(size=(90, 6)), labels)
    )
    return import_embeddings(Runs(tmp_path_factory.mktemp("runs")), vectors, "half"), labels


def test_a_neighbor_without_a_label_is_not_of_another_class(half_labeled):
    run, _ = half_labeled
    said = CliRunner().invoke(neighbors_app, [run.id, "1", "--runs", str(run.path.parent)]).output
    assert "no label" in said
    assert not [line for line in said.splitlines() if "no label" in line and "another" in line]
    said = CliRunner().invoke(neighbors_app, [run.id, "--runs", str(run.path.parent)]).output
    assert "another class: 0.0%" in said


def test_it_has_no_center_in_its_view_nor_a_distance_to_one(half_labeled):
    run, labels = half_labeled
    missing = np.array([label is None for label in labels])
    assert np.array_equal(np.isnan(point_values(run, None, "center")), missing)
    known = LinearProjection.class_fan(run.embeddings[~missing], run.labels[~missing])
    assert np.abs(run.linear_projection.components - known.components).max() < 0.1
    assert example_item(run) is None or not missing[example_item(run)]


def test_a_supervised_map_of_the_run_keeps_it_in_its_group(half_labeled):
    run, labels = half_labeled
    missing = np.array([label is None for label in labels])
    words = [run.id, "--method", "umap", "--param", "supervised=true", "--runs", str(run.path.parent)]
    assert CliRunner().invoke(project_app, words).exit_code == 0
    (drawn,) = run.projections()
    near = np.square(drawn.coordinates[:, None] - drawn.coordinates).sum(axis=2).argsort(axis=1)[:, 1:11]
    assert missing[near][missing].mean() == pytest.approx(0.5, abs=0.2)
