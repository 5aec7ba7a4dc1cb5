"""The routes of what Learn draws of a loss: curves, forces, the loss as a ground; all sampled by the worker."""

import asyncio
import json
from functools import lru_cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.runtime.services import services
from dmlviz.catalog.losses import LOSSES
from dmlviz.errors import UserError

MAX_BODY_BYTES = 200_000
_NEEDED: dict[str, set[str]] = {
    "curve": set(),
    "forces": {"points", "labels"},
    "ground": {"points", "labels", "index", "places"},
}
_SENT = {
    "curve": frozenset({"params", "held", "samples"}),
    "forces": frozenset({"params", "points", "labels", "weights", "triplet"}),
    "ground": frozenset({"params", "points", "labels", "weights", "triplet", "index", "places"}),
}
NO_STORE = {"Cache-Control": "no-store"}


def routes() -> list[Route]:
    """One for each picture; a question is JSON, since it holds what a person has just dragged."""
    return [Route("/losses/{loss}/{picture}.json", picture, methods=["POST"])]


async def picture(request: Request) -> Response:
    """Values and slopes of a loss on a few points."""
    kind, loss = request.path_params["picture"], LOSSES[request.path_params["loss"]]
    if kind not in _SENT:
        raise UserError(f"A loss is drawn as {', '.join(_SENT)}; got {kind[:40]}.")
    given = await _question(request, kind)
    given["params"] = loss.with_defaults(given.get("params", {}))
    question = json.dumps({"loss": kind, "name": loss.name} | given, sort_keys=True)
    return JSONResponse(await asyncio.to_thread(_answer, question), headers=NO_STORE)


async def _question(request: Request, kind: str) -> dict[str, Any]:
    if int(request.headers.get("content-length", MAX_BODY_BYTES + 1)) > MAX_BODY_BYTES:
        raise UserError(f"A question about a loss has at most {MAX_BODY_BYTES:,} bytes.")
    try:
        given = json.loads(await request.body())
    except ValueError:
        raise UserError("A question about a loss is JSON; this is not.") from None
    if not isinstance(given, dict) or not _NEEDED[kind] <= given.keys() <= _SENT[kind]:
        needed = ", ".join(sorted(_NEEDED[kind])) or "nothing"
        raise UserError(f"A question about a loss names {', '.join(sorted(_SENT[kind]))}, and needs {needed} of these.")
    if not isinstance(given.get("params", {}), dict) or not isinstance(given.get("held", {}), dict):
        raise UserError("Parameters are given by name.")
    return given


@lru_cache(maxsize=256)
def _answer(question: str) -> dict[str, Any]:
    """What the worker says; the same question is answered once, as long as it is not pushed out by 256 others."""
    return services().jobs.inference_worker.call(json.loads(question))
