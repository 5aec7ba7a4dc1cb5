"""Imports of runs: an archive is unpacked and checked in a process with limits, one for each person, few in all."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.archive import MAX_BYTES, STAGED_REQUEST, TOO_MUCH, import_run
from dmlviz.runs.run import Run
from dmlviz.storage.disk_space import disk_full, writing
from dmlviz.storage.files import write_json
from dmlviz.workers.archive_worker import ArchiveAnswer, ArchiveRequest
from dmlviz_app.server.access import Rule, access, personal
from dmlviz_app.server.headers import NO_STORE
from dmlviz_app.server.json_response import JSONResponse
from dmlviz_app.server.services import Services

MAX_AT_ONCE = 2  # archives that are checked at a time
PATIENCE_S = 120.0  # seconds, for a turn and for a check: the processor may be busy


MAX_UPLOAD = 400_000_000  # bytes of an archive


class ImportTurns:
    """The people who import a run now. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._people: set[str] = set()
        self._checks = threading.BoundedSemaphore(MAX_AT_ONCE)

    @contextmanager
    def of_person(self, person: str) -> Iterator[None]:
        """Let a person send and import one run for as long as the block lasts; raise UserError for a second one."""
        with self._lock:
            if person in self._people:
                raise UserError("You import one run at a time: wait until the other one is here.")
            self._people.add(person)
        try:
            yield
        finally:
            with self._lock:
                self._people.discard(person)

    @contextmanager
    def check(self) -> Iterator[None]:
        """Wait for a turn to check an archive; raise UserError where that takes too long."""
        if not self._checks.acquire(timeout=PATIENCE_S):
            raise UserError("Others import runs at the moment: try again in a minute.")
        try:
            yield
        finally:
            self._checks.release()


TURNS = ImportTurns()
"""Of this process."""


def routes() -> list[Route]:
    """Return the route; it receives a body."""
    return [Route("/runs/import", receive_archive, methods=["POST"])]


@access(Rule.VISITOR)
async def receive_archive(request: Request) -> Response:
    """Import a run from one zip, the body; answer {"run", "title"} or {"error"}."""
    services = personal(request)
    await asyncio.to_thread(services.check_upload, int(request.headers.get("content-length") or 0))
    most = min(MAX_UPLOAD, services.person.limits.upload)
    with TURNS.of_person(services.person.id), writing(Path(gettempdir())), TemporaryFile(prefix="dmlviz-") as file:
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                limit = f"{most / 1e6:,.0f} MB"
                raise UserError(f"A run's file has at most {limit}; this one is larger: take a zip that Export wrote.")
            await asyncio.to_thread(file.write, part)
        run = await asyncio.to_thread(import_archive, services, file)
    return JSONResponse({"run": run.id, "title": run.title}, headers=NO_STORE)


def import_archive(services: Services, file: IO[bytes]) -> Run:
    """Import a run from a zip file, for the person who asks; raise UserError as `dmlviz.runs.archive.import_run`."""
    check, unpack = partial(check_images, services), partial(unpack_in_process, services.data)
    with TURNS.check():
        room = (
            MAX_BYTES if services.person.limits.disk is None else max(0, services.person.limits.disk - services.used())
        )
        run = import_run(file, services.store, services.person.owner, check, room, unpack)
    services.runs.hold(run.id, run.title, run.tags)
    return services.runs.get(run.id)


def check_images(services: Services, config: TrainConfig) -> None:
    """Refuse a run of another person's images, present or not: its pages would show them."""
    is_public = DATASETS[config.dataset].size == 0 and config.dataset not in custom_datasets.list_names(services.data)
    if not is_public and not services.datasets.may_train_on(config.dataset):
        raise UserError("This run is of images that you do not have here: upload them first, then import the run.")


def unpack_in_process(data: Path, file: IO[bytes], folder: Path, holder: str, room: int) -> str:
    """Unpack and check an archive, a file on disk, as `dmlviz.runs.archive.unpack_run`, in a process with limits."""
    write_json(folder / STAGED_REQUEST, ArchiveRequest(data=str(data), holder=holder, room=room))
    file.seek(0)
    command = [sys.executable, "-P", "-m", "dmlviz.workers.archive_worker", str(folder)]
    try:
        done = subprocess.run(
            command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False
        )
        answer: ArchiveAnswer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        raise UserError(TOO_MUCH) from None
    if "disk_full" in answer:
        raise disk_full(folder.parent, answer["disk_full"])
    if "error" in answer:
        raise UserError(answer["error"])
    return answer["run"]
