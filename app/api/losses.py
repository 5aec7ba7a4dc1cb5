"""The routes of what Learn draws of a loss: curves, forces, the loss as a ground; all sampled by the worker."""

import json
from functools import lru_cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.api.access import Rule, access
from app.api.headers import NO_STORE
from app.runtime.services import services
from app.runtime.threads import ask_worker
from dmlviz.catalog.losses import LOSSES
from dmlviz.errors import UserError
from dmlviz.storage.text import one_line

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


def routes() -> list[Route]:
    """One for each picture; a question is JSON, since it holds what a person has just dragged."""
    return [Route("/losses/{loss}/{picture}.json", picture, methods=["POST"])]


@access(Rule.VISITOR)
async def picture(request: Request) -> Response:
    """Values and slopes of a loss on a few points."""
    kind, loss = request.path_params["picture"], LOSSES[request.path_params["loss"]]
    if kind not in _ALLOWED:
        raise UserError(f"A loss is drawn as {', '.join(_ALLOWED)}; got {one_line(kind, 40)}.")
    fields = await _question(request, kind)
    fields["params"] = loss.with_defaults(fields.get("params", {}))
    question = json.dumps({"loss": kind, "name": loss.name} | fields, sort_keys=True)
    return JSONResponse(await ask_worker(_answer, question), headers=NO_STORE)


async def _question(request: Request, kind: str) -> dict[str, Any]:
    length = request.headers.get("content-length", "")
    if not length or int(length) > MAX_BODY_BYTES:
        got = f"{int(length):,} bytes" if length else "a body of unknown length"
        raise UserError(f"A question about a loss has at most {MAX_BODY_BYTES:,} bytes; got {got}.")
    try:
        fields = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise UserError("A question about a loss is a JSON object; this body is not JSON.") from None
    if not isinstance(fields, dict):
        raise UserError(f"A question about a loss is a JSON object; got {type(fields).__name__}.")
    if not _REQUIRED[kind] <= fields.keys() <= _ALLOWED[kind]:
        required = ", ".join(sorted(_REQUIRED[kind])) or "none"
        allowed, got = ", ".join(sorted(_ALLOWED[kind])), ", ".join(sorted(fields))[:100] or "none"
        raise UserError(f"The fields for {kind}.json are {allowed} (required: {required}); got {got}.")
    if not isinstance(fields.get("params", {}), dict) or not isinstance(fields.get("held", {}), dict):
        raise UserError("`params` and `held` are JSON objects with a value for each name; send {} for none.")
    return fields


@lru_cache(maxsize=256)
def _answer(question: str) -> dict[str, Any]:
    """What the worker says; the same question is answered once, as long as it is not pushed out by 256 others."""
    return services().scheduler.inference_worker.call(json.loads(question))
