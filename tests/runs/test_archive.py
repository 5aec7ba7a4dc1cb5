"""A run as one zip: export and import are inverse, and nothing else is imported."""

import io
import json
import stat
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from dmlviz.errors import UserError
from dmlviz.runs import archive
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.store import Runs, bundled_runs

ARCHIVES = sorted(Path(str(files("dmlviz")), "ready_made_runs").glob("*.zip"))


@pytest.fixture(scope="module")
def packed():
    """The zip of a ready-made run, which is a real one."""
    file = io.BytesIO()
    ready_made = Runs(bundled_runs()).list()
    export_run(next(run for run in ready_made if not run.info.get("fails")), file)
    return file.getvalue()


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "runs", bundled=tmp_path / "bundled")


def files_of(packed):
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def zipped(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return file.getvalue()


def refused(runs, content, match):
    with pytest.raises(UserError, match=match) as caught:
        import_run(io.BytesIO(content), runs)
    assert runs.list() == []
    assert list(runs.folder.glob("*")) + list(runs.folder.glob(".*")) == []
    assert len(str(caught.value)) < 250


def array(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def test_a_run_comes_back_file_by_file(packed, runs):
    taken = import_run(io.BytesIO(packed), runs)
    again = io.BytesIO()
    export_run(taken, again)
    before, after = files_of(packed), files_of(again.getvalue())
    described, made = json.loads(before.pop("run.json")), json.loads(after.pop("run.json"))
    assert after == before
    settings = described.pop("config")
    assert {name: made["config"][name] for name in settings} == settings  # settings that it does not name get defaults
    assert made.items() >= {**described, "pinned": False, "tags": []}.items()
    assert taken.state == "finished"
    assert taken.neighbors(0, 3)
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        assert {entry.date_time for entry in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}, "equal runs, equal archives"


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_the_archive_of_a_ready_made_run_is_one_that_anybody_may_import(path, runs):
    with path.open("rb") as file:
        run = import_run(file, runs)
    assert (run.id, run.title) == (path.stem, Runs(runs.folder / "none").get(path.stem).title)


def test_the_same_run_is_not_taken_in_twice(packed, runs):
    import_run(io.BytesIO(packed), runs)
    with pytest.raises(UserError, match="already imported"):
        import_run(io.BytesIO(packed), runs)
    assert len(runs.list()) == 1


@pytest.mark.parametrize(
    "name",
    [
        "../run.json",
        "/etc/run.json",
        "frames/../../x.json",
        "C:/x.json",
        "frames\\..\\x.json",
        ".hidden.json",
        "a/b/c/d.json",
        "model.pkl",
        "weights.pt",
        "x.py",
        "lock",
        "frames/.json",
        "projections/../x.json",
        "run.json/",
    ],
)
def test_a_name_that_no_file_of_a_run_has_is_refused(packed, runs, name):
    if name.endswith("/"):
        assert import_run(io.BytesIO(zipped(files_of(packed) | {name: b""})), runs)  # an empty folder does no harm
    else:
        refused(runs, zipped(files_of(packed) | {name: b"{}"}), "unexpected file")


def test_a_link_is_refused(packed, runs):
    file = io.BytesIO(packed)
    with zipfile.ZipFile(file, "a") as opened:
        link = zipfile.ZipInfo("secret.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(link, "/etc/passwd")
    refused(runs, file.getvalue(), "unexpected file")


def test_a_file_that_is_there_twice_is_refused(packed, runs):
    file = io.BytesIO(packed)
    with zipfile.ZipFile(file, "a") as opened, pytest.warns(UserWarning, match="Duplicate"):
        opened.writestr("run.json", b"{}")
    refused(runs, file.getvalue(), "duplicate file")


def test_a_pickle_in_an_array_is_refused(packed, runs):
    pickled = io.BytesIO()
    np.save(pickled, np.array([{"a": 1}], object), allow_pickle=True)
    refused(runs, zipped(files_of(packed) | {"embeddings.npy": pickled.getvalue()}), r"embeddings.npy: ")
    stored = io.BytesIO()
    np.savez(stored, mean=np.array([{"a": 1}], object), allow_pickle=True)
    refused(runs, zipped(files_of(packed) | {"basis.npz": stored.getvalue()}), r"basis.npz: ")


def test_what_unpacks_to_too_much_is_refused_before_it_fills_the_disk(packed, runs, monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 2_000_000)
    refused(runs, zipped(files_of(packed) | {"weights.safetensors": bytes(3_000_000)}), "too large")
    monkeypatch.setattr(archive, "MAX_BYTES", 100_000)
    refused(runs, packed, "too large")
    monkeypatch.setattr(archive, "MAX_FILES", 10)
    refused(runs, packed, "at most 10 files")


def changed(packed, name, **fields):
    files = files_of(packed)
    return zipped(files | {name: json.dumps(json.loads(files[name]) | fields).encode()})


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"version": 2}, "incompatible version"),
        ({"title": None}, "title: must be a text"),
        ({"config": {"dataset": "nonsense"}}, "nonsense"),
        ({"config": [1]}, "config: must be an object"),
        ({"created": "yesterday"}, "created: .*with time and time zone"),
        ({"created": None}, "created: must be a text"),
        ({"created": "2026-01-01"}, "created: .*with time and time zone"),
    ],
)
def test_a_description_that_is_none_is_refused(packed, runs, fields, match):
    refused(runs, changed(packed, "run.json", **fields), match)


def test_a_run_is_known_by_its_settings_whatever_the_file_says(packed, runs):
    taken = import_run(
        io.BytesIO(changed(packed, "run.json", id="f" * 16, pinned=True, tags=["a", " \n"], title=" a\nb ")), runs
    )
    assert taken.id == taken.config.id == taken.info["id"]
    assert (taken.pinned, taken.tags, taken.title) == (False, ["a"], "a b")


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("run.json", None, "run.json is missing"),
        ("events.jsonl", None, "events.jsonl is missing"),
        ("labels.npy", None, "without labels"),
        ("events.jsonl", b"{]\n", "Not a valid dmlviz export"),
        ("events.jsonl", b'["a"]\n', "Not a valid dmlviz export"),
        ("embeddings.npy", b"not an array", "Not a valid dmlviz export"),
        ("embeddings.npy", array(np.zeros((3, 2), np.float32)), "should be 596 × 2; got 3 × 2"),
        ("snapshots/0.npy", array(np.zeros((596, 3), np.float32)), "should be 596 × 2; got 596 × 3"),
        ("labels.npy", array(np.array(["a"] * 596)), "."),
        ("metrics.json", b"nothing", "Not a valid dmlviz export"),
        ("weights.safetensors", b"nothing", "Not a valid dmlviz export"),
        (f"frames/{'0' * 16}.i16", b"abcd", "it was changed"),
        (
            f"projections/{'0' * 16}/projection.json",
            b'{"version": 1, "id": "0000000000000000", "config": {"method": "pca"}}',
            "does not match its settings",
        ),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(packed, runs, name, content, match):
    files = files_of(packed)
    if content is None:
        del files[name]
    else:
        files[name] = content
    if name == "labels.npy" and content is not None:
        files["embeddings.npy"] = array(np.array(["a"] * 596))
        match = "should hold numbers"
    refused(runs, zipped(files), match)


def test_a_missing_frame_is_noticed(packed, runs):
    files = files_of(packed)
    del files[next(name for name in files if name.endswith(".i16"))]
    refused(runs, zipped(files), "frame")


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all", zipped({})])
def test_what_is_no_zip_of_a_run_is_a_sentence(runs, content):
    refused(runs, content, "Not a valid dmlviz export")


def test_a_zip_that_was_cut_off_is_a_sentence(packed, runs):
    refused(runs, packed[: len(packed) // 2], "readable zip")


def test_a_run_under_way_is_not_exported(runs):
    from dmlviz.config import TrainConfig
    from dmlviz.runs.record_writer import RecordWriter

    run = runs.create(TrainConfig(dataset="digits"))
    with RecordWriter(run), pytest.raises(UserError, match="still training"):
        export_run(run, io.BytesIO())
