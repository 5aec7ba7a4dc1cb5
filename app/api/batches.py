"""The routes of "What the loss sees": the batches that a run kept, and how far its test images are apart."""

import asyncio

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from app.payloads import batches
from app.payloads.distance_histograms import histograms
from app.runtime.services import services

UNTIL_TRAINED_AGAIN = {"Cache-Control": "private, max-age=31536000, immutable"}
NEVER = {"Cache-Control": "no-store"}


def routes() -> list[Route]:
    """What a page asks for once its panel is open."""
    return [
        Route("/api/runs/{run}/batches/{step:int}.json", batch),
        Route("/api/runs/{run}/batches/{step:int}.png", sheet),
        Route("/api/runs/{run}/distances/{step:int}.json", distances),
    ]


async def batch(request: Request) -> Response:
    """What the loss saw; it changes its picture once, when the run ends."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(batches.described, run, request.path_params["step"])
    return JSONResponse(found, headers=UNTIL_TRAINED_AGAIN if found["final"] else NEVER)


async def sheet(request: Request) -> Response:
    """The training images of a batch."""
    here = services()
    run = here.runs.get(request.path_params["run"])
    path = await asyncio.to_thread(batches.sheet, run, request.path_params["step"], here.data, here.cache)
    return FileResponse(path, headers=UNTIL_TRAINED_AGAIN, media_type="image/png")


async def distances(request: Request) -> Response:
    """How many pairs of test images lie how far apart."""
    run = services().runs.get(request.path_params["run"])
    found = await asyncio.to_thread(histograms, run, request.path_params["step"])
    return JSONResponse(found, headers=UNTIL_TRAINED_AGAIN)
