"""The routes of Learn: a loss as curves, forces, ground, by the worker; scores of points; sheets, drawings, words."""

import asyncio
import json
import math
from functools import lru_cache
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dmlviz import metrics
from dmlviz.catalog.glossary import GLOSSARY
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.parameters import describe_unknown
from dmlviz.errors import UserError
from dmlviz.lessons import LESSONS
from dmlviz.storage.text import one_line
from dmlviz_app.learn.cards import pictures
from dmlviz_app.learn.sheet import sheet_page
from dmlviz_app.protocol.learn import GlossaryTerm
from dmlviz_app.protocol.losses import LossCurve, LossForces, LossGround, SpaceScores
from dmlviz_app.server.access import Rule, access, personal
from dmlviz_app.server.headers import NO_STORE, PRIVATE_IMMUTABLE
from dmlviz_app.server.json_response import JSONResponse
from dmlviz_app.server.services import services
from dmlviz_app.server.threads import ask_worker

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


def routes() -> list[Route]:
    """Return the routes; a question is JSON, since it holds what a person has just dragged."""
    return [
        Route("/losses/{loss}/{picture}.json", picture, methods=["POST"]),
        Route("/scores.json", scores, methods=["POST"]),
        Route("/lessons/{lesson}/sheet.html", sheet),
        Route("/glossary.json", glossary),
        Route("/learn-pictures.svg", drawings),
    ]


@access(Rule.VISITOR)
async def picture(request: Request) -> Response:
    """Return the values and slopes of a loss on a few points."""
    kind, loss = request.path_params["picture"], LOSSES[request.path_params["loss"]]
    if kind not in _ALLOWED:
        raise UserError(f"A loss is drawn as {', '.join(_ALLOWED)}; got {one_line(kind, 40)}.")
    fields = await _question(request, kind)
    fields["params"] = loss.with_defaults(fields.get("params", {}))
    question = json.dumps({"ask": "loss", "loss": kind, "name": loss.name} | fields, sort_keys=True)
    return JSONResponse(await ask_worker(_answer, question), headers=NO_STORE)


async def _question(request: Request, kind: str) -> dict[str, Any]:
    length = request.headers.get("content-length", "")
    if not length or int(length) > MAX_BODY_BYTES:
        size = f"{int(length):,} bytes" if length else "a body of unknown length"
        raise UserError(f"A question about a loss has at most {MAX_BODY_BYTES:,} bytes; got {size}.")
    try:
        fields = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise UserError("A question about a loss is a JSON object; this body is not JSON.") from None
    if not isinstance(fields, dict):
        raise UserError(f"A question about a loss is a JSON object; got {type(fields).__name__}.")
    if not _REQUIRED[kind] <= fields.keys() <= _ALLOWED[kind]:
        allowed, required = ", ".join(sorted(_ALLOWED[kind])), ", ".join(sorted(_REQUIRED[kind])) or "none"
        names = ", ".join(sorted(fields))[:100] or "none"
        raise UserError(f"The fields for {kind}.json are {allowed} (required: {required}); got {names}.")
    if not isinstance(fields.get("params", {}), dict) or not isinstance(fields.get("held", {}), dict):
        raise UserError("`params` and `held` are JSON objects with a value for each name; send {} for none.")
    return fields


@lru_cache(maxsize=256)
def _answer(question: str) -> LossCurve | LossForces | LossGround:
    """Return the worker's answer; equal questions are answered once, unless 256 others came between."""
    answer = services().scheduler.inference_worker.call(json.loads(question))
    return cast(LossCurve | LossForces | LossGround, answer)


@access(Rule.VISITOR)
async def scores(request: Request) -> Response:
    """Return the scores of points in the plane with classes, against themselves."""
    length = request.headers.get("content-length", "")
    if not length or int(length) > MAX_POINTS_BYTES:
        raise UserError(f"Points to score take at most {MAX_POINTS_BYTES:,} bytes; got {length or 'unknown'}.")
    return JSONResponse(await asyncio.to_thread(_scores, (await request.body())), headers=NO_STORE)


@access(Rule.ANYONE)
async def glossary(_request: Request) -> Response:
    """Return the title and text of every term."""
    terms = {name: GlossaryTerm(title=term.title, text=term.text) for name, term in GLOSSARY.items()}
    return JSONResponse(terms, headers={"Cache-Control": "max-age=3600"})


@access(Rule.ANYONE)
async def drawings(_request: Request) -> Response:
    """Return the drawings of the index; their address has their checksum."""
    return Response(pictures()[0], media_type="image/svg+xml", headers=PRIVATE_IMMUTABLE)


@lru_cache(maxsize=64)
def _scores(body: bytes) -> SpaceScores:
    try:
        question = json.loads(body)
        points, classes = question["points"], question["classes"]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise UserError("Points to score are a JSON object with points and classes; got something else.") from None
    if not isinstance(points, list) or not 2 <= len(points) <= MAX_POINTS:
        raise UserError(f"2 to {MAX_POINTS} points can be scored; send a list of as many.")
    if not all(_is_place(point) for point in points):
        raise UserError(f"A point is a list of {DIMENSIONS} finite numbers; got something else among the points.")
    values = metrics.evaluate(points, classes, full_ranking=False, verification=False)
    return {"scores": {name: value if math.isfinite(value) else None for name, value in values.items()}}


@access(Rule.VISITOR)
async def sheet(request: Request) -> Response:
    """Return the teacher's sheet of a lesson, to those who may read it."""
    if not await asyncio.to_thread(lambda: personal(request).may_read_sheets):
        raise UserError("The sheets of lessons are for teachers.")
    lesson = LESSONS.get(name := request.path_params["lesson"])
    if lesson is None:
        titles = {other.name: other.title for other in LESSONS.values()}
        raise UserError(describe_unknown("lesson", name, titles))
    return Response(await asyncio.to_thread(sheet_page, lesson), media_type="text/html", headers=NO_STORE)


def _is_place(point: object) -> bool:
    return (
        isinstance(point, list)
        and len(point) == DIMENSIONS
        and all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e6 for x in point)
    )
