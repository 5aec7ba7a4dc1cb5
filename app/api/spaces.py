"""The route that scores a few points: what Learn asks while a person drags one of them."""

import asyncio
import json
import math
from functools import lru_cache

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.api.access import Rule, access
from app.api.headers import NO_STORE
from dmlviz import metrics
from dmlviz.errors import UserError

MAX_BODY_BYTES = 50_000
MAX_POINTS = 300
DIMENSIONS = 2


def routes() -> list[Route]:
    """The question is JSON, since it holds what a person has just dragged."""
    return [Route("/scores.json", scores, methods=["POST"])]


@access(Rule.VISITOR)
async def scores(request: Request) -> Response:
    """The scores of points in the plane with classes, against themselves."""
    length = request.headers.get("content-length", "")
    if not length or int(length) > MAX_BODY_BYTES:
        raise UserError(f"Points to score take at most {MAX_BODY_BYTES:,} bytes; got {length or 'unknown'}.")
    return JSONResponse(await asyncio.to_thread(_scores, (await request.body())), headers=NO_STORE)


@lru_cache(maxsize=64)
def _scores(body: bytes) -> dict[str, dict[str, float | None]]:
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


def _is_place(point: object) -> bool:
    return (
        isinstance(point, list)
        and len(point) == DIMENSIONS
        and all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e6 for x in point)
    )
