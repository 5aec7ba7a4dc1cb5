"""A damaged run names its damaged file and affects no other run. The corpus is `damage.py`."""

import ast
import json
import random
import shutil
from pathlib import Path

import dmlviz_app
import numpy as np
import pytest
from damage import KINDS, ask, damaged
from dmlviz_app.runs import state as run_list
from probe import OTHER, Probe, data_folder, make_seed

import dmlviz
from dmlviz.data.embedding_file import EmbeddingTable, validate_vectors
from dmlviz.errors import DamagedFileError
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.damage import damage_summary, run_damage
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.store import Runs

DAMAGED = len(KINDS)


@pytest.fixture(scope="module")
def seed(tmp_path_factory):
    """The folder of a whole small run."""
    return make_seed(tmp_path_factory.mktemp("seed"))


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("DMLVIZ_DATA", "")  # put back afterwards
    return data_folder(tmp_path)


@pytest.fixture
def run(seed, tmp_path):
    """A copy to damage."""
    place = tmp_path / "runs" / seed.name
    shutil.copytree(seed, place)
    return place


@pytest.fixture
def probe(run, data):
    opened = Probe(run.parent, data)
    yield opened
    opened.close()


def test_one_damaged_file_breaks_nothing(seed, tmp_path, data, capsys, whole):
    asked = range(DAMAGED) if whole else random.Random(3).sample(range(DAMAGED), DAMAGED // 2)
    for number, (what, run) in enumerate(damaged(seed, tmp_path / "damaged", DAMAGED, seed=3)):
        assert number not in asked or ask(run, data) == set(), what


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("embeddings.npy", "Unavailable or incomplete: neighbors. Still available: scores, map, net,"),
        ("metrics.json", "Unavailable or incomplete: scores. Still available: map, neighbors, net,"),
        ("snapshots/0.npy", "Unavailable or incomplete: earlier epochs."),
        ("weights.safetensors", "Unavailable or incomplete: net."),
    ],
)
@pytest.mark.parametrize("way", ["cut", "deleted"])
def test_a_card_says_which_file_is_damaged_and_what_can_still_be_had(run, probe, name, lost, way):
    path = run / name
    if way == "deleted":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:40])
    card = next(card for card in run_list.cards(probe.here) if card["run"] == run.name)
    assert card["damage"].startswith(f"{name} is missing. " if way == "deleted" else f"{name} is damaged (")
    assert lost in card["damage"]
    assert card["title"] == "Fails: hardest triplets, rate too large"
    assert probe.shared() == {}


def test_a_run_whose_settings_are_gone_has_a_card_and_can_be_deleted_and_restored(run, probe):
    (run / "run.json").unlink()
    card = next(card for card in run_list.cards(probe.here) if card["run"] == run.name)
    assert card["damage"].startswith("run.json is missing, so the run cannot be opened.")
    assert "embeddings.npy" in card["damage"]
    for deleted in (True, False):
        answer = probe.client.post("/dmlviz/runs/change", json={"run": run.name, "deleted": deleted})
        assert (answer.status_code, run.exists()) == (200, not deleted)


def test_a_route_says_which_file_is_damaged(run, probe):
    (run / "embeddings.npy").write_bytes((run / "embeddings.npy").read_bytes()[:500])
    answer = probe.client.get(f"/dmlviz/runs/{run.name}/nearest.bin")
    assert answer.status_code == 410
    assert answer.json()["error"].startswith(f"embeddings.npy of run {run.name} cannot be read: it is cut off.")


def test_a_run_that_is_whole_has_no_damage(run):
    found = Runs(run.parent).get(run.name)
    assert damage_summary(found, run_damage(found)) == ""
    for projection in found.projections():
        assert projection.events() == [json.loads(line) for line in projection.log.lines()]


def test_damage_is_noticed_after_the_first_look(run):
    found = Runs(run.parent).get(run.name)
    assert run_damage(found) == ()
    (run / "labels.npy").unlink()
    assert run_damage(found)[0].file == "labels.npy"


@pytest.mark.parametrize("labels", [None, np.zeros(9)])
def test_embeddings_without_scores_are_whole_and_claim_no_part_that_they_lack(labels, tmp_path):
    vectors = validate_vectors("n.npy", EmbeddingTable(np.random.default_rng(0).normal(size=(9, 3)), labels))
    assert vectors.class_count == ("" if labels is None else "1 class")
    found = import_embeddings(Runs(tmp_path / "runs"), vectors, "n")
    assert run_damage(found) == ()
    with open(tmp_path / "run.zip", "wb") as file:
        export_run(found, file)
    with open(tmp_path / "run.zip", "rb") as file:
        assert import_run(file, Runs(tmp_path / "others")).embeddings.shape == (9, 3)
    (found.path / "basis.npz").unlink()
    assert damage_summary(found, run_damage(found)) == "basis.npz is missing. Still available: map, neighbors."


def test_a_run_is_trained_again_over_its_damaged_remains(run):
    config = Runs(run.parent).get(run.name).config
    (run / "run.json").write_text("[]")
    assert Runs(run.parent).create(config).config == config


def test_point_values_work_while_another_thread_parses_headers(run, probe, monkeypatch):
    # CPython before 3.11.8 lets `ast.literal_eval` fail so, and np.load reads every header with it (gh-106905).
    def failing(_text):
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(ast, "literal_eval", failing)
    for measure in ("center", "faithfulness"):
        answer = probe.client.get(f"/dmlviz/runs/{run.name}/values/live/{measure}.f32")
        assert answer.status_code == 200
        assert len(answer.content) == 4 * 596


def test_nothing_reads_arrays_but_the_one_place():
    sources = [path for package in (dmlviz, dmlviz_app) for path in Path(package.__file__).parent.rglob("*.py")]
    assert len(sources) > 100
    assert [path.name for path in sources if "np.load(" in path.read_text()] == []


def test_disk_use_counts_what_is_damaged(run, probe):
    from dmlviz.runs.quota import total_size

    before = total_size(probe.here.runs)
    size = (run / "run.json").stat().st_size
    (run / "run.json").write_bytes(b"")
    assert total_size(probe.here.runs) in (before, before - size)
    assert total_size(probe.here.runs) > 0


def test_a_damaged_run_does_not_hide_other_runs(run, probe):
    (run / "run.json").write_bytes(np.random.default_rng(0).bytes(200))
    assert [one.id for one in probe.here.runs.list()] == [OTHER]
    with pytest.raises(DamagedFileError, match=r"run\.json"):
        probe.here.runs.get(run.name)
