"""Disks and folders that fail are told in a sentence. The faults are made by `disk.py`."""

import builtins
import contextlib
import errno
import io
import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from disk import can_mount, small_disk
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.server.uploads import UploadManager
from kill import SHORT
from probe import Probe, data_folder, make_seed

from dmlviz.cli.main import main
from dmlviz.errors import DiskFullError, UserError
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.recording import record
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.damage import check
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.storage.disk_space import NEW_PREFIX, STALE_S, writing


def test_a_folder_that_can_only_be_read_is_told_in_a_sentence(tmp_path):
    if not can_mount():
        pytest.skip("only root can mount a disk")
    with small_disk(tmp_path / "disk", 4) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(UserError, match="The folder of runs cannot be written to"):
            Runs(disk).create(SHORT)


def test_a_full_disk_costs_a_training_nothing_but_its_last_snapshots(tmp_path):
    if not can_mount():
        pytest.skip("only root can mount a disk")
    rng = np.random.default_rng(0)
    with small_disk(tmp_path / "disk", 1) as disk, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with record("full", labels=np.arange(1000) % 4, runs=disk) as recording:
            for step in range(12):  # 100 kB each
                recording.snapshot(step, rng.normal(size=(1000, 25)), loss=1.0)
        texts = [str(warning.message) for warning in warned]
        assert len(texts) == 1, texts
        assert texts[0].startswith("The recording is not complete, and the training goes on: The disk is full (0.")
        run = recording.run
        assert run.snapshot_steps == [*range(len(run.snapshot_steps))]
        assert 3 < len(run.snapshot_steps) < 12
        assert run.snapshot(0).shape == (1000, 25)
        assert [problem.reason for problem in check(run)] == []


SENTENCE = re.compile(r"The disk is full \([\d.,]+ [MG]B free(, [\d.,]+ [MG]B needed)? in /.*\): delete runs .*\.")


@pytest.fixture(scope="module")
def seed(tmp_path_factory):
    """The folder of a whole small run."""
    return make_seed(tmp_path_factory.mktemp("seed"))


@pytest.fixture(scope="module")
def packed(seed):
    """The run as an archive."""
    file = io.BytesIO()
    export_run(Run(seed), file)
    return file.getvalue()


@contextlib.contextmanager
def filled(disk: Path):
    """Fill a small disk to its last byte, for as long as the block lasts."""
    filler = disk / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def refusing(folder: Path):
    """Let every file that is opened to be written below a folder, and every new folder there, fail for want of room."""
    opened, low_opened, made = builtins.open, os.open, os.mkdir

    def check(path: object, writes: bool) -> None:
        if writes and isinstance(path, str | os.PathLike) and str(path).startswith(str(folder)):
            raise OSError(errno.ENOSPC, "No space left on device")

    def refuse_open(path, mode="r", *more, **options):
        check(path, not set(mode).isdisjoint("wax+"))
        return opened(path, mode, *more, **options)

    def refuse_low_open(path, flags, *more, **options):
        check(path, bool(flags & os.O_CREAT))
        return low_opened(path, flags, *more, **options)

    def refuse_mkdir(path, *more, **options):
        check(path, True)
        return made(path, *more, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "open", refuse_open)
        patch.setattr(os, "open", refuse_low_open)
        patch.setattr(os, "mkdir", refuse_mkdir)
        yield


@pytest.fixture(params=["a tmpfs", "an injected error"])
def disk(request, seed, tmp_path):
    """A folder of runs with one run, and the block in which its disk is full."""
    if request.param == "a tmpfs" and not can_mount():
        pytest.skip("only root can mount a disk")
    mounted = small_disk(tmp_path / "disk", 8) if request.param == "a tmpfs" else contextlib.nullcontext()
    with mounted:
        runs = tmp_path / "disk" / "runs"
        shutil.copytree(seed, runs / seed.name)
        full = filled(runs.parent) if request.param == "a tmpfs" else refusing(runs)
        yield runs, full


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("DMLVIZ_DATA", "")  # put back afterwards
    return data_folder(tmp_path)


def left(runs: Path) -> list[str]:
    return [path.name for path in runs.rglob(".*") if path.name not in ("lock", ".owners")]


def test_pictures_and_downloads_need_no_room_for_their_cache(disk, data, seed):
    runs, full = disk
    probe = Probe(runs, data)
    try:
        with full:
            base = f"/dmlviz/runs/{seed.name}"
            sprite = image_tiles("digits", data).describe()["sprites"]["urls"][0]
            for path in (
                *(f"{base}/thumbnail-light.png", f"{base}/export/html", f"{base}/export/csv", f"{base}/run.zip"),
                *(f"/{sprite}", f"{base}/batches/4.png"),
            ):
                answer = probe.client.get(path)
                assert (answer.status_code, len(answer.content) > 100) == (200, True), (path, answer.text[:200])
    finally:
        probe.close()


def test_an_import_says_how_much_room_is_left_and_leaves_nothing(disk, data, packed, seed):
    runs, full = disk
    shutil.rmtree(runs / seed.name)
    probe = Probe(runs, data)
    try:
        with full:
            answer = probe.client.post("/dmlviz/runs/import", content=packed)
        assert answer.status_code == 507
        assert SENTENCE.fullmatch(answer.json()["error"]), answer.json()
        assert not list(runs.glob(f"{NEW_PREFIX}*"))
        assert probe.client.post("/dmlviz/runs/import", content=packed).status_code == 200
    finally:
        probe.close()


def test_a_training_on_the_command_line_says_so_without_a_traceback(disk, data, capsys):
    runs, full = disk
    with full, pytest.raises(SystemExit) as ended:
        main(["train", "--dataset", "digits", "--steps", "5", "--net", "mlp", "--runs", str(runs)])
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert SENTENCE.fullmatch(said.err.strip()), said.err
    assert not list(runs.glob(f"{NEW_PREFIX}*"))


def test_a_run_is_whole_after_its_title_could_not_be_changed(disk, seed):
    runs, full = disk
    store, before = Runs(runs), (runs / seed.name / "run.json").read_bytes()
    with full, pytest.raises(DiskFullError, match="The disk is full"):
        store.rename(seed.name, "another")
    assert (runs / seed.name / "run.json").read_bytes() == before
    assert [path.name for path in (runs / seed.name).glob(".*")] == []


def test_an_upload_says_so_and_leaves_nothing(disk, tmp_path):
    runs, full = disk
    jobs = JobScheduler(Runs(runs), warm=False)
    manager = UploadManager(runs, jobs)
    with contextlib.closing(jobs), full, pytest.raises(DiskFullError, match="The disk is full"):
        manager.upload("ada", {"vectors.csv": io.BytesIO(b"a,b\n" + b"1,2\n" * 100_000)})
    assert list(runs.rglob(".upload-*")) == []
    assert manager.status("ada") is None


def test_a_training_that_fills_its_disk_ends_with_the_sentence(tmp_path):
    if not can_mount():
        pytest.skip("only root can mount a disk")
    from dmlviz.runs.training_run import train_and_record

    with small_disk(tmp_path / "disk", 1) as disk:
        (disk / "filler").write_bytes(bytes(900_000))
        run = Runs(disk).create(SHORT)
        with contextlib.suppress(OSError), open(disk / "filler", "ab", buffering=0) as file:
            while file.write(bytes(1024)):
                pass
        last = [*train_and_record(run)][-1]
        assert SENTENCE.fullmatch(last.reason), last
        assert list(disk.glob(f"{NEW_PREFIX}*")) == []


def test_the_words_name_the_room_that_is_left_and_the_room_that_is_needed(tmp_path):
    with pytest.raises(DiskFullError) as caught, writing(tmp_path, 3_000_000):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")
    assert SENTENCE.fullmatch(str(caught.value))
    assert ", 3.0 MB needed in " in str(caught.value)


def test_what_a_killed_process_was_making_is_removed_later(tmp_path):
    for name in (".new-abc", ".old-abc", "0" * 16 + "/projections/.new-x"):
        (tmp_path / name).mkdir(parents=True)
    store = Runs(tmp_path)
    store.remove_stale_folders()
    assert len(list(tmp_path.rglob(".*"))) == 3  # it may still be made
    for path in tmp_path.rglob(".*"):
        os.utime(path, (path.stat().st_mtime - 2 * STALE_S,) * 2)
    store.remove_stale_folders()
    assert list(tmp_path.rglob(".*")) == []


def test_an_archive_is_not_blamed_for_a_full_disk(disk, packed, tmp_path):
    runs, full = disk
    shutil.rmtree(runs)
    runs.mkdir()
    with full, pytest.raises(DiskFullError):
        import_run(io.BytesIO(packed), Runs(runs))
    assert list(runs.iterdir()) == []
