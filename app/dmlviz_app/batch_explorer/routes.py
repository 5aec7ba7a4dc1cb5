"""The routes of "What the loss sees": recorded batches, and distances of test images."""

import asyncio
from base64 import b64decode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dmlviz_app.answers.cached_file import keep_file, kept_file
from dmlviz_app.batch_explorer import payloads as batches
from dmlviz_app.batch_explorer.distance_histograms import histograms
from dmlviz_app.server.access import Rule, access, personal
from dmlviz_app.server.headers import NO_STORE, PRIVATE_IMMUTABLE
from dmlviz_app.server.json_response import JSONResponse
from dmlviz_app.server.threads import ask_worker


def routes() -> list[Route]:
    """Return the routes that a page requests once its panel is open."""
    return [
        Route("/runs/{run}/batches/{step:int}.json", batch),
        Route("/runs/{run}/batches/{step:int}.png", sheet),
        Route("/runs/{run}/batches/{step:int}/terms.json", terms),
        Route("/runs/{run}/distances/{step:int}.json", distances),
    ]


@access(Rule.RUN_READER)
async def batch(request: Request) -> Response:
    """Return a batch as the loss saw it; its picture changes once, when the run ends."""
    run = personal(request).runs.get(request.path_params["run"])
    payload = await asyncio.to_thread(batches.batch_payload, run, request.path_params["step"])
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE if payload["final"] else NO_STORE)


@access(Rule.RUN_READER)
async def terms(request: Request) -> Response:
    """Return the terms of each comparison of a batch, as the worker computes them: they do not change."""
    run, step = personal(request).runs.get(request.path_params["run"]), request.path_params["step"]
    await asyncio.to_thread(run.batch, step)  # says what is wrong with it, if anything
    question = {"ask": "batch", "run": str(run.path.resolve()), "step": step}
    payload = await ask_worker(request, personal(request).scheduler.inference_worker.call, question)
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE)


@access(Rule.RUN_READER)
async def sheet(request: Request) -> Response:
    """Return the training images of a batch."""
    run, step = personal(request).runs.get(request.path_params["run"]), request.path_params["step"]
    path = personal(request).cache / await asyncio.to_thread(batches.sheet_name, run, step)
    png = await asyncio.to_thread(kept_file, path)
    if png is None:
        question = {"ask": "batch_sheet", "run": str(run.path.resolve()), "step": step}
        reply = await ask_worker(request, personal(request).scheduler.inference_worker.call, question)
        png = b64decode(reply["png"])
        await asyncio.to_thread(keep_file, path, png)
    return Response(png, headers=PRIVATE_IMMUTABLE, media_type="image/png")


@access(Rule.RUN_READER)
async def distances(request: Request) -> Response:
    """Return the histogram of distances between test images."""
    run = personal(request).runs.get(request.path_params["run"])
    payload = await asyncio.to_thread(histograms, run, request.path_params["step"])
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE)
