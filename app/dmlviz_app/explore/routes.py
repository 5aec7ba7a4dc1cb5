"""The routes of a map that is asked for, and of files that people bring: data of their own, weights of a backbone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from dmlviz.catalog.datasets import check_strengths
from dmlviz.catalog.parameters import parse_literal
from dmlviz.data import sprite_sheet
from dmlviz.errors import UserError
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.answers import Turns
from dmlviz_app.server.headers import NO_STORE, JSONResponse, read_json_body
from dmlviz_app.server.services import Services, services
from dmlviz_app.server.threads import ask_worker

FRAME = 16_384  # bytes around the files of a request, at most
MAX_FILES = 20  # of a request: a page sends a folder of more as one zip
MAX_OF_ALL = 5  # requests that come in at once, of 110 MB at most
AUGMENTED = 8  # images
MAX_BODY = 65_536  # bytes of an address
SENDERS = Turns(1, MAX_OF_ALL)
BUSY = "You send one file at a time, and not too many people at once: try again when the other one is here."
routes = Routes()


class _AskedMap(BaseModel):
    """A view, and the address of the page that is to show it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    view: Annotated[str, Field(max_length=80)]
    query: Annotated[dict[str, str], Field(max_length=200)]


_ASKED_MAP: TypeAdapter[_AskedMap] = TypeAdapter(_AskedMap)


@routes.post(Rule.RUN_READER, "/runs/{run}/map")
async def map_of_view(request: Request) -> Response:
    """Begin another map of a run; return the props of the map, or null where only the whole page can say how it is."""
    from dmlviz_app.explore import maps  # with Streamlit's parts, which a server imports when it has started

    asked = await read_json_body(request, _ASKED_MAP, MAX_BODY, "A map")
    run = request.path_params["run"]
    props = await asyncio.to_thread(maps.map_of_view, personal(request), run, asked.view, asked.query)
    return JSONResponse(props, headers=NO_STORE)


@routes.get(Rule.DATA_READER, "/augmented/{dataset}.png")
async def augmented(request: Request) -> Response:
    """Return a picture of eight test images of a data set, and below each what an augmentation makes of it, twice."""
    dataset = request.path_params["dataset"]
    strengths = check_strengths({name: parse_literal(text) for name, text in request.query_params.items()})
    tiles = await asyncio.to_thread(image_tiles, dataset, personal(request).data)
    images = sprite_sheet.small_images(tiles.images[:AUGMENTED])
    twice = np.concatenate([images, images])
    question = {"ask": "augmented", "dataset": dataset, "strengths": strengths}
    question |= {"images": twice.reshape(*twice.shape[:3], -1).tolist()}
    answer = await ask_worker(request, services().scheduler.inference_worker.call, question)
    changed = np.array(answer["images"], np.uint8).reshape(twice.shape)
    png = sprite_sheet.png_of(np.concatenate([images, changed]), len(images))
    return Response(png, headers=NO_STORE, media_type="image/png")


@routes.post(Rule.VISITOR, "/uploads/data")
async def data(request: Request) -> Response:
    """Begin to read images or vectors, for the dialog that shows what they are."""
    services = personal(request)
    async with _received(request, services) as files:
        await asyncio.to_thread(services.intake.upload, services.person.id, files, "points" in request.query_params)
    return JSONResponse({"ok": True}, headers=NO_STORE)


@routes.post(Rule.VISITOR, "/uploads/weights")
async def weights(request: Request) -> Response:
    """Keep the weights of a backbone, for the person's next computation of features."""
    services = personal(request)
    async with _received(request, services) as files:
        if len(files) != 1:
            raise UserError(f"Weights are one file; got {len(files)}.")
        ((name, file),) = files.items()
        await asyncio.to_thread(services.features.keep_upload, services.person, name, file)
    return JSONResponse({"ok": True}, headers=NO_STORE)


@asynccontextmanager
async def _received(request: Request, services: Services) -> AsyncIterator[dict[str, IO[bytes]]]:
    """Give the files of a request by their names, which Starlette keeps on disk meanwhile.

    Raises:
        UserError: If they are more than this person may send, two have one name, or their size is not said.
    """
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise UserError("A file comes with its length.")
    await asyncio.to_thread(services.check_upload, max(0, int(length) - FRAME))
    with SENDERS.of(services.person.id, BUSY):
        async with request.form(max_files=MAX_FILES, max_fields=0) as form:
            sent = [file for file in form.getlist("file") if isinstance(file, UploadFile)]
            files: dict[str, IO[bytes]] = {file.filename or "": file.file for file in sent}
            if len(files) != len(sent) or not files:
                raise UserError("Bring files of different names." if sent else "No file has come.")
            await asyncio.to_thread(services.check_upload, sum(file.size or 0 for file in sent))
            yield files
