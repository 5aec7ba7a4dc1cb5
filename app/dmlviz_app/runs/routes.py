"""Changes of runs, and imports of runs: an archive is unpacked and checked by a worker with limits."""

import asyncio
import shutil
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.jobs.job_record import AnswerRecord
from dmlviz.runs.archive import MAX_BYTES, TOO_MUCH, Unpack, import_run
from dmlviz.runs.quota import check_room
from dmlviz.runs.run import Run
from dmlviz.storage.disk_space import NEW_PREFIX, writing
from dmlviz_app.runs import state
from dmlviz_app.runs.protocol import Changed, RunChange
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.answers import Turns
from dmlviz_app.server.headers import NO_STORE, JSONResponse, read_json_body
from dmlviz_app.server.services import Services

MAX_UPLOAD = 400_000_000  # bytes of an archive
MAX_OF_ALL = 60  # archives that are sent, wait for their turn or are checked
MAX_CHANGE = 16_384  # bytes
_CHANGE = TypeAdapter(RunChange)
SENDERS = Turns(1, MAX_OF_ALL)
routes = Routes()


@routes.post(Rule.VISITOR, "/runs/change")
async def change(request: Request) -> Response:
    """Change a run (`RunChange`); its address names no run, since one that was deleted can be brought back."""
    asked = await read_json_body(request, _CHANGE, MAX_CHANGE, "A change of a run")
    services = personal(request)
    if asked.get("deleted") is False:
        await asyncio.to_thread(check_room, services.store, asked["run"], services.disk_limit)
    await asyncio.to_thread(state.change, asked, services.runs)
    answer = Changed(fits=True)
    if asked.get("deleted"):
        try:
            await asyncio.to_thread(check_room, services.store, asked["run"], services.disk_limit)
        except UserError:
            answer = Changed(fits=False)
    return JSONResponse(answer, headers=NO_STORE)


@routes.post(Rule.VISITOR, "/runs/import")
async def receive_archive(request: Request) -> Response:
    """Import a run from one zip, the body; answer {"run", "title"} or {"error"}."""
    services = personal(request)
    await asyncio.to_thread(services.check_upload, int(request.headers.get("content-length") or 0))
    most, folder = min(MAX_UPLOAD, services.person.limits.upload), services.answers.folder
    busy = "You import one run at a time, and not too many people at once: try again when the other one is here."
    with (
        SENDERS.of(services.person.id, busy),
        writing(folder),
        NamedTemporaryFile(prefix="upload-", dir=folder) as file,
    ):
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                limit = f"{most / 1e6:,.0f} MB"
                raise UserError(f"A run's file has at most {limit}; this one is larger: take a zip that Export wrote.")
            await asyncio.to_thread(file.write, part)
        file.flush()
        unpacked = services.store.folder.resolve() / f"{NEW_PREFIX}{Path(file.name).name}"
        order = services.answers.order(
            "unpack",
            archive=file.name,
            folder=str(unpacked),
            holder=services.person.owner,
            room=await asyncio.to_thread(_room, services),
        )
        try:
            async with services.answers.open(request, services.person.id, order, TOO_MUCH) as record:
                run = await asyncio.to_thread(import_archive, services, file, partial(_take, unpacked, record))
        finally:
            await asyncio.to_thread(shutil.rmtree, unpacked, ignore_errors=True)
    return JSONResponse({"run": run.id, "title": run.title}, headers=NO_STORE)


def import_archive(services: Services, file: IO[bytes], unpack: Unpack | None = None) -> Run:
    """Import a run from a zip file, for the person who asks; raise UserError as `dmlviz.runs.archive.import_run`."""
    check = partial(check_images, services)
    run = import_run(file, services.store, services.person.owner, check, _room(services), unpack)
    services.runs.hold(run.id, run.title, run.tags)
    return services.runs.get(run.id)


def _room(services: Services) -> int:
    limit = services.person.limits.disk
    return MAX_BYTES if limit is None else max(0, limit - services.used())


def _take(unpacked: Path, record: AnswerRecord, _file: IO[bytes], folder: Path, _holder: str, _room: int) -> str:
    """Take what a worker has unpacked; return the ID of the run."""
    run = record.result.read_text()
    (unpacked / run).rename(folder / run)
    return run


def check_images(services: Services, config: TrainConfig) -> None:
    """Refuse a run of another person's images, present or not: its pages would show them."""
    is_public = DATASETS[config.dataset].size == 0 and config.dataset not in custom_datasets.list_names(services.data)
    if not is_public and not services.datasets.may_train_on(config.dataset):
        raise UserError("This run is of images that you do not have here: upload them first, then import the run.")
