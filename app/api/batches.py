"""The routes of "What the loss sees": the batches that a run kept, and how far its test images are apart."""

import asyncio

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from app.api.access import Rule, access, personal
from app.api.headers import NO_STORE, PRIVATE_IMMUTABLE
from app.payloads import batches
from app.payloads.distance_histograms import histograms
from app.runtime.threads import ask_worker


def routes() -> list[Route]:
    """What a page asks for once its panel is open."""
    return [
        Route("/runs/{run}/batches/{step:int}.json", batch),
        Route("/runs/{run}/batches/{step:int}.png", sheet),
        Route("/runs/{run}/batches/{step:int}/terms.json", terms),
        Route("/runs/{run}/distances/{step:int}.json", distances),
    ]


@access(Rule.RUN_READER)
async def batch(request: Request) -> Response:
    """What the loss saw; it changes its picture once, when the run ends."""
    run = personal(request).runs.get(request.path_params["run"])
    payload = await asyncio.to_thread(batches.batch_payload, run, request.path_params["step"])
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE if payload["final"] else NO_STORE)


@access(Rule.RUN_READER)
async def terms(request: Request) -> Response:
    """The terms that each comparison of a batch takes part in, as the worker computes them: they do not change."""
    run, step = personal(request).runs.get(request.path_params["run"]), request.path_params["step"]
    await asyncio.to_thread(run.batch, step)  # says what is wrong with it, if anything
    question = {"run": str(run.path.resolve()), "batch": step}
    payload = await ask_worker(personal(request).jobs.inference_worker.call, question)
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE)


@access(Rule.RUN_READER)
async def sheet(request: Request) -> Response:
    """The training images of a batch."""
    run, step = personal(request).runs.get(request.path_params["run"]), request.path_params["step"]
    path = await asyncio.to_thread(
        batches.batch_sprite_sheet, run, step, personal(request).data, personal(request).cache
    )
    return FileResponse(path, headers=PRIVATE_IMMUTABLE, media_type="image/png")


@access(Rule.RUN_READER)
async def distances(request: Request) -> Response:
    """How many pairs of test images lie how far apart."""
    run = personal(request).runs.get(request.path_params["run"])
    payload = await asyncio.to_thread(histograms, run, request.path_params["step"])
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE)
