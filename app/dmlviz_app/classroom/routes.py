"""The routes of a class: its event stream, members' places, actions of teacher and students, and the hand-in."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dmlviz.errors import UserError
from dmlviz.lessons import Task
from dmlviz.runs.ownership import Ownership
from dmlviz.storage.files import is_run_id
from dmlviz_app.classroom import payloads
from dmlviz_app.classroom.protocol import ClassroomEvent
from dmlviz_app.people.classroom import RUN_PARAMETERS, Classroom, Place
from dmlviz_app.people.classrooms import class_not_found
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.event_stream import HEARTBEAT_S, event_hub
from dmlviz_app.server.headers import NO_STORE, STREAM, JSONResponse, read_json_body
from dmlviz_app.server.services import Services
from dmlviz_app.server.threads import ask_worker
from dmlviz_app.workbench.current_view import class_run

MAX_BODY = 16_384  # bytes
WHAT = "What is sent to a class"
BOARD_PAUSE_S = 2.0  # seconds after which a board looks whether trainings have finished
routes = Routes()


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Place(_Model):
    page: Annotated[str, StringConstraints(pattern="^[a-z]{0,20}$")]
    query: Annotated[
        dict[Annotated[str, Field(max_length=60)], Annotated[str, Field(max_length=8000)]], Field(max_length=80)
    ]
    step: Annotated[int, Field(ge=0, lt=10**9)] | None = None


class _SetTask(_Model):
    what: Literal["task"]
    lesson: Annotated[str, Field(max_length=80)] | None
    task: Annotated[int, Field(ge=1, le=99)] = 1
    dataset: Annotated[str, Field(max_length=80)] | None = None


class _Switch(_Model):
    what: Literal["lead", "follow"]
    on: bool


class _Remove(_Model):
    what: Literal["remove"]
    student: Annotated[str, Field(pattern="^[0-9a-f]{12}$")]
    on: bool


class _Press(_Model):
    what: Literal["reveal", "show", "end", "leave"]


_PLACE: TypeAdapter[_Place] = TypeAdapter(_Place)
_Action: TypeAlias = _SetTask | _Switch | _Remove | _Press
_ACTION: TypeAdapter[_Action] = TypeAdapter(Annotated[_Action, Field(discriminator="what")])


@routes.get(Rule.VISITOR, "/classrooms/{code}/events")
async def events(request: Request) -> Response:
    """Stream the state of the class, now and after every change, as server-sent events."""
    services, room = _room(request)
    return StreamingResponse(_blocks(services, room), media_type="text/event-stream", headers=STREAM)


async def _blocks(services: Services, room: Classroom) -> AsyncIterator[str]:
    rooms, person = services.classrooms, services.person.id
    has_answer = partial(_has_answer, services)

    def state() -> ClassroomEvent | None:
        return payloads.classroom_event(rooms, room.code, person, has_answer, partial(payloads.class_result, services))

    pause = BOARD_PAUSE_S if room.teacher == person else HEARTBEAT_S
    with rooms.watched(room, person) as changes:
        async for block in event_hub.follow_state(changes, state, pause):
            yield block


def _has_answer(services: Services, task: Task, dataset: str | None) -> bool:
    with suppress(UserError):  # it was not trained yet, or there is no such data set
        return services.store.get(task.training(dataset or services.datasets.default()).id).state == "finished"
    return False


@routes.post(Rule.VISITOR, "/classrooms/{code}/place")
async def place(request: Request) -> Response:
    """Store the place of a person's page; a teacher who leads takes the others along."""
    services, room = _room(request)
    place = await read_json_body(request, _PLACE, MAX_BODY, WHAT)
    now = Place(page=place.page, query=place.query, step=place.step)
    await asyncio.to_thread(_move, services, room, now)
    return JSONResponse({"ok": True}, headers=NO_STORE)


def _move(services: Services, room: Classroom, now: Place) -> None:
    if room.leading and room.teacher == services.person.id:
        show_to_class(services.run_owners, room, now)
    services.classrooms.move(room.code, services.person.id, now)


@routes.post(Rule.VISITOR, "/classrooms/{code}/action")
async def action(request: Request) -> Response:
    """Apply an action of the teacher or of a student."""
    services, room = _room(request)
    asked = await read_json_body(request, _ACTION, MAX_BODY, WHAT)
    await asyncio.to_thread(_act, services, room, asked)
    return JSONResponse({"ok": True}, headers=NO_STORE)


def _act(services: Services, room: Classroom, asked: _Action) -> None:
    rooms, person, code = services.classrooms, services.person.id, room.code
    if isinstance(asked, _SetTask):
        if asked.lesson is not None:
            payloads.known_task(asked.lesson, asked.task)
        if asked.dataset is not None and asked.dataset not in services.datasets.available():
            raise UserError(f"The data set {asked.dataset!r} is not on this server: choose one of the list.")
        rooms.set_task(code, person, asked.lesson, asked.task, asked.dataset)
    elif isinstance(asked, _Remove):
        rooms.set_removed(code, person, payloads.student_of(room, asked.student), asked.on)
    elif asked.what == "lead":
        assert isinstance(asked, _Switch)
        if asked.on and room.teacher == person and room.lead is not None:
            show_to_class(services.run_owners, room, room.lead)
        rooms.set_leading(code, person, asked.on)
    elif asked.what == "follow":
        assert isinstance(asked, _Switch)
        rooms.set_following(code, person, asked.on)
    elif asked.what == "reveal":
        rooms.reveal(code, person)
        _share_run(services, room)
    elif asked.what == "show":
        run = class_run(services, room)
        if run is None:
            raise UserError("Nobody has trained the run of this task yet: it begins when a student commits to a guess.")
        _share_run(services, room)
        rooms.show(code, person, Place(query={"run": run.id}))
    elif asked.what == "end":
        rooms.end(code, person)
    else:
        rooms.leave(person)


def _share_run(services: Services, room: Classroom) -> None:
    """Let teacher and students see the run of the task, whoever of them trained it."""
    run = class_run(services, room)
    for holder in (room.teacher, *room.present):
        entry = None if run is None else services.run_owners.entry(run.id, holder)
        if run is not None and entry is not None and entry.deleted is None:
            if entry.visibility == "private":
                services.run_owners.share(run.id, holder, "link")
            services.run_owners.admit(run.id, holder, (room.teacher, *room.present))
            return


@routes.get(Rule.VISITOR, "/classrooms/{code}/hand-in.json")
async def hand_in(request: Request) -> Response:
    """Return the work of the requesting student in the class."""
    services, room = _room(request)
    if services.person.id not in room.members:
        raise class_not_found(room.code)
    text = json.dumps(
        await asyncio.to_thread(payloads.hand_in, services, room, services.person.id), indent=2, ensure_ascii=False
    )
    return _file(text, "application/json", f"hand-in-{room.code}.json")


@routes.get(Rule.VISITOR, "/classrooms/{code}/gallery.json")
async def gallery(request: Request) -> Response:
    """Return what the class keeps with a run, for its teacher."""
    services, room = _room_of_teacher(request)
    return JSONResponse(await ask_worker(request, payloads.class_gallery, services, room), headers=NO_STORE)


@routes.get(Rule.VISITOR, "/classrooms/{code}/race.json")
async def race(request: Request) -> Response:
    """Return the race of the class, for its teacher."""
    services, room = _room_of_teacher(request)
    return JSONResponse(await asyncio.to_thread(payloads.class_race, services, room), headers=NO_STORE)


@routes.get(Rule.VISITOR, "/classrooms/{code}/class.csv")
async def class_csv(request: Request) -> Response:
    """Return the class as a table, for its teacher."""
    services, room = _room_of_teacher(request)
    text = await asyncio.to_thread(payloads.class_csv, services, room)
    return _file(text, "text/csv; charset=utf-8", f"class-{room.code}.csv")


@routes.get(Rule.VISITOR, "/classrooms/{code}/hand-ins.zip")
async def hand_ins(request: Request) -> Response:
    """Return every student's work, for the teacher: a zip with one JSON file each."""
    services, room = _room_of_teacher(request)
    content = await asyncio.to_thread(payloads.hand_ins_zip, services, room)
    return _file(content, "application/zip", f"class-{room.code}.zip")


def _file(content: str | bytes, media_type: str, name: str) -> Response:
    headers = NO_STORE | {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=media_type)


def _room(request: Request) -> tuple[Services, Classroom]:
    services = personal(request)
    return services, services.classrooms.get(request.path_params["code"], services.person.id)


def _room_of_teacher(request: Request) -> tuple[Services, Classroom]:
    services, room = _room(request)
    if room.teacher != services.person.id:
        raise class_not_found(room.code)
    return services, room


def show_to_class(owners: Ownership, room: Classroom, place: Place) -> None:
    """Let the students of a class see the teacher's own runs that a place shows, as if they had opened its link.

    Args:
        owners: The holders of each run.
        room: The class.
        place: The teacher's place.
    """
    for name in RUN_PARAMETERS:
        run = place.query.get(name, "")
        entry = owners.entry(run, room.teacher) if is_run_id(run) else None
        if entry is None:  # not the teacher's own: it is public, or stays hidden
            continue
        if entry.visibility == "private":
            owners.share(run, room.teacher, "link")
        owners.admit(run, room.teacher, room.present)
