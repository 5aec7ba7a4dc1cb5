"""Disks and folders that fail: `python tests/faults/disk.py --times 36`, as root: the disks are small tmpfs mounts.

A disk is full, can only be read, takes no more files, or a folder goes in the middle of a training; data are missing or
cut; two servers share a folder of runs; a command is given a file for a folder. One sentence must say it, and all that
was there before stays whole.
"""

import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kill import LONG, SHORT, _unreadable, _wait
from table import Table, options

from dmlviz.config import TrainConfig
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

OVER = ("finished", "stopped", "failed", "interrupted", "unknown")
NOT_DONE = ("failed", "refused")
SECOND_SERVER = (
    "import sys, time; from dmlviz.config import TrainConfig; from dmlviz.jobs.scheduler import JobScheduler\n"
    "from dmlviz.jobs.order import training\n"
    "jobs = JobScheduler(sys.argv[1], slots=1); print('ready', flush=True); sys.stdin.readline()\n"
    "for text in sys.argv[2:]: jobs.submit(training(jobs.runs, TrainConfig.from_json(text)))\n"
    "while jobs.running_for(): time.sleep(0.05)\n"
    "jobs.close()"
)


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of that size at a folder, for as long as the block lasts."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def can_mount() -> bool:
    """Whether this process may mount a disk."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder) / "disk", 1):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


class Disks:
    """Makes one fault after another, in folders of its own below `folder`."""

    def __init__(self, folder: Path, draw: random.Random) -> None:
        self.folder, self.draw, self.number = folder, draw, 0

    @cached_property
    def finished(self) -> Run:
        """A run that was there before the fault."""
        run = Runs(self.folder / "seed").create(SHORT.replace(seed=99))
        for _ in train_and_record(run):
            pass
        return run

    def full(self) -> str:
        """The disk becomes full at some moment of a training."""
        with small_disk(self._new(), self.draw.randint(2, 5)) as disk:
            return self._train(disk, lambda: None, lambda: _mount("-o", "remount,size=64m", str(disk)), LONG)

    def read_only(self) -> str:
        """Nothing can be written, from the start."""
        with small_disk(self._new(), 16) as disk:
            return self._train(
                disk,
                lambda: None,
                lambda: _mount("-o", "remount,rw", str(disk)),
                SHORT,
                before=lambda: _mount("-o", "remount,ro", str(disk)),
            )

    def file_in_place(self) -> str:
        """In the middle of a training, a folder of the run becomes a file."""
        folder, config = self._new(), LONG.replace(seed=self.number)
        part = folder / config.id / self.draw.choice(["frames", "snapshots", "batches", "nets"])

        def replace() -> None:
            _wait(part.is_dir)
            _delete(part, lambda: part.write_text("a file"))

        return self._train(folder, replace, lambda: None, config)

    def no_more_files(self) -> str:
        """The disk has room, but takes no more files from some moment of a training."""
        with small_disk(self._new(), 64) as disk:
            return self._train(
                disk,
                lambda: _mount("-o", f"remount,nr_inodes={_files(disk) + self.draw.randint(1, 5)}", str(disk)),
                lambda: _mount("-o", "remount,nr_inodes=10000", str(disk)),
                LONG,
            )

    def gone(self) -> str:
        """The folder of a run, or of all runs, is deleted in the middle of its training."""
        folder, whole = self._new(), self.draw.random() < 0.5
        config = LONG.replace(seed=self.number)
        return self._train(
            folder, lambda: _delete(folder if whole else folder / config.id), lambda: None, config, kept=not whole
        )

    def data_missing(self) -> str:
        """The data set is not there, and its mirrors cannot be reached."""
        config = TrainConfig(dataset="fashion_mnist", net="mlp", steps=5)
        with unreachable():
            missing = self.folder / "no data"
            return self._train(
                self._new(), lambda: None, lambda: None, config, data=missing, ends=("failed", "refused")
            )

    def data_cut(self) -> str:
        """A file of the data set is cut off, and its mirrors cannot be reached."""
        data = self._new()
        for source in (data_root() / "FashionMNIST" / "raw").iterdir():
            target = data / "FashionMNIST" / "raw" / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
        spoiled = self.draw.choice(sorted(target.parent.iterdir()))
        content = spoiled.read_bytes()
        spoiled.unlink()
        spoiled.write_bytes(content[: self.draw.randrange(len(content))])
        config = TrainConfig(dataset="fashion_mnist", net="mlp", steps=5, seed=self.number)
        with unreachable():
            return self._train(self._new(), lambda: None, lambda: None, config, data=data, ends=NOT_DONE)

    def two_servers(self) -> str:
        """Two servers are asked for the same trainings in the same folder at the same time."""
        folder = self._new()
        shutil.copytree(self.finished.path, folder / self.finished.id)
        configs = [SHORT.replace(seed=10 * self.number + number) for number in range(3)]
        command = [sys.executable, "-c", SECOND_SERVER, str(folder), *(config.to_json() for config in configs)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        servers = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
        for server in servers:
            server.stdout.readline()
        said = "".join(server.communicate("\n", timeout=120)[1] for server in servers)
        runs = Runs(folder)
        broken = ["a traceback"] if "Traceback" in said else []
        for run in runs.list():
            if not runs.is_bundled(run):
                broken += _unreadable(run)
                broken += [] if run.state == "finished" else [f"a run is {run.state}: {(run.end or {}).get('reason')}"]
        if missing := [config.id for config in configs if not (folder / config.id).is_dir()]:
            broken.append(f"{len(missing)} runs are missing")
        return "; ".join(broken)

    def deleted_by_another(self) -> str:
        """Another program wants to delete the run that a server trains, and the folder's other run."""
        folder, config = self._new(), LONG.replace(seed=self.number, steps=3000)
        refusals: list[str] = []

        def delete() -> None:
            other = Runs(folder)
            try:
                other.delete(config.id)
                refusals.append("the run was deleted while it was trained")
            except UserError as error:
                refusals.append(_no_sentence(str(error)))

        broken = self._train(folder, delete, lambda: None, config, ends=("finished",))
        return "; ".join(filter(None, [broken, *refusals]))

    def file_for_a_folder(self) -> str:
        """Commands are given a file, or a folder in a file, where they want a folder."""
        folder = self._new()
        folder.mkdir()
        file = folder / "file"
        file.write_bytes(self.draw.randbytes(100))
        wrong = str(self.draw.choice([file, file / "runs"]))
        command = self.draw.choice(
            [
                ["train", "--dataset", "digits", "--steps", "1", "--runs", wrong],
                ["serve", "--port", "0", "--no-browser", "--runs", wrong],
                ["data", "add", wrong],
                ["import", wrong, "--runs", str(folder / "runs")],
                ["doctor", "--runs", wrong],
            ]
        )
        done = subprocess.run(
            [sys.executable, "-m", "dmlviz", *command], capture_output=True, text=True, timeout=300, check=False
        )
        said = (done.stdout + done.stderr).strip()
        broken = [f"`{command[0]}` ended with 0"] if done.returncode == 0 else []
        broken += [f"`{command[0]}`: {said[-200:]!r}"] if "Traceback" in said or not said else []
        broken += [] if file.stat().st_size == 100 else ["the file was written over"]
        return "; ".join(broken)

    def _train(
        self, folder, fault, mend, config, before=lambda: None, kept=True, data=None, ends=(*OVER, "refused")
    ) -> str:
        """Train with a fault at a random moment, and say which promise is broken; empty for none.

        `ends` are the states in which the run may be afterwards; "refused" where it was not even begun.
        """
        shutil.copytree(self.finished.path, folder / self.finished.id)
        jobs, broken = JobScheduler(Runs(folder), slots=1, warm=False, data_root=data), ""
        try:
            before()
            try:
                run = jobs.submit(training(jobs.runs, config))
                _wait(lambda: jobs.status(run).phase != "starting")
                time.sleep(self.draw.uniform(0, 0.5))
                fault()
                _wait(lambda: not jobs.running_for())
                status = jobs.status(run)
                if status.phase not in ends:
                    broken += f"; it is {status.phase}"
                elif status.phase != "finished":
                    broken += _no_sentence(status.reason)
            except UserError as error:
                broken += _no_sentence(str(error)) + ("" if "refused" in ends else f"; refused: {error}")
            except OSError as error:
                broken += f"; no sentence but {error!r}"
            mend()
            if kept:
                broken += "; ".join(["", *_unreadable(jobs.runs.get(self.finished.id))])
            if data is None:
                following = jobs.submit(training(jobs.runs, SHORT.replace(seed=self.number)))
                _wait(lambda: not jobs.running_for())
                if jobs.status(following).phase != "finished":
                    broken += f"; the next job {jobs.status(following).phase}: {jobs.status(following).reason}"
        except RunNotFoundError as error:
            broken += f"; {error}"
        finally:
            jobs.close()
        return broken.removeprefix("; ")

    def _new(self) -> Path:
        self.number += 1
        folder = self.folder / str(self.number)
        return folder


@contextlib.contextmanager
def unreachable() -> Iterator[None]:
    """No host can be reached inside."""
    before = dict(os.environ)
    os.environ.update({"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "no_proxy": ""})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _files(disk: Path) -> int:
    """How many files and folders a disk has."""
    status = os.statvfs(disk)
    return status.f_files - status.f_ffree


def _delete(folder: Path, then: Callable[[], object] = lambda: None) -> None:
    """Delete a folder into which a worker writes meanwhile, and do something before it can make it again."""

    def deleted() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            return False
        with contextlib.suppress(OSError):
            then()
        return not folder.is_dir()

    _wait(deleted)


def _no_sentence(text: str) -> str:
    """What is wrong with a text that should be a sentence for a person; empty for nothing."""
    is_sentence = 10 < len(text) < 700 and text.isprintable() and text[-1] in ".?" and "Traceback" not in text
    return "" if is_sentence else f"; no sentence: {text[:200]!r}"


CASES = {
    "a disk that becomes full": Disks.full,
    "a folder that can only be read": Disks.read_only,
    "a disk that takes no more files": Disks.no_more_files,
    "a folder that goes": Disks.gone,
    "a folder that becomes a file": Disks.file_in_place,
    "data that are missing": Disks.data_missing,
    "data that are cut off": Disks.data_cut,
    "two servers on one folder": Disks.two_servers,
    "a run that another program deletes": Disks.deleted_by_another,
    "a file in place of a folder": Disks.file_for_a_folder,
}
NEED_MOUNT = tuple(CASES)[:3]


def new_table() -> Table:
    """The table of this command."""
    return Table(
        "R2",
        "disks and folders that fail",
        "one sentence; what was there before is whole; the next job runs.",
        "python tests/faults/disk.py --times 36",
    )


def run(table: Table, times: int, seed: int) -> None:
    """Make so many faults, in turn, and count them in the table."""
    with tempfile.TemporaryDirectory(prefix="dmlviz-disks-") as folder:
        disks = Disks(Path(folder), random.Random(seed))
        names = [name for name in CASES if name not in NEED_MOUNT or can_mount()]
        for number in range(times):
            if table.over:
                break
            name, began = names[number % len(names)], time.monotonic()
            try:
                broken = CASES[name](disks)
            except Exception as error:
                broken = f"{type(error).__name__}: {error}"
            table.add(name, broken, s=time.monotonic() - began)


if __name__ == "__main__":
    chosen = options(__doc__ or "", 36)
    table = new_table()
    table.seconds = chosen.seconds
    run(table, chosen.times, chosen.seed)
    sys.exit(table.finish(chosen.write))
