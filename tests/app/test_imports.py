"""An archive costs a server little, one that is refused leaves nothing, and what the data folder says counts."""

import io
import json
import os
import tempfile
import zipfile

import numpy as np
import pytest
from dmlviz_app.runs.routes import import_archive
from dmlviz_app.server.answers import Turns

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS, Datasets
from dmlviz.errors import BusyError, UserError
from dmlviz.runs import archive, archive_checks
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.run_info import _parse
from dmlviz.runs.store import Runs


def described(name, classes=("a", "b")):
    spec = DatasetSpec(name=name, title="T", summary="S", classes=tuple(classes), size=8, channels=1, mean=0.5, std=0.5)
    return spec.to_dict()


def new_name():
    return f"{custom_datasets.PREFIX}{os.urandom(8).hex()}"


@pytest.fixture(scope="module")
def files():
    """The files of a ready-made run."""
    runs, file = Runs(), io.BytesIO()
    export_run(next(run for run in runs.list() if run.config.dataset == "digits"), file)
    with zipfile.ZipFile(file) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def zipped(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return file.getvalue()


def imported(here, files):
    with tempfile.TemporaryFile() as file:
        file.write(zipped(files))
        return import_archive(here, file)


def of_own_data(files, name, classes=tuple("0123456789"), **fields):
    info = json.loads(files["run.json"])
    info |= {"dataset": described(name, classes), "config": info["config"] | {"dataset": name}} | fields
    return files | {"run.json": json.dumps(info).encode()}


@pytest.mark.slow
def test_a_refused_import_registers_nothing_and_keeps_nothing_in_memory(here, files):
    name, kept = new_name(), _parse.cache_info().currsize
    broken = of_own_data(files, name) | {"labels.npy": b"no labels"}
    with pytest.raises(UserError, match=r"labels\.npy"):
        imported(here, broken)

    def refuse(_config):
        raise UserError("This is not yours.")

    with pytest.raises(UserError, match="not yours"):
        import_run(io.BytesIO(zipped(of_own_data(files, name))), here.store, allow=refuse)
    assert name not in DATASETS
    assert _parse.cache_info().currsize == kept
    run = imported(here, of_own_data(files, name))
    assert name in DATASETS
    assert DATASETS[name].classes == run_classes(run) == tuple("0123456789")


def run_classes(run):
    return DATASETS[run.config.dataset].classes


@pytest.mark.parametrize("planted_first", [True, False])
def test_what_the_data_folder_says_counts_whichever_was_first(tmp_path, planted_first):
    datasets, name = Datasets([]), new_name()
    datasets.add_search_path(tmp_path)
    if planted_first:
        datasets.register(described(name, ("planted", "by a run")))
        assert datasets[name].classes == ("planted", "by a run")
    folder = tmp_path / custom_datasets.FOLDER / name
    folder.mkdir(parents=True)
    (folder / custom_datasets.DESCRIBED).write_text(json.dumps(described(name, ("real", "classes"))))
    datasets.register(described(name, ("planted", "later")))
    assert datasets[name].classes == ("real", "classes")


def test_a_description_in_a_block_apart_is_forgotten(tmp_path):
    datasets, name = Datasets([]), new_name()
    with datasets.apart():
        datasets.register(described(name))
        assert name in datasets
    assert name not in datasets


@pytest.mark.slow
def test_a_log_of_many_megabytes_is_refused_before_it_is_parsed(here, files):
    lines = files["events.jsonl"].splitlines(keepends=True)
    step = next(line for line in lines if b'"event":"step"' in line)
    long = files | {"events.jsonl": b"".join([*lines[:-1], step * (60_000_000 // len(step)), lines[-1]])}
    with pytest.raises(UserError, match=r"events\.jsonl is too large"):
        imported(here, long)
    assert list(here.store.folder.glob(".new-*")) == []


@pytest.mark.parametrize(
    ("line", "match"),
    [
        (b'{"event":"stopping","step":1,"time":1}\n' * (archive_checks.MAX_LINES + 1), "lines, and may have"),
        (b'{"event":"alarm_over","step":1,"alarm":"\\uffff","time":1}\n', r"alarm: |U\+FFFF"),
        (b'{"event":"preparing","dataset":"a\\ufffeb","done":0,"total":0,"time":1}\n', r"U\+FFFE"),
        (b'{"event":"preparing","dataset":"a\xef\xbf\xbfb","done":0,"total":0,"time":1}\n', r"U\+FFFF"),
        (b'{"event":"preparing","dataset":"a\\u0007b","done":0,"total":0,"time":1}\n', r"U\+0007"),
    ],
)
def test_a_log_holds_a_bounded_number_of_lines_and_texts_that_a_page_can_show(files, tmp_path, line, match):
    with pytest.raises(UserError, match=match):
        import_run(io.BytesIO(zipped(files | {"events.jsonl": line + files["events.jsonl"]})), Runs(tmp_path))


@pytest.mark.parametrize("text", ["a\uffff", "\ufffe", "bell\x07", "half \ud83d"])
def test_names_that_xml_or_a_browser_cannot_hold_are_refused(files, tmp_path, text):
    for forged in (of_own_data(files, new_name(), [text, *"123456789"]), of_own_data(files, new_name(), title=text)):
        with pytest.raises(UserError, match=r"U\+|run\.json"):
            import_run(io.BytesIO(zipped(forged)), Runs(tmp_path))


def test_columns_with_such_texts_are_refused(files, tmp_path):
    import pyarrow
    from pyarrow import parquet

    count = len(np.load(io.BytesIO(files["labels.npy"])))
    for table in ({"a\uffffb": ["x"] * count}, {"name": ["x"] * (count - 1) + ["\ufffe"]}):
        packed = io.BytesIO()
        parquet.write_table(pyarrow.table(table), packed)
        with pytest.raises(UserError, match=r"columns\.parquet: a text holds"):
            import_run(io.BytesIO(zipped(files | {"columns.parquet": packed.getvalue()})), Runs(tmp_path))
    packed = io.BytesIO()
    parquet.write_table(pyarrow.table({"name": ["é \U0001f600\n"] * count}), packed)
    assert import_run(io.BytesIO(zipped(files | {"columns.parquet": packed.getvalue()})), Runs(tmp_path)).columns


def test_an_archive_unpacks_to_no_more_than_it_may_whatever_it_declares(files, tmp_path):
    small = zipped(files)
    with pytest.raises(UserError, match=r"too large: unpacked, it may take 0\.1 MB"):
        import_run(io.BytesIO(small), Runs(tmp_path), room=100_000)
    zeros = zipped(files | {"embeddings.npy": bytes(archive.FREE_BYTES + archive.MAX_RATIO * len(small) * 2)})
    with pytest.raises(UserError, match="too large: unpacked"):
        import_run(io.BytesIO(zeros), Runs(tmp_path))
    lying = bytearray(zeros)
    at = lying.rindex(b"PK\x01\x02", 0, lying.rindex(b"embeddings.npy"))
    lying[at + 24 : at + 28] = (1000).to_bytes(4, "little")  # the declared size
    with pytest.raises(UserError, match=r"too large|no readable zip"):
        import_run(io.BytesIO(bytes(lying)), Runs(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_person_imports_one_run_at_a_time():
    turns = Turns(1, 2)
    with turns.of("ada", "one at a time"):
        with pytest.raises(BusyError, match="one at a time"), turns.of("ada", "one at a time"):
            pass
        with turns.of("bob", ""), pytest.raises(BusyError, match="many"), turns.of("eve", "many"):
            pass
    with turns.of("ada", ""):
        pass
