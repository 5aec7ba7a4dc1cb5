"""The runs of a folder, and the ready-made runs: list, create, rename, tag, pin, delete."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.event_log_dir import MissingPluginError
from dmlviz.runs.run import EventLogDir, ProjectionRun, Run, RunNotFoundError, UnreadableRunError
from dmlviz.runs.run_folders import OLD_PREFIX, Trash, new_run_folder
from dmlviz.storage.archives import unpacked
from dmlviz.storage.disk_space import NEW_PREFIX, new_folder, remove_stale_folders
from dmlviz.storage.files import ensure_dir, is_run_id, write_json
from dmlviz.storage.paths import kept_folder
from dmlviz.storage.run_schema.descriptions import MAX_VECTOR
from dmlviz.storage.text import one_line

MAX_TAGS = 12
LATEST = "latest"  # in place of the ID of a run
MAX_RESTARTS = 10
MAX_REPLACEMENT_S = 0.2  # that a reader waits for the new folder of a run that begins again
OF_ONE_TRAINING = (
    "device",
    "threads",
    "precision",
    "timings",
    "machine",
)  # fields of run.json that are written as a net trains


def runs_folder(folder: str | Path | None = None) -> Path:
    """Return the runs folder.

    Args:
        folder: This folder; by default $DMLVIZ_RUNS, else `kept_folder("runs")`.

    Examples:
        >>> str(runs_folder("my runs"))
        'my runs'
    """
    path = folder or os.environ.get("DMLVIZ_RUNS")
    return Path(path).expanduser() if path else kept_folder("runs")


def bundled_runs() -> Path:
    """Return the folder of the ready-made runs, whose archives come with the program; raise UserError as `unpacked`.

    Examples:
        >>> len([*bundled_runs().glob("*/run.json")])
        4
    """
    return unpacked(*sorted(Path(str(files("dmlviz")), "ready_made_runs").glob("*.zip")))


def run_id(config: TrainConfig, recording: str = "", holder: str = "", plugins: Mapping[str, str] | None = None) -> str:
    """Return the ID of a run: equal settings are one run, but each training of another program is one of its own.

    Args:
        config: The settings.
        recording: The ID of a recording of another program, 16 hexadecimal digits; empty for a training of ours.
        holder: The person who imported the run; empty if it was trained on this server.
        plugins: The code of the plug-ins with which it was trained: see `TrainConfig.plugins`; by default that of now.
    """
    id = config.id if plugins is None else config.id_with(plugins)
    text = " ".join(filter(None, (id, recording, holder)))
    return id if text == id else sha256(text.encode()).hexdigest()[:16]


def run_not_found(run: str) -> RunNotFoundError:
    """Return the error for a run that does not exist, or that a person may not see: they look the same."""
    reason = "; it may have been deleted" if is_run_id(run) else ": a run is named by its ID, 16 hexadecimal digits"
    return RunNotFoundError(f"There is no run {str(run)[:40]!r}{reason}.")


@dataclass(frozen=True)
class DamagedRun:
    """A run whose settings cannot be read; it can only be deleted."""

    path: Path
    error: UnreadableRunError

    @property
    def id(self) -> str:
        """ID of the run, 16 hexadecimal digits."""
        return self.path.name

    @property
    def title(self) -> str:
        """A title made from the ID where the stored one is unreliable."""
        return self.error.title if isinstance(self.error, MissingPluginError) else f"Damaged run {self.id[:6]}"

    @property
    def state(self) -> str:
        """What is wrong, in a word or two."""
        return "needs a plug-in" if isinstance(self.error, MissingPluginError) else "damaged"

    @property
    def touched(self) -> datetime:
        """Time of the last write."""
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)


class Runs:
    """The runs of a folder, and the ready-made ones, which are read-only.

    Args:
        folder: The runs folder; need not exist. By default that of the app: see `runs_folder`.
        bundled: The folder of the ready-made runs. By default those that come with the program.

    Examples:
        >>> import tempfile
        >>> runs = Runs(tempfile.mkdtemp())
        >>> run = runs.create(TrainConfig(dataset="digits", loss="triplet"), title="First try")
        >>> runs.rename(run.id, "Best")
        >>> runs.tag(run.id, ["triplets"])
        >>> runs.pin(run.id)
        >>> runs.find("Best").tags, runs.get(run.id).pinned, runs.list()[0].title, runs.damaged()
        (['triplets'], True, 'Best', ())
        >>> runs.delete(run.id)
        >>> runs.restore(run.id).title
        'Best'
        >>> runs.remove_stale_folders()
    """

    def __init__(self, folder: str | Path | None = None, bundled: Path | None = None) -> None:
        self.folder = runs_folder() if folder is None else Path(folder)
        if bundled is not None:
            self.bundled = Path(bundled)

    @cached_property
    def bundled(self) -> Path:
        """The folder of the ready-made runs."""
        return bundled_runs()

    @property
    def trash(self) -> Trash:
        """The deleted runs that can be restored."""
        return Trash(self.folder)

    def list(self) -> list[Run]:
        """Return every readable run, newest first, ready-made runs last; one per ID."""
        return [*self.look()[0]]

    def damaged(self) -> tuple[DamagedRun, ...]:
        """Return the runs that cannot be read, which `list` leaves out."""
        return self.look()[1]

    def look(
        self, is_wanted: Callable[[str], bool] = lambda run: True
    ) -> tuple[tuple[Run, ...], tuple[DamagedRun, ...]]:
        """Return `list` and `damaged` from one reading of the folder, of those runs only whose IDs are wanted."""
        runs = [*self._read(self.folder, is_wanted)]
        own = sorted((run for run in runs if isinstance(run, Run)), key=lambda run: run.created, reverse=True)
        ids = {run.id for run in runs}
        runs += [run for run in self._read(self.bundled, is_wanted) if run.id not in ids]
        ready_made = [run for run in runs if isinstance(run, Run) and run.path.parent != self.folder]
        return (*own, *ready_made), tuple(run for run in runs if isinstance(run, DamagedRun))

    def get(self, run: str) -> Run:
        """Return a run.

        Args:
            run: Its ID.

        Raises:
            RunNotFoundError: If there is none, or its settings cannot be read.
        """
        record = None
        if is_run_id(run):
            with contextlib.suppress(UnreadableRunError):
                record = self._find(run)
            record = record or self._find_replaced(run)
        if record is None:
            raise run_not_found(run)
        return record

    def find(self, name: str) -> Run:
        """Return the run with this ID, or else the only one with this title, or the newest of one's own for `latest`.

        Args:
            name: An ID, a title, or `latest`.

        Raises:
            RunNotFoundError: If there is none.
            UserError: If several runs have this title.
        """
        listed = [] if is_run_id(name) else self.list()
        runs = [run for run in listed if run.title == name]
        if name == LATEST and not runs:
            runs = [run for run in listed if not self.is_bundled(run)][:1]
        if len(runs) > 1:
            ids = ", ".join(run.id for run in runs)
            raise UserError(f"{len(runs)} runs are called {one_line(name, 40)!r}: give the ID of one: {ids}.")
        if not runs and not is_run_id(name):
            raise RunNotFoundError(
                f"There is no run {str(name)[:40]!r}: give the ID or the title of one, `dmlviz runs` lists them; "
                "`latest` is the newest."
            )
        return runs[0] if runs else self.get(name)

    def _find(self, run: str) -> Run | None:
        for folder in (self.folder, self.bundled):
            if (folder / run).is_dir():
                record = Run(folder / run)
                _ = record.config
                return record
        return None

    def _find_replaced(self, run: str) -> Run | None:
        """Return a run that begins again: for a moment neither its old nor its new folder is there."""
        deadline = time.monotonic() + MAX_REPLACEMENT_S
        while any(self.folder.glob(f"{OLD_PREFIX}*/{run}")) and time.monotonic() < deadline:
            with contextlib.suppress(UnreadableRunError):
                if record := self._find(run):
                    return record
            time.sleep(0.002)
        for _ in range(3):  # it may have begun again once more
            with contextlib.suppress(UnreadableRunError):
                if record := self._find(run):
                    return record
            time.sleep(0.002)
        return self._find(run)

    def is_bundled(self, run: "Run | DamagedRun") -> bool:
        """Return whether a run is ready-made (read-only)."""
        return run.path.parent == self.bundled

    def create(
        self, config: TrainConfig, title: str | None = None, recording: str = "", vector: Sequence[str] = ()
    ) -> Run:
        """Create the folder of a training, replacing an earlier run of the same settings.

        Args:
            config: The settings.
            title: Title of the run; by default data set, loss and miner.
            recording: Of a training that another program does: see `run_id`.
            vector: The columns of a table that are its embeddings.

        Returns:
            The run, without events.
        """
        info = {
            "version": 1,
            "id": run_id(config, recording),
            "title": one_line(title or "", 200) or default_title(config),
            "config": config.model_dump(mode="json"),
            "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "dmlviz": package_version("dmlviz"),
            "torch": package_version("torch"),
        }
        if is_custom(config.dataset):
            info["dataset"] = DATASETS[config.dataset].to_dict()
        if recording:
            info["recording"] = recording
        if 0 < len(vector) <= MAX_VECTOR:
            info["vector"] = [*vector]
        if plugins := config.plugins:
            info["plugins"] = plugins
        return Run(new_run_folder(ensure_dir(self.folder) / run_id(config, recording), "run.json", info))

    def begin_again(self, run: str, reason: str) -> Run:
        """Empty the folder of a training whose machine was lost, and note why; title, tags and pin stay."""
        record = self._writable(run)
        kept = {name: value for name, value in record.info.items() if name not in OF_ONE_TRAINING}
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        restarts = [*record.info.get("restarts", []), one_line(reason, 300)][-MAX_RESTARTS:]
        return Run(new_run_folder(record.path, "run.json", kept | {"created": created, "restarts": restarts}))

    def create_projection(self, run: Run, config: ProjectionConfig) -> ProjectionRun:
        """Create the folder of a projection; a ready-made run is copied first."""
        path = ensure_dir(self.writable_copy(run).path / "projections") / config.id
        info = {"version": 1, "id": config.id, "config": config.model_dump(mode="json")}
        return ProjectionRun(new_run_folder(path, "projection.json", info))

    def writable_copy(self, run: Run) -> Run:
        """Return the run itself, or a copy of a ready-made run in this folder."""
        if not self.is_bundled(run):
            return run
        with new_folder(ensure_dir(self.folder)) as copy:
            shutil.copytree(run.path, copy, dirs_exist_ok=True)
            with contextlib.suppress(OSError):  # another process was faster
                copy.rename(self.folder / run.id)
        return Run(self.folder / run.id)

    def remove_stale_folders(self) -> None:
        """Remove the folders of processes that were killed while they made, replaced or deleted a run."""
        for pattern in (f"{NEW_PREFIX}*", f"{OLD_PREFIX}*", f"*/projections/{NEW_PREFIX}*"):
            remove_stale_folders(self.folder, pattern)

    def rename(self, run: str, title: str) -> None:
        """Rename a run.

        Args:
            run: An ID.
            title: The new title.

        Raises:
            UserError: For a ready-made run, or an empty title.
        """
        title = one_line(title)
        if not title:
            raise UserError("A run needs a title; got an empty one.")
        self._note(run, title=title)

    def tag(self, run: str, tags: Iterable[str]) -> None:
        """Replace the tags.

        Args:
            run: An ID.
            tags: All its tags from here on.

        Raises:
            UserError: For a ready-made run.
        """
        unique = dict.fromkeys(filter(None, (one_line(tag, 30) for tag in tags)))
        self._note(run, tags=tuple(unique)[:MAX_TAGS])

    def pin(self, run: str, pinned: bool = True) -> None:
        """Pin or unpin a run: a pinned run is never evicted.

        Args:
            run: An ID.
            pinned: False to unpin it.

        Raises:
            UserError: For a ready-made run.
        """
        self._note(run, pinned=pinned)

    def _note(self, run: str, **fields: object) -> None:
        """Change fields of run.json."""
        record = self._writable(run)
        write_json(record.path / "run.json", record.info | fields)

    def delete(self, run: str) -> None:
        """Move a run to the trash.

        Args:
            run: An ID.

        Raises:
            UserError: While it is written or Clean uses it, and for a ready-made run.
        """
        try:
            record = self._writable(run)
        except UnreadableRunError:
            self._discard(self.folder / run)
            return
        if record.state == "running":
            raise UserError(f"{record.title} is still training; stop it first.")
        if any(projection.state == "running" for projection in record.projections()):
            raise UserError(f"A projection of {record.title} is still running; stop it first.")
        self.trash.add(record.path)

    def restore(self, run: str) -> "Run | DamagedRun":
        """Restore a deleted run; raise UserError if it was purged, or trained again.

        Args:
            run: An ID.

        Returns:
            The run.
        """
        return self._at(self.trash.restore(run))

    def _discard(self, path: Path) -> None:
        """Move an unreadable run to the trash."""
        if path.parent != self.folder or not path.is_dir():
            raise UserError(f"{path.name} is a ready-made run and cannot be changed.")
        if any(EventLogDir(folder).lock.locked for folder in (path, *path.glob("projections/*"))):
            raise UserError(f"Another process is writing {path.name}; stop it first.")
        self.trash.add(path)

    def _writable(self, run: str) -> Run:
        record = self.get(run)
        if self.is_bundled(record):
            raise UserError(f"{record.title} is a ready-made run and cannot be changed; train your own.")
        return record

    @classmethod
    def _read(cls, folder: Path, is_wanted: Callable[[str], bool]) -> "Iterator[Run | DamagedRun]":
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if is_run_id(entry.name) and entry.is_dir())
        except OSError:  # no such folder yet
            return
        for name in filter(is_wanted, names):
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
    """Return the default title of a run: data set, loss, miner.

    Args:
        config: Its settings.

    Examples:
        >>> default_title(TrainConfig(dataset="digits", loss="triplet", miner="batch_hard"))
        'Digits 8 × 8, Triplet, batch hard'
    """
    parts = [DATASETS[config.dataset].title, LOSSES[config.loss].title]
    if config.miner is not None:
        parts.append(MINERS[config.miner].title.lower())
    return ", ".join(parts)


def package_version(package: str) -> str:
    """Return the version of an installed package, or "unknown"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
