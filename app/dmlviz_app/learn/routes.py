"""The routes of Learn: a loss in pictures, and code line by line, by the worker; scores of points; sheets, words."""

import asyncio
import json
import math
from functools import lru_cache
from typing import Annotated, Any, cast

from pydantic import ConfigDict, Field, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from dmlviz import metrics
from dmlviz.catalog.glossary import GLOSSARY
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.parameters import describe_unknown
from dmlviz.errors import UserError
from dmlviz.lessons import LESSONS
from dmlviz.lessons.examples import FILES, example
from dmlviz.runs.run import Run
from dmlviz.storage.text import one_line
from dmlviz_app.answers.cached_file import computed_file
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.learn.cards import pictures
from dmlviz_app.learn.catalog_index import KINDS
from dmlviz_app.learn.clouds import cloud
from dmlviz_app.learn.code import source_page
from dmlviz_app.learn.protocol import CodeSteps, Drawn, LossCurve, LossForces, LossGround, PointCloud, SpaceScores
from dmlviz_app.learn.sheet import may_read_sheets, sheet_page
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.headers import NO_STORE, PRIVATE_IMMUTABLE, JSONResponse, read_json_body
from dmlviz_app.server.services import services
from dmlviz_app.server.threads import ask_worker
from dmlviz_app.widgets.protocol import GlossaryTerm

MAX_BODY_BYTES = 200_000
_REQUIRED: dict[str, set[str]] = {
    "curve": set(),
    "forces": {"points", "labels"},
    "ground": {"points", "labels", "index", "places"},
}
_ALLOWED = {
    "curve": frozenset({"params", "held", "samples"}),
    "forces": frozenset({"params", "points", "labels", "weights", "triplet"}),
    "ground": frozenset({"params", "points", "labels", "weights", "triplet", "index", "places"}),
}
MAX_POINTS_BYTES = 50_000
MAX_POINTS = 300
DIMENSIONS = 2
Number = Annotated[float, Field(gt=-1e6, lt=1e6)]
Places = list[Annotated[list[Number], Field(max_length=4096)]]


class _LossQuestion(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    params: dict[str, Any]
    held: dict[str, float]
    samples: int
    points: Places
    labels: list[int]
    weights: Places
    triplet: bool
    index: int
    places: Places


class _Points(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # type: ignore[misc]

    embeddings: Annotated[
        list[Annotated[list[Number], Field(min_length=DIMENSIONS, max_length=DIMENSIONS)]],
        Field(min_length=2, max_length=MAX_POINTS, validation_alias="points"),
    ]
    labels: Annotated[list[int], Field(validation_alias="classes")]


_LOSS_QUESTION, _POINTS = TypeAdapter(_LossQuestion), TypeAdapter(_Points)
_VALUES: TypeAdapter[dict[str, Number]] = TypeAdapter(dict[str, Number])
routes = Routes()


@routes.post(Rule.VISITOR, "/losses/{loss}/{picture}.json")
async def picture(request: Request) -> Response:
    """Return the values and slopes of a loss on a few points."""
    kind, loss = request.path_params["picture"], LOSSES[request.path_params["loss"]]
    if kind not in _ALLOWED:
        raise UserError(f"A loss is drawn as {', '.join(_ALLOWED)}; got {one_line(kind, 40)}.")
    fields = await _question(request, kind)
    fields["params"] = loss.with_defaults(fields.get("params", {}))
    question = json.dumps({"ask": "loss", "loss": kind, "name": loss.name} | fields, sort_keys=True)
    return JSONResponse(await ask_worker(request, _answer, question), headers=NO_STORE)


async def _question(request: Request, kind: str) -> dict[str, Any]:
    fields = await read_json_body(request, _LOSS_QUESTION, MAX_BODY_BYTES, "A question about a loss")
    if not _REQUIRED[kind] <= fields.keys() <= _ALLOWED[kind]:
        allowed, required = ", ".join(sorted(_ALLOWED[kind])), ", ".join(sorted(_REQUIRED[kind])) or "none"
        names = ", ".join(sorted(fields))[:100] or "none"
        raise UserError(f"The fields for {kind}.json are {allowed} (required: {required}); got {names}.")
    return {**fields}


@lru_cache(maxsize=256)
def _answer(question: str) -> LossCurve | LossForces | LossGround | CodeSteps | Drawn:
    """Return the worker's answer; equal questions are answered once, unless 256 others came between."""
    answer = services().scheduler.inference_worker.call(json.loads(question))
    return cast(LossCurve | LossForces | LossGround | CodeSteps | Drawn, answer)


@routes.post(Rule.VISITOR, "/figures/{figure}.json")
async def figure(request: Request) -> Response:
    """Return a figure with some values of its sliders."""
    values = await read_json_body(request, _VALUES, MAX_BODY_BYTES, "Values of a figure's sliders")
    question = json.dumps({"ask": "figure", "name": request.path_params["figure"], "values": values}, sort_keys=True)
    return JSONResponse(await ask_worker(request, _answer, question), headers=NO_STORE)


@routes.get(Rule.VISITOR, "/code/{kind}/{name}/source.html")
async def source(request: Request) -> Response:
    """Return the file of the library that implements an entry, its lines numbered."""
    kind, name = _entry(request)
    content = await asyncio.to_thread(source_page, example(kind, name).source)
    return Response(content, media_type="text/html", headers=NO_STORE)


@routes.get(Rule.VISITOR, "/code/{kind}/{name}/steps.json")
async def code_steps(request: Request) -> Response:
    """Return what the lines of an entry's code make of eight digits."""
    return await _steps(request, "", 0)


@routes.get(Rule.RUN_READER, "/runs/{run}/code/{kind}/{name}/steps.json")
async def run_code_steps(request: Request) -> Response:
    """Return what the lines of an entry's code make of eight images of a run."""
    run = await asyncio.to_thread(personal(request).runs.get, request.path_params["run"])
    if not run.embedded_steps:
        raise run.lacks("snapshots")
    return await _steps(request, str(run.path.resolve()), run.embedded_steps[-1])


async def _steps(request: Request, run: str, step: int) -> Response:
    kind, name = _entry(request)
    question = json.dumps({"ask": "code", "kind": kind, "name": name, "run": run, "step": step})
    return JSONResponse(await ask_worker(request, _answer, question), headers=NO_STORE)


def _entry(request: Request) -> tuple[str, str]:
    """Return kind and name of an entry with code; raise UserError for any other."""
    kind, name = request.path_params["kind"], request.path_params["name"]
    if kind not in FILES:
        raise UserError(f"Code is of a {', '.join(FILES)}; got {one_line(kind, 40)}.")
    if KINDS[kind].catalog[name].name in KINDS[kind].catalog.plugged:
        raise UserError(f"{name} comes with a plug-in, whose code is not shown here.")
    return kind, name


@routes.post(Rule.VISITOR, "/scores.json")
async def scores(request: Request) -> Response:
    """Return the scores of points in the plane with classes, against themselves."""
    question = await read_json_body(request, _POINTS, MAX_POINTS_BYTES, "Points to score")
    return JSONResponse(await asyncio.to_thread(_scores, json.dumps(question)), headers=NO_STORE)


@routes.get(Rule.DATA_READER, "/clouds/{dataset}.json")
async def images_as_points(request: Request) -> Response:
    """Return some test images of a data set as points: their pixels along the directions of largest variance."""
    dataset = request.path_params["dataset"]
    stamp = (await asyncio.to_thread(image_tiles, dataset, personal(request).data)).hash
    content = await computed_file(request, f"{dataset}-{stamp}/points.json", "cloud", dataset=dataset)
    return Response(content, headers=NO_STORE, media_type="application/json")


@routes.get(Rule.RUN_READER, "/runs/{run}/cloud.json")
async def run_as_points(request: Request) -> Response:
    """Return the last embeddings of some tracked images of a run."""
    run = personal(request).runs.get(request.path_params["run"])
    return JSONResponse(await asyncio.to_thread(_run_as_points, run), headers=NO_STORE)


@routes.get(Rule.ANYONE, "/glossary.json")
async def glossary(_request: Request) -> Response:
    """Return the title and text of every term."""
    terms = {name: GlossaryTerm(title=term.title, text=term.text) for name, term in GLOSSARY.items()}
    return JSONResponse(terms, headers={"Cache-Control": "max-age=3600"})


@routes.get(Rule.ANYONE, "/learn-pictures.svg")
async def drawings(_request: Request) -> Response:
    """Return the drawings of the index; their address has their checksum."""
    return Response(pictures()[0], media_type="image/svg+xml", headers=PRIVATE_IMMUTABLE)


def _run_as_points(run: Run) -> PointCloud:
    if not run.embedded_steps:
        raise run.lacks("snapshots")
    return cloud(*run.embeddings_at(run.embedded_steps[-1]), run.config.dataset)


@lru_cache(maxsize=64)
def _scores(question: str) -> SpaceScores:
    values = metrics.evaluate(**json.loads(question), full_ranking=False, verification=False)
    return {"scores": {name: value if math.isfinite(value) else None for name, value in values.items()}}


@routes.get(Rule.VISITOR, "/lessons/{lesson}/sheet.html")
async def sheet(request: Request) -> Response:
    """Return the teacher's sheet of a lesson, to those who may read it."""
    if not await asyncio.to_thread(may_read_sheets, personal(request)):
        raise UserError("The sheets of lessons are for teachers.")
    lesson = LESSONS.get(name := request.path_params["lesson"])
    if lesson is None:
        titles = {other.name: other.title for other in LESSONS.values()}
        raise UserError(describe_unknown("lesson", name, titles))
    return Response(await asyncio.to_thread(sheet_page, lesson), media_type="text/html", headers=NO_STORE)
