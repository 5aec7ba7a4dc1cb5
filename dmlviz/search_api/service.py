"""The routes of the service: neighbors of a picture, test images, and their description as OpenAPI."""

import io
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from secrets import compare_digest
from typing import Any

import numpy as np
from PIL import Image
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.query_image import MAX_BYTES, decode, prepare
from dmlviz.errors import UserError
from dmlviz.runs.embed import embed
from dmlviz.runs.run import Run
from dmlviz.search_api.description import describe, page

MAX_NEIGHBORS = 1000
_PAGE_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


class SearchService:
    """Answers questions to one run.

    Args:
        run: A finished run with a net.
        token: What callers send as `Authorization: Bearer TOKEN`; None lets everybody ask.
        data_root: Folder of the data sets; None for the usual place.

    Raises:
        UserError: If the run has no net or no embeddings.
    """

    def __init__(self, run: Run, token: str | None, data_root: Path | None = None) -> None:
        if run.embeddings is None or not (run.path / "weights.safetensors").exists():
            raise UserError(f"{run.title} has no net to search with: choose a finished run that was trained here.")
        self.run = run
        self.token = token
        self.data_root = data_root
        self.app = Starlette(
            routes=[
                Route("/", self.page),
                Route("/openapi.json", self.openapi),
                Route("/neighbors", self.neighbors, methods=["POST"]),
                Route("/images/{item:int}.png", self.image),
            ]
        )

    async def page(self, request: Request) -> Response:
        """What the service does, for a person."""
        return HTMLResponse(page(self._description(request)), headers=_PAGE_HEADERS)

    async def openapi(self, request: Request) -> Response:
        """What the service does, for a program."""
        return JSONResponse(self._description(request))

    async def neighbors(self, request: Request) -> Response:
        """The nearest test images of the picture in the body."""
        if (refusal := self._refusal(request)) is not None:
            return refusal
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_BYTES:
                return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "A picture has up to 2 MB: send a smaller one.")
        try:
            return JSONResponse(await run_in_threadpool(self.answer, body, _count(request)))
        except UserError as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error))

    async def image(self, request: Request) -> Response:
        """One test image as PNG."""
        if (refusal := self._refusal(request)) is not None:
            return refusal
        try:
            png = await run_in_threadpool(self._png, int(request.path_params["item"]))
        except UserError as error:
            return _error(HTTPStatus.NOT_FOUND, str(error))
        return Response(png, media_type="image/png")

    def answer(self, picture: bytes, k: int) -> dict[str, Any]:
        """Return the neighbors of an encoded picture, as plain JSON types.

        Args:
            picture: PNG, JPEG or WebP.
            k: Number of neighbors.

        Raises:
            UserError: For a file that is no such picture, or a blank one.
        """
        dataset = self.run.config.dataset
        embedding = embed(self.run, prepare(decode(picture, dataset), dataset).image[None])[0]
        nearest = self.run.neighbors_of_point(np.asarray(embedding, np.float32), k)
        classes = DATASETS[dataset].classes
        label, votes = Counter(neighbor.label for neighbor in nearest).most_common(1)[0]
        return {
            "class": classes[label],
            "votes": votes,
            "neighbors": [
                {"item": neighbor.item, "class": classes[neighbor.label], "distance": neighbor.distance}
                for neighbor in nearest
            ],
            "embedding": [float(value) for value in embedding],
        }

    def _png(self, item: int) -> bytes:
        images = data.load(self.run.config.dataset, self.data_root).test.images
        if item >= len(images):
            raise UserError(f"Test images are numbered 0 to {len(images) - 1}; got {item}.")
        file = io.BytesIO()
        Image.fromarray(images[item]).save(file, "PNG")
        return file.getvalue()

    def _refusal(self, request: Request) -> Response | None:
        if self.token is None:
            return None
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if compare_digest(sent.encode(), self.token.encode()):
            return None
        words = "Send the service's token in the header Authorization: Bearer TOKEN."
        return JSONResponse({"error": words}, HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})

    def _description(self, request: Request) -> dict[str, Any]:
        return describe(self.run, str(request.base_url).rstrip("/"), self.token is not None)


def _count(request: Request) -> int:
    text = request.query_params.get("k", "10")
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MAX_NEIGHBORS:
        raise UserError(f"k is a number of neighbors, 1 to {MAX_NEIGHBORS}; got {text[:40]!r}.")
    return int(text)


def _error(status: HTTPStatus, words: str) -> Response:
    return JSONResponse({"error": words}, status)
