"""Files that people upload: read by a worker, shown as a preview, then kept as a data set or a run."""

import re
import secrets
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_sources import SOURCES
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.embedding_file import SUFFIXES
from dmlviz.data.raw_files import belong_together
from dmlviz.data.table_file import SUFFIXES as TABLES
from dmlviz.data.table_file import name_stem, suffix_of
from dmlviz.errors import UserError
from dmlviz.jobs.job import Status
from dmlviz.jobs.job_record import AnswerOrder, AnswerRecord
from dmlviz.jobs.order import UPLOADS, answer
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.storage.disk_space import disk_full, new_folder
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import ensure_dir, read_json, write_all, write_json
from dmlviz.workers.imports import MAX_SECONDS, ImportPreview, ImportRequest

PREFIX = ".upload-"
LOCK = "lock"  # in the folder of an upload
LABELS = (".npy", ".txt", *TABLES)


@dataclass(frozen=True, kw_only=True)
class ImportStatus(Status):
    """The state of an upload, with the share of the files that is read, and at the end its preview."""

    share: float = 0.0
    preview: ImportPreview | None = None


class _Upload(NamedTuple):
    """The folder of an upload, what is read and how, and the reading."""

    folder: Path
    request: ImportRequest
    reading: AnswerRecord


class UploadManager:
    """The uploads of a server, at most one of each person, in temporary folders beside the data.

    A folder is locked as long as it is in use, so that another server on the same data leaves it alone. Each reading of
    its files is an order, with a folder in it.
    """

    def __init__(self, data: Path, scheduler: JobScheduler) -> None:
        self.data = data
        self.scheduler = scheduler
        self._lock = threading.Lock()
        self._uploads: dict[str, _Upload] = {}
        self._in_use: dict[Path, FileLock] = {}
        for folder in (data / custom_datasets.FOLDER).glob(f"{PREFIX}*"):
            if not FileLock(folder / LOCK).locked:  # left by a server that was killed
                shutil.rmtree(folder, ignore_errors=True)

    def upload(self, owner: str, files: Mapping[str, IO[bytes]], points: bool = False) -> None:
        """Save files and begin to read them, as `points` to train on if so; refuse what cannot be one data set."""
        main, labels = _split_vectors_and_labels(list(files))
        self.discard(owner)
        folder = self._new_folder()
        try:
            self._read(owner, folder, {**self._save(folder, files, main, labels), "points": points})
        except BaseException:
            self._remove(folder)
            raise

    def _new_folder(self) -> Path:
        own = ensure_dir(self.data / custom_datasets.FOLDER)
        with new_folder(own) as new:  # nobody sees it unlocked under its later name
            lock = FileLock(new / LOCK)
            lock.acquire()
            folder = new.rename(own / f"{PREFIX}{secrets.token_hex(8)}")
        self._in_use[folder] = lock
        return folder

    def _remove(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._in_use.pop(folder).release()

    @staticmethod
    def _save(folder: Path, files: Mapping[str, IO[bytes]], main: str, labels: str | None) -> ImportRequest:
        paths: dict[str, str] = {}
        if main not in files:  # the folder of several
            paths["file"] = str(ensure_dir(folder / "files"))
            for sent, content in files.items():
                write_all(folder / "files" / Path(sent).name, content)
        # Only the ending of an uploaded file's name is used.
        for role, name in (("file", main), ("labels", labels)):
            if name is not None and name in files:
                path = folder / f"{role}{suffix_of(name)}"
                write_all(path, files[name])
                paths[role] = str(path)
        return ImportRequest(
            file=paths["file"],
            labels=paths.get("labels"),
            title=_title(main),
            side=None,
            color="auto",
            folder_level=None,
            points=False,
        )

    def reparse(self, owner: str, **changes: Any) -> None:
        """Read the same files again, with other values of the fields of an `ImportRequest`."""
        upload = self._stop(owner)
        if upload is not None:
            self._read(owner, upload.folder, {**upload.request, **changes})  # type: ignore[typeddict-item]
            self._clear(upload.folder, upload.reading)

    def request(self, owner: str) -> ImportRequest:
        """Return the options for reading the files: side, color, level of the class folders."""
        with self._lock:
            return self._uploads[owner].request

    def status(self, owner: str) -> ImportStatus | None:
        """Return the progress; None if this person uploaded nothing."""
        with self._lock:
            upload = self._uploads.get(owner)
        if upload is None:
            return None
        status, record = self.scheduler.status(upload.reading), upload.reading
        if status.phase == "finished":
            return ImportStatus(phase="finished", share=1.0, preview=read_json(record.result))
        if status.is_live:
            progress = record.progress
            return ImportStatus(**vars(status), share=0.0 if progress is None else progress["share"])
        if record.end is None:  # there was no room to say so
            return ImportStatus(phase="failed", reason=str(disk_full(upload.folder)))
        too_much = "Reading this took too much time or memory; bring less at a time."
        reason = too_much if record.end.get("cause") else status.reason
        return ImportStatus(phase="failed", reason=reason)

    def accept(self, owner: str, title: str) -> tuple[str, str]:
        """Keep the read data: ("pictures", name of the data set) or ("vectors", id of the run)."""
        status = self.status(owner)
        if status is None or status.preview is None:
            raise UserError("There is nothing to keep yet; wait until the files are read.")
        with self._lock:
            folder = self._uploads[owner].reading.path
        kind, name = status.preview["kind"], status.preview["name"]
        title = " ".join(title.split())[:60] or status.preview["title"]
        if kind == "pictures" and not custom_datasets.is_custom(name):  # files of one of the catalog
            for path in (folder / SOURCES[name].folder).iterdir():
                _move(path, ensure_dir(self.data / SOURCES[name].folder) / path.name)
        elif kind == "pictures":
            source = folder / custom_datasets.FOLDER / name
            write_json(
                source / custom_datasets.DESCRIBED, read_json(source / custom_datasets.DESCRIBED) | {"title": title}
            )
            _move(source, self.data / custom_datasets.FOLDER / name)
            DATASETS.add_search_path(self.data)
        else:
            for pictures in (folder / custom_datasets.FOLDER).glob(f"{custom_datasets.PREFIX}*"):  # of the rows
                _move(pictures, self.data / custom_datasets.FOLDER / pictures.name)
                DATASETS.add_search_path(self.data)
            source = folder / "runs" / name
            write_json(source / "run.json", read_json(source / "run.json") | {"title": title})
            _move(source, ensure_dir(self.scheduler.runs.folder) / name)
        self.discard(owner)
        return kind, name

    def discard(self, owner: str) -> None:
        """Delete this person's upload, if it was not kept."""
        self._stop(owner)
        with self._lock:
            upload = self._uploads.pop(owner, None)
        if upload is not None:
            self._remove(upload.folder)

    def close(self) -> None:
        """Delete every upload that was not kept."""
        with self._lock:
            owners = list(self._uploads)
        for owner in owners:
            self.discard(owner)

    def _read(self, owner: str, folder: Path, request: ImportRequest) -> None:
        reading = AnswerRecord(folder / secrets.token_hex(4))
        content = AnswerOrder(kind="answer", ask="upload", about="", arguments={"request": request})
        order = answer(reading.path, content, MAX_SECONDS, UPLOADS)
        self.scheduler.submit(order, owner, partial(self._clear, folder, reading))
        with self._lock:
            self._uploads[owner] = _Upload(folder, request, reading)

    def _stop(self, owner: str) -> _Upload | None:
        """Stop reading; return the upload."""
        with self._lock:
            upload = self._uploads.get(owner)
        if upload is not None:
            self.scheduler.stop(upload.reading)
        return upload

    def _clear(self, folder: Path, reading: AnswerRecord) -> None:
        """Delete what was read before the files were read again or deleted."""
        with self._lock:
            is_wanted = any(upload.reading.path == reading.path for upload in self._uploads.values())
        if not is_wanted and not self.scheduler.status(reading).is_live:
            shutil.rmtree(reading.path if folder in self._in_use else folder, ignore_errors=True)


def _split_vectors_and_labels(names: list[str]) -> tuple[str, str | None]:
    """Return the file with pictures or vectors, and the one with labels."""
    if len({Path(name).name for name in names}) > 1 and belong_together(names):
        return "MNIST", None
    zips = [name for name in names if name.lower().endswith(".zip")]
    if len(names) == 1 and (zips or names[0].lower().endswith(SUFFIXES)):
        return names[0], None
    labels = [name for name in names if re.search("label|class|target", name.lower()) and name.lower().endswith(LABELS)]
    vectors = [name for name in names if name not in labels and name.lower().endswith(SUFFIXES)]
    if len(names) == 2 and not zips and len(vectors) == len(labels) == 1:
        return vectors[0], labels[0]
    raise UserError(
        "Bring one zip, the files of MNIST or of a relative, or one file of vectors "
        f"({', '.join(SUFFIXES)}) and perhaps one whose name says labels; "
        f"got {', '.join(sorted(names))[:100]}."
    )


def _title(name: str) -> str:
    printable = "".join(letter for letter in name_stem(name).replace("_", " ") if letter.isprintable())
    return printable.strip()[:60] or "My data"


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError:  # it is there already, or lies on another disk
        if not target.exists():
            shutil.copytree(source, target)
