"""The routes of a lab: its playgrounds and its downloads."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from dmlviz.errors import UserError
from dmlviz.labs import printed
from dmlviz.labs.lab_study import as_script
from dmlviz.labs.registry import LABS
from dmlviz.storage.text import one_line
from dmlviz.studies.study import Study, study_id
from dmlviz_app.answers.cached_file import computed_file
from dmlviz_app.labs.files import lab_planes
from dmlviz_app.labs.picture import named_study
from dmlviz_app.labs.question import ask
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.answers import AnswerFile
from dmlviz_app.server.headers import NO_STORE, JSONResponse, read_json_body
from dmlviz_app.server.services import COMPUTED
from dmlviz_app.server.threads import ask_worker

READY_MADE = "ready-made"
SIZES = ("quick", "full")
SOURCES = (READY_MADE, *SIZES)
MAX_QUESTION_BYTES = 4_000_000  # with a picture of one's own, as gray bytes in base64


class _Question(TypedDict, total=False):
    """The name of the trial whose net is asked; the rest is the lab's."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    trial: str


_QUESTION = TypeAdapter(_Question)
routes = Routes()
STUDY = "/labs/{lab}/{dataset}/{source}"  # a study: the ready-made one, the quick or the full one


@routes.get(Rule.VISITOR, "/labs/printed-and-measured.html")
async def printed_and_measured(request: Request) -> Response:
    """Return a page of every number that the labs' papers print, beside ours of the ready-made studies."""
    stamp = (printed.HERE / "printed.csv").stat().st_mtime_ns
    content = await computed_file(request, f"{COMPUTED}/printed-{stamp:x}", "lab_file", study="", kind="printed")
    return Response(content, media_type="text/html", headers=NO_STORE)


@routes.get(Rule.DATA_READER, STUDY + "/picture.json")
async def picture(request: Request) -> Response:
    """Return the picture of a lab, with the similarities of its places."""
    content = await _computed(request, "picture")
    return Response(content, media_type="application/json", headers=NO_STORE)


@routes.get(Rule.DATA_READER, STUDY + "/planes.json")
async def planes(request: Request) -> Response:
    """Return the linked maps of a study."""
    study = _study(request)
    return JSONResponse(await asyncio.to_thread(lab_planes, study), headers=NO_STORE)


@routes.get(Rule.DATA_READER, STUDY + "/planes.png")
async def sheet(request: Request) -> Response:
    """Return the images of the linked maps, side by side."""
    return Response(await _computed(request, "planes"), media_type="image/png", headers=NO_STORE)


@routes.post(Rule.DATA_READER, STUDY + "/answer.json")
async def answer(request: Request) -> Response:
    """Return the answer of a net of the study to the playground's question, which is JSON."""
    question = await read_json_body(request, _QUESTION, MAX_QUESTION_BYTES, "A question of a lab")
    fields: dict[str, Any] = {**question}
    study, dataset, data = _study(request), request.path_params["dataset"], personal(request).data
    return JSONResponse(await ask_worker(request, ask, study, dataset, data, fields), headers=NO_STORE)


@routes.get(Rule.DATA_READER, STUDY + "/numbers.csv")
async def numbers(request: Request) -> Response:
    """Return the rows of all figures as CSV."""
    study = await asyncio.to_thread(_study, request)
    return await _download(request, study, "text/csv", f"{_name(study)}.csv", "numbers")


@routes.get(Rule.DATA_READER, STUDY + "/figure.html")
async def figure(request: Request) -> Response:
    """Return a figure as a page that needs no network; `?figure=` names it, `?dark=1` is for a dark page."""
    study, figures = await asyncio.to_thread(_study, request), LABS[request.path_params["lab"]].figures
    name, dark = one_line(request.query_params.get("figure", figures[0].name), 40), request.query_params.get("dark")
    file = f"{_name(study)}-{name}.html"
    return await _download(request, study, "text/html", file, "figure", figure=name, dark=dark == "1")


@routes.get(Rule.DATA_READER, STUDY + "/script.py")
async def script(request: Request) -> Response:
    """Return a Python script that repeats the study."""
    lab, size = LABS[request.path_params["lab"]], request.path_params["source"]
    dataset = request.path_params["dataset"]
    if size not in SIZES or dataset not in lab.datasets:
        raise UserError(f"A study of {lab.name} is {' or '.join(SIZES)}, of {', '.join(lab.datasets)}.")
    text = as_script(lab.name, size, dataset)
    return Response(text, media_type="text/x-python", headers=_attachment(f"{lab.name.replace('-', '_')}.py"))


async def _computed(request: Request, kind: str) -> bytes:
    """Return a file of a study, as far as it is."""
    study = await asyncio.to_thread(_study, request)
    log, source = study.log.path, request.path_params["source"]
    name = f"{COMPUTED}/{_name(study)}-{source}/{kind}-{log.stat().st_mtime_ns if log.exists() else 0:x}"
    return await computed_file(request, name, "lab_file", study=str(study.path.resolve()), kind=kind)


async def _download(
    request: Request, study: Study, media_type: str, name: str, kind: str, **arguments: Any
) -> Response:
    services = personal(request)
    path = str(study.path.resolve())
    order = services.answers.order("lab_file", name=name, study=path, kind=kind, **arguments)
    async with AsyncExitStack() as stack:
        record = await stack.enter_async_context(services.answers.open(request, services.person.id, order))
        return AnswerFile(record, stack.pop_all(), media_type, NO_STORE)
    raise AssertionError  # the block returns


def _study(request: Request) -> Study:
    lab, source = LABS[request.path_params["lab"]], request.path_params["source"]
    dataset = request.path_params["dataset"]
    if source not in SOURCES or dataset not in lab.datasets:
        raise UserError(f"A study of {lab.name} is {', '.join(SOURCES)}, of {', '.join(lab.datasets)}.")
    services = personal(request)
    return named_study(lab.name, lambda: services.studies.get(lab.name, source, dataset), source == READY_MADE)


def _name(study: Study) -> str:
    info = study.info
    return study_id(info["lab"], info["size"], info["dataset"])


def _attachment(filename: str) -> dict[str, str]:
    return {**NO_STORE, "Content-Disposition": f'attachment; filename="{filename}"'}
