"""The runs of a folder: listed, prepared, renamed, deleted; and those that come with the program."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import cache_dir
from dmlviz.errors import UserError
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run, RunNotFoundError, UnreadableRunError
from dmlviz.runs.trash import Trash
from dmlviz.storage.files import ensure_dir, is_run_id, write_json
from dmlviz.storage.run_schema import one_line

MAX_TAGS = 12
BUNDLED_RUNS = Path(str(files("dmlviz"))) / "ready_made_runs"


def runs_folder(folder: str | Path | None = None) -> Path:
    """Where runs are kept: `folder`, else the environment's DMLVIZ_RUNS, else the user's cache folder."""
    given = folder or os.environ.get("DMLVIZ_RUNS")
    return Path(given).expanduser() if given else cache_dir() / "runs"


@dataclass(frozen=True)
class DamagedRun:
    """A run's folder of which not even the settings can be read: it can be deleted, and its files be looked at."""

    path: Path
    error: UnreadableRunError

    @property
    def id(self) -> str:
        """16 hexadecimal digits."""
        return self.path.name

    @property
    def title(self) -> str:
        """What it is called, since its own title cannot be relied on."""
        return f"Damaged run {self.id[:6]}"

    @property
    def touched(self) -> datetime:
        """When something was written to it last."""
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)


class Runs:
    """The runs of a folder, and those that come with the program, which are only read."""

    def __init__(self, folder: Path, bundled: Path = BUNDLED_RUNS) -> None:
        self.folder = Path(folder)
        self.bundled = Path(bundled)

    @property
    def trash(self) -> Trash:
        """The runs that were deleted and can still come back."""
        return Trash(self.folder)

    def list(self) -> list[Run]:
        """Every readable run, the newest first, those that come with the program last; one of each id."""
        return [*self.look()[0]]

    def damaged(self) -> tuple[DamagedRun, ...]:
        """The runs that cannot be read, so that `list` does not have them."""
        return self.look()[1]

    def look(self) -> tuple[tuple[Run, ...], tuple[DamagedRun, ...]]:
        """`list` and `damaged` at once, which reads the folder once."""
        found = [*self._read(self.folder)]
        own = sorted((run for run in found if isinstance(run, Run)), key=lambda run: run.created, reverse=True)
        known = {run.id for run in found}
        found += [run for run in self._read(self.bundled) if run.id not in known]
        bundled = [run for run in found if isinstance(run, Run) and run.path.parent != self.folder]
        return (*own, *bundled), tuple(run for run in found if isinstance(run, DamagedRun))

    def get(self, run: str) -> Run:
        """The run of that id; raise UnknownRun when there is none, the id is none, or its settings cannot be read."""
        if is_run_id(run):
            for folder in (self.folder, self.bundled):
                if (folder / run).is_dir():
                    found = Run(folder / run)
                    _ = found.config
                    return found
        raise RunNotFoundError(f"There is no run {str(run)[:40]!r}; it may have been deleted.")

    def is_bundled(self, run: "Run | DamagedRun") -> bool:
        """Whether it is one of the ready-made ones, which nothing writes to."""
        return run.path.parent == self.bundled

    def create(self, config: TrainConfig, title: str | None = None) -> Run:
        """A folder for this training, without events yet; what an earlier try of the same left there is removed."""
        described = {
            "version": 1,
            "id": config.id,
            "title": one_line(title or "", 200) or default_title(config),
            "config": config.model_dump(mode="json"),
            "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "dmlviz": _version("dmlviz"),
            "torch": _version("torch"),
        }
        if is_custom(config.dataset):
            described["dataset"] = DATASETS[config.dataset].to_dict()
        return Run(_new_run_dir(ensure_dir(self.folder) / config.id, "run.json", described))

    def create_projection(self, run: Run, config: ProjectionConfig) -> ProjectionRun:
        """A folder for a projection of a run; a run that comes with the program is copied here first."""
        path = ensure_dir(self.writable_copy(run).path / "projections") / config.id
        described = {"version": 1, "id": config.id, "config": config.model_dump(mode="json")}
        return ProjectionRun(_new_run_dir(path, "projection.json", described))

    def writable_copy(self, run: Run) -> Run:
        """The run in this folder, copied from those that come with the program when it is one of them."""
        if not self.is_bundled(run):
            return run
        copy = Path(tempfile.mkdtemp(prefix=".copy-", dir=ensure_dir(self.folder)))
        shutil.copytree(run.path, copy, dirs_exist_ok=True)
        copy.chmod(0o755)
        try:
            copy.rename(self.folder / run.id)
        except OSError:  # somebody else was faster
            shutil.rmtree(copy, ignore_errors=True)
        return Run(self.folder / run.id)

    def rename(self, run: str, title: str) -> None:
        """Call it otherwise; raise UserError for one that comes with the program, or an empty title."""
        found, title = self._writable(run), one_line(title)
        if not title:
            raise UserError("A run needs a title; got an empty one.")
        write_json(found.path / "run.json", found.info | {"title": title})

    def tag(self, run: str, tags: Iterable[str]) -> None:
        """Put these words on it instead of those it has; raise UserError for one that comes with the program."""
        found = self._writable(run)
        kept = dict.fromkeys(filter(None, (one_line(tag, 30) for tag in tags)))
        write_json(found.path / "run.json", found.info | {"tags": [*kept][:MAX_TAGS]})

    def pin(self, run: str, pinned: bool = True) -> None:
        """Keep it when older runs make room for new ones; raise UserError for one that comes with the program."""
        found = self._writable(run)
        write_json(found.path / "run.json", found.info | {"pinned": pinned})

    def delete(self, run: str) -> None:
        """Put it into the trash; raise UserError while it is training, or when it comes with the program."""
        try:
            found = self._writable(run)
        except UnreadableRunError:
            self._discard(self.folder / run)
            return
        if found.state == "running":
            raise UserError(f"{found.title} is still training; stop it first.")
        if any(drawing.state == "running" for drawing in found.projections()):
            raise UserError(f"A map of {found.title} is still being drawn; stop it first.")
        self.trash.add(found.path)

    def restore(self, run: str) -> "Run | DamagedRun":
        """Take it out of the trash; raise UserError when it is not there any more, or was trained again meanwhile."""
        return self._at(self.trash.restore(run))

    def _discard(self, path: Path) -> None:
        """Put a run that cannot be read into the trash."""
        if path.parent != self.folder or not path.is_dir():
            raise UserError(f"{path.name} comes with the program and stays as it is.")
        if any(EventLogDir(place).lock.locked for place in (path, *path.glob("projections/*"))):
            raise UserError(f"{path.name} is being written; stop that first.")
        self.trash.add(path)

    def _writable(self, run: str) -> Run:
        found = self.get(run)
        if self.is_bundled(found):
            raise UserError(f"{found.title} comes with the program and stays as it is; train your own to change it.")
        return found

    @classmethod
    def _read(cls, folder: Path) -> "Iterator[Run | DamagedRun]":
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if is_run_id(entry.name) and entry.is_dir())
        except OSError:  # there is none yet
            return
        for name in names:
            yield cls._at(folder / name)

    @staticmethod
    def _at(path: Path) -> "Run | DamagedRun":
        try:
            run = Run(path)
            _ = run.config
            return run
        except UnreadableRunError as error:  # changed, half deleted, or of another version
            return DamagedRun(path, error)


def default_title(config: TrainConfig) -> str:
    """What a run is called until somebody renames it: data, loss, miner."""
    parts = [DATASETS[config.dataset].title, LOSSES[config.loss].title]
    if config.miner is not None:
        parts.append(MINERS[config.miner].title.lower())
    return ", ".join(parts)


def _new_run_dir(path: Path, name: str, described: dict[str, Any]) -> Path:
    """A new folder under a name that may be taken: readers see the old one or the new one, never a mixture.

    The old frames stay: their addresses are hashes of what they hold, and a page may still ask for one.
    """
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=path.parent))
    new.chmod(0o755)
    ensure_dir(new / "frames")
    for frame in (path / "frames").glob("*.i16"):
        with contextlib.suppress(OSError):  # another process may have been faster
            os.link(frame, new / "frames" / frame.name)
    (new / "events.jsonl").touch()
    write_json(new / name, described)
    if path.exists():
        _remove(path, replacement=new)
    else:
        new.rename(path)
    return path


def _remove(path: Path, replacement: Path | None = None) -> None:
    doomed = Path(tempfile.mkdtemp(prefix=".old-", dir=path.parent))
    path.rename(doomed / path.name)
    if replacement is not None:
        replacement.rename(path)
    shutil.rmtree(doomed, ignore_errors=True)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
