"""One address for everything that runs in the background: how it stands, its end by hand, its file."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.job import Job, Status
from dmlviz.jobs.job_record import JobRecord
from dmlviz.runs.run import Run
from dmlviz.storage.text import one_line
from dmlviz_app.people import policy
from dmlviz_app.server import monitoring_routes
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.answers import AnswerFile
from dmlviz_app.server.headers import NO_STORE, UNCOMPRESSED, JSONResponse
from dmlviz_app.server.protocol import WorkStatus
from dmlviz_app.server.services import Services

HELD_S, LOOK_S = 20.0, 0.25  # seconds: a proxy may give up on an answer that takes longer; between two looks
routes = Routes(monitoring_routes.routes)


@routes.get(Rule.VISITOR, "/work/{work}")
async def state(request: Request) -> Response:
    """Return how a piece of work stands; with `?wait=1` when it is over, or after 20 seconds."""
    services, work = personal(request), request.path_params["work"]
    looks = int(HELD_S / LOOK_S) if request.query_params.get("wait") == "1" else 0
    answer = await asyncio.to_thread(work_status, services, work)
    for _ in range(looks):
        if not answer["live"]:
            break
        await asyncio.sleep(LOOK_S)
        answer = await asyncio.to_thread(work_status, services, work)
    return JSONResponse(answer, headers=NO_STORE)


@routes.delete(Rule.VISITOR, "/work/{work}")
async def stop(request: Request) -> Response:
    """Stop a piece of work of this person, as `PersonalJobs.stop`; return how it stands then."""
    services, work = personal(request), request.path_params["work"]
    work_status(services, work)  # raises for one that they may not see
    job = services.scheduler.find(work)
    if job is not None and not await asyncio.to_thread(services.jobs.stop, job.record):
        raise UserError("Others asked for this, so it goes on.")
    return JSONResponse(await asyncio.to_thread(work_status, services, work), headers=NO_STORE)


@routes.get(Rule.VISITOR, "/work/{work}/result")
async def result(request: Request) -> Response:
    """Return the file of an answer, when it is written, to who asked for it."""
    services, work = personal(request), request.path_params["work"]
    job = services.scheduler.find(work)
    if job is None or services.person.id not in job.owners or not job.order.is_answer:
        raise UserError(f"There is no file of the work {one_line(work, 40)}: ask for it where it is offered.")
    async with AsyncExitStack() as stack:
        record = await stack.enter_async_context(services.answers.open(request, services.person.id, job.order))
        return AnswerFile(record, stack.pop_all(), "application/octet-stream", NO_STORE | UNCOMPRESSED)
    raise AssertionError  # the block returns


def work_status(services: Services, work: str) -> WorkStatus:
    """Return how a piece of work stands.

    Raises:
        UserError: If there is none of this ID, or this person neither asked for it nor sees its run.
    """
    job, ended = services.scheduler.find(work), services.scheduler.ended(work)
    share = None
    if job is not None:
        kind, name, run, owners = job.order.kind, job.order.name, job.order.run, tuple(job.owners)
        status = services.scheduler.status(job.record)
        with suppress(DamagedFileError):
            share = _share(job)
    elif ended is not None:
        report, owners = ended
        kind, name, run = report.kind, report.name, report.run
        status = Status(report.state, reason=report.reason)  # type: ignore[arg-type]
        share = 1.0 if report.state == "finished" else None
    else:
        raise _not_found(work)
    is_own = services.person.id in owners or services.person.may(policy.STOP, "others")
    if not is_own and not (run and services.runs.sees(run)):
        raise _not_found(work)
    return WorkStatus(
        work=work,
        kind=name if kind == "answer" else kind,
        phase=status.phase,
        live=status.is_live,
        position=status.position,
        of=status.of,
        share=share,
        reason=status.reason,
    )


def _share(job: Job) -> float | None:
    """Return the share of a job that is done; None while that is not known."""
    record: Any = job.record
    if isinstance(record, JobRecord):
        progress: Mapping[str, Any] = record.progress or {}
        return progress.get("share") or (progress["done"] / max(1, progress["of"]) if "done" in progress else None)
    step = (record.log.last() or {}).get("step")
    return step / record.config.steps if isinstance(record, Run) and step is not None else None


def _not_found(work: str) -> UserError:
    return UserError(f"There is no work {one_line(work, 40)} here: it ended long ago, or another program does it.")
