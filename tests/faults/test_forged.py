"""A forged archive is refused with one sentence, or is harmless. The corpus is `forge.py`."""

import ast
import io
import json
import shlex

import numpy as np
import pyarrow as pa
import pytest
from forge import STRINGS, forged, take_in, zipped
from hostile import new_table, run
from probe import data_folder, make_seed, unexpected_html, unexpected_python, unexpected_shell
from pyarrow import parquet

from dmlviz.config import TrainConfig
from dmlviz.data.embedding_file import read_embeddings
from dmlviz.errors import UserError
from dmlviz.export import RunExport, write
from dmlviz.export.script import as_command, as_python
from dmlviz.runs.archive import import_run
from dmlviz.runs.store import Runs

FORGED = 20


@pytest.fixture(scope="module")
def seed(tmp_path_factory):
    """The folder of a whole small run."""
    return make_seed(tmp_path_factory.mktemp("seed"))


@pytest.fixture(scope="module")
def files(seed):
    """Its files, by name."""
    return {path.relative_to(seed).as_posix(): path.read_bytes() for path in seed.rglob("*") if path.suffix}


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("DMLVIZ_DATA", "")  # put back afterwards
    return data_folder(tmp_path)


def test_a_forged_archive_is_refused_with_one_sentence_or_harmless(seed, tmp_path, data):
    outcomes = set()
    for number, (what, content) in enumerate(forged(seed, FORGED, seed=7)):
        outcome, faults = take_in(content, tmp_path / str(number), data)
        outcomes.add(outcome)
        assert faults == set(), what
    assert outcomes == {"accepted", "refused with a sentence"}


@pytest.mark.parametrize("field", ["device", "threads", "fails", "timings", "created", "pinned", "version"])
@pytest.mark.parametrize("text", ['1); __import__("os").system("touch PWNED"); (', '"; import os; "', "1", "a\nb"])
def test_text_in_place_of_a_number_or_an_identifier_is_refused(files, tmp_path, field, text):
    told = json.loads(files["run.json"]) | {field: text}
    forged_one = zipped(files | {"run.json": json.dumps(told).encode()})
    with pytest.raises(UserError, match=r"run\.json: |incompatible version"):
        import_run(io.BytesIO(forged_one), Runs(tmp_path / "runs"))


def test_text_in_place_of_the_last_step_is_refused(files, tmp_path):
    events = files["events.jsonl"].splitlines()
    for text in STRINGS:
        events[-1] = json.dumps({"event": "stopped", "step": text, "metrics": {}, "reason": "", "time": 1}).encode()
        with pytest.raises(UserError, match=r"events\.jsonl: its last line|line"):
            import_run(io.BytesIO(zipped(files | {"events.jsonl": b"\n".join(events) + b"\n"})), Runs(tmp_path))


@pytest.mark.parametrize("text", STRINGS)
def test_a_title_stays_a_title_in_every_export(files, tmp_path, text, data):
    told = json.loads(files["run.json"]) | {"title": text, "tags": [text]}
    try:
        run = import_run(io.BytesIO(zipped(files | {"run.json": json.dumps(told).encode()})), Runs(tmp_path / "runs"))
    except UserError:
        assert not 0 < len(text) <= 100 or not text.isascii() or not text.isprintable()
        return
    for kept in (RunExport(run), RunExport(run, run.projections()[0])):
        script = as_python(kept)
        assert unexpected_python(script) == ""
        assert ast.get_docstring(ast.parse(script), clean=False).startswith(run.title)
        assert unexpected_shell(as_command(kept)) == ""
    page = io.BytesIO()
    write("html", kept, page)  # with the map and all that the run's own page has
    assert unexpected_html(page.getvalue().decode()) == ""


def test_the_check_of_exports_sees_code_that_is_there():
    assert "system" in unexpected_python('import torch\ntorch.set_num_threads(1); __import__("os").system("x")')
    assert unexpected_python('torch.set_num_threads("1")') == "threads are no number"
    assert unexpected_shell("dmlviz train --steps 5; touch PWNED\n")
    assert unexpected_shell("dmlviz train --net $(touch PWNED)\n")
    assert unexpected_shell("dmlviz train --loss-param 'margin=a; b'\n") == ""
    assert unexpected_html("<script></script>" * 4)


@pytest.mark.parametrize(
    "fields",
    [
        {"self": 1},
        {"loss": ["triplet"]},
        {"loss_params": {"margin": 10**400}},
        {"loss_params": {"margin": float("inf")}},
        {"loss": "weighted_sum", "loss_params": {"a": "(" * 500}},
        {"loss": "weighted_sum", "loss_params": {"a": {"name": {}}}},
        {"held_out_classes": [[]]},
        {"steps": "9" * 5000},
        {"dataset": "x" * 10_000},
        {"miner": "batch_hard", "miner_params": {"distance": []}},
        {"learning_rate": float("nan")},
    ],
)
def test_invalid_settings_in_an_archive_are_one_sentence(fields):
    with pytest.raises(UserError) as caught:
        TrainConfig(**{"dataset": "digits", **fields})
    assert len(str(caught.value)) < 1000  # the names of all losses are among the words


def test_a_shell_reads_the_words_of_a_command_unchanged(seed):
    run = Runs(seed.parent).get(seed.name)
    text = as_command(RunExport(run)).replace("\\\n", " ")
    assert shlex.split(text) == [word for line in text.splitlines() for word in shlex.split(line)]


def test_hostile_files_break_no_promise(monkeypatch):
    monkeypatch.setenv("DMLVIZ_DATA", "")  # put back afterwards
    table = new_table()
    run(table, 12, seed=3)
    assert table.broken == []
    assert len(table.cases) == 4


def test_long_lists_in_a_parquet_file_are_refused_before_they_are_unpacked(tmp_path):
    values = pa.array(np.zeros(300 * 300_000, np.int8))
    path = tmp_path / "vectors.parquet"
    table = pa.table({"vector": pa.FixedSizeListArray.from_arrays(values, 300_000)})
    parquet.write_table(table, path, use_dictionary=False, write_statistics=False)
    with pytest.raises(UserError, match="holds 300 of 300,000"):
        read_embeddings(path)


def test_lists_in_a_parquet_file_become_vectors_and_texts_become_labels(tmp_path):
    vectors = np.arange(24, dtype=np.float32).reshape(6, 4)
    for kind in (pa.array(vectors.tolist()), pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4)):
        path = tmp_path / "vectors.parquet"
        parquet.write_table(pa.table({"vector": kind, "label": ["b", "a", "b", None, "a", "b"]}), path)
        read = read_embeddings(path)
        assert np.array_equal(read.embeddings, vectors)
        assert [read.classes[label] for label in read.labels] == ["b", "a", "b", "no label", "a", "b"]


def test_an_npz_that_unpacks_to_more_than_a_file_may_hold_is_refused_by_its_header(tmp_path):
    path = tmp_path / "vectors.npz"
    np.savez_compressed(path, vectors=np.zeros((300_000, 10), np.float32), labels=np.zeros(3))
    with pytest.raises(UserError, match="holds 300,000 of 10: keep fewer"):
        read_embeddings(path)


def test_a_table_of_far_too_many_lines_or_one_endless_line_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "vectors.csv"
    path.write_bytes(b"x,y,label\n" + b"1,2,a\n" * 2_600_000)
    with pytest.raises(UserError, match="up to 250,000 vectors"):
        read_embeddings(path)
    path.write_bytes(b"1" * 2_000_000)
    with pytest.raises(UserError, match="A line of a table has up to 1,000,000 characters"):
        read_embeddings(path)


def test_control_characters_of_a_table_stay_out_of_the_sentence(tmp_path):
    path = tmp_path / "vectors.csv"
    path.write_bytes("a,b,label\n1,2,x\n1,2,\x1b[2J,4,5\n".encode("utf-16"))
    with pytest.raises(UserError) as caught:
        read_embeddings(path)
    assert str(caught.value).isprintable()
