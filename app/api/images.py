"""The routes of a data set's test images: sprite sheets and labels."""

import asyncio

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from app.api.access import Rule, access, data_not_found, personal
from app.api.headers import PRIVATE_IMMUTABLE
from app.payloads import sprites
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.storage.files import is_run_id


def routes() -> list[Route]:
    """Each address names the content by its hash, so that browsers may keep it."""
    return [
        Route("/data/{dataset}/{hash}/labels.u16", labels),
        Route("/data/{dataset}/{hash}/sprite-{sheet:int}.png", sheet),
    ]


@access(Rule.DATA_READER)
async def labels(request: Request) -> Response:
    """The class ids of a data set's test images, 16 bits each (little-endian)."""
    tiles = await asyncio.to_thread(_tiles, request)
    return Response(tiles.labels.tobytes(), headers=PRIVATE_IMMUTABLE, media_type="application/octet-stream")


@access(Rule.DATA_READER)
async def sheet(request: Request) -> Response:
    """A sprite sheet of a data set's test images."""
    tiles = await asyncio.to_thread(_tiles, request)
    path = await asyncio.to_thread(tiles.sheet, request.path_params["sheet"], personal(request).cache)
    return FileResponse(path, headers=PRIVATE_IMMUTABLE, media_type="image/png")


def _tiles(request: Request) -> sprites.ImageTiles:
    dataset, content_hash = request.path_params["dataset"], request.path_params["hash"]
    if dataset not in DATASETS or not is_run_id(content_hash):
        raise data_not_found(dataset)
    tiles = sprites.image_tiles(dataset, personal(request).data)
    if tiles.hash != content_hash:
        raise UserError(f"{dataset} has changed on disk: reload the page.")
    return tiles
