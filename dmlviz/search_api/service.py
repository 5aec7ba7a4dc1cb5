"""The routes of the service: neighbors of a picture, test images, and their description as OpenAPI."""

import io
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from html import escape
from http import HTTPStatus
from pathlib import Path
from secrets import compare_digest
from string import Template
from typing import Any, TypedDict

import numpy as np
from PIL import Image
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.image_ops import READABLE
from dmlviz.data.query_file import MAX_BYTES, TOO_MANY_BYTES, decode
from dmlviz.data.query_image import describe_preparation, prepare
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.embed import embed, load_for_pictures
from dmlviz.runs.gallery import Gallery, name_of
from dmlviz.runs.query_calibration import judge_of
from dmlviz.runs.query_confidence import Confidence, voting_neighbors
from dmlviz.runs.run import Run
from dmlviz.runs.thresholds import Threshold, judged, kept_threshold
from dmlviz.version import __version__

_DOCUMENT = Path(__file__).with_name("openapi.json").read_text(encoding="utf-8")
_PAGE = Template(Path(__file__).with_name("description.html").read_text(encoding="utf-8"))
_COUNT = json.loads(_DOCUMENT)["paths"]["/neighbors"]["post"]["parameters"][0]["schema"]
MAX_NEIGHBORS, USUAL_NEIGHBORS = _COUNT["maximum"], _COUNT["default"]


def describe(run: Run, address: str, needs_token: bool) -> dict[str, Any]:
    """Return the service as an OpenAPI document.

    Args:
        run: The run that it answers for.
        address: Its address, without a slash at the end.
        needs_token: Whether callers send a token.

    Examples:
        >>> from dmlviz.runs import Runs
        >>> run = Runs().find("Digits in the plane, triplets")
        >>> list(describe(run, "http://localhost:8000", needs_token=False)["paths"])
        ['/neighbors', '/images/{item}.png']
    """
    title = DATASETS[run.config.dataset].title
    document: dict[str, Any] = json.loads(_DOCUMENT)
    summary = f"Send a picture, get the nearest of the test images of {title}."
    document["info"] = {"title": run.title, "version": __version__, "summary": summary}
    document["servers"] = [{"url": address}]
    asked = document["paths"]["/neighbors"]["post"]
    asked["description"] = describe_preparation(run.config.dataset)
    asked["requestBody"]["description"] = f"{READABLE}, up to 30 MB: as the body, or as the file of a form."
    if not needs_token:
        del document["security"], document["components"]["securitySchemes"]
        for methods in document["paths"].values():
            for operation in methods.values():
                del operation["responses"]["401"]
    return document


def page(document: dict[str, Any]) -> str:
    """Return the document as a page."""
    address = document["servers"][0]["url"]
    token = '-H "Authorization: Bearer TOKEN" ' if "security" in document else ""
    examples = {
        "/neighbors": f"curl {token}--data-binary @picture.png '{address}/neighbors?k=5'",
        "/images/{item}.png": f"curl {token}-o 42.png {address}/images/42.png",
    }
    paths = [
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(operation['summary'])} {escape(operation['description'])}</p>"
        f"<pre><code>{escape(examples[path])}</code></pre>"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    info = document["info"]
    return _PAGE.substitute(title=escape(info["title"]), summary=escape(info["summary"]), paths="\n".join(paths))


MIN_TOKEN_LENGTH = 16
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")  # what every client can put into a header
_PAGE_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


FoundImage = TypedDict("FoundImage", {"item": int, "class": str, "distance": float})
"""A neighbor: its number among the test images, the name of its class, its distance."""

KeptPicture = TypedDict("KeptPicture", {"kept": str, "class": str, "distance": float})
"""A picture of the run's gallery: its ID, its name, its distance."""

SearchAnswer = TypedDict(
    "SearchAnswer",
    {
        "class": str,
        "votes": int,
        "name": str | None,
        "confidence": Confidence,
        "neighbors": list[FoundImage],
        "gallery": list[KeptPicture],
        "embedding": list[float],
        "notes": list[str],
    },
)
"""The class of most neighbors with its votes, the name by the gallery, and the neighbors of both, nearest first.

The notes say what was left out because its file is damaged.
"""


class SearchService:
    """Answers questions to one run.

    Args:
        run: A finished run with a net.
        token: Token that callers send as `Authorization: Bearer TOKEN`, at least 16 letters, digits or . _ ~ -; None
            serves requests without one.
        data_root: Folder of the data sets; None for the usual place.

    Raises:
        UserError: If the run has no net or no embeddings, the weights of its backbone are missing, or the token is too
            short or has other characters.

    Examples:
        >>> from dmlviz.runs import Runs
        >>> picture = io.BytesIO()
        >>> Image.fromarray(data.load("digits").test.images[0]).save(picture, "png")
        >>> service = SearchService(Runs().find("Digits in the plane, triplets"), token=None)
        >>> service.answer(picture.getvalue(), k=3)["class"]
        '0'
    """

    def __init__(self, run: Run, token: str | None, data_root: Path | None = None) -> None:
        if run.embeddings is None or not (run.path / "weights.safetensors").exists():
            raise UserError(f"{run.title} has no net to search with: choose a finished run that was trained here.")
        if token is not None and (len(token) < MIN_TOKEN_LENGTH or not _TOKEN.fullmatch(token)):
            raise UserError(
                f"A token has at least {MIN_TOKEN_LENGTH} letters (a–z), digits or . _ ~ -, so as to be hard to guess; "
                f"got {len(token)} characters. Leave it out to have one made."
            )
        load_for_pictures(run)
        self.run = run
        self.token = token
        self.data_root = data_root
        self.app = Starlette(
            routes=[
                Route("/", self.page),
                Route("/docs", self.page),
                Route("/openapi.json", self.openapi),
                Route("/neighbors", self.neighbors, methods=["POST"]),
                Route("/images/{item}.png", self.image),
            ],
            exception_handlers={HTTPException: self._not_served, Exception: _failure},
        )

    @property
    def whose(self) -> str:
        """What to say of a gallery of several people, which is searched whole; empty for one of one person."""
        with suppress(DamagedFileError):  # which the answers say
            people = len({picture.holder for picture in Gallery(self.run).pictures()})
            return f"The kept pictures of {people} people are searched." if people > 1 else ""
        return ""

    async def page(self, request: Request) -> Response:
        """Return the description of the service for a person."""
        return HTMLResponse(page(self._description(request)), headers=_PAGE_HEADERS)

    async def openapi(self, request: Request) -> Response:
        """Return the description of the service for a program."""
        return JSONResponse(self._description(request))

    async def neighbors(self, request: Request) -> Response:
        """Return the nearest test images of the picture in the body."""
        if (refusal := self._refusal(request)) is not None:
            return refusal
        try:
            picture = await _read_picture(request)
            return JSONResponse(await run_in_threadpool(self.answer, picture, _count(request)))
        except TooLargeError as error:
            return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
        except UserError as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error))

    async def image(self, request: Request) -> Response:
        """Return one test image as PNG."""
        if (refusal := self._refusal(request)) is not None:
            return refusal
        try:
            png = await run_in_threadpool(self._png, request.path_params["item"])
        except UserError as error:
            return _error(HTTPStatus.NOT_FOUND, str(error))
        return Response(png, media_type="image/png")

    def answer(self, picture: bytes, k: int, limit: Threshold | None = None) -> SearchAnswer:
        """Return the neighbors of an encoded picture.

        Args:
            picture: PNG, JPEG, WebP, BMP, GIF, TIFF, HEIC or AVIF.
            k: Number of neighbors.
            limit: A picture farther from its nearest neighbor is unknown; None for the threshold kept with the run.

        Raises:
            UserError: For a file that is no such picture, or a blank one.
        """
        dataset = self.run.config.dataset
        prepared = prepare(decode(picture, dataset), dataset)
        image = prepared.image[None]
        embeddings = embed(self.run, image)
        embedding = embeddings[0]
        voters = voting_neighbors(self.run.known_labels)  # as on the page, however many are asked for
        nearest = self.run.neighbors_of_point(np.asarray(embedding, np.float32), max(k, voters))
        classes, notes = DATASETS[dataset].classes, [prepared.choice] if prepared.choice else []
        confidence = judge_of(self.run, self.data_root).judge(image, embeddings)[0]
        kept = []
        try:
            kept = Gallery(self.run).nearest(embedding, k)
        except DamagedFileError as error:
            notes.append(f"The gallery is left out: {error}")
        try:
            limit = limit or kept_threshold(self.run)
        except DamagedFileError as error:
            notes.append(f"The threshold is left out: {error}")
        distances = [neighbor.distance for neighbor in nearest[:voters]]
        name = name_of(kept, distances, confidence["level"])
        least = min([distances[0], *(one.distance for one in kept[:1])])
        label, votes = Counter(neighbor.label for neighbor in nearest[:voters]).most_common(1)[0]
        return {
            "class": classes[label],
            "votes": votes,
            "name": name if limit is None or least <= limit.value else None,
            "confidence": judged(confidence, least, limit),
            "neighbors": [
                {"item": neighbor.item, "class": classes[neighbor.label], "distance": neighbor.distance}
                for neighbor in nearest[:k]
            ],
            "gallery": [{"kept": one.id, "class": one.name, "distance": one.distance} for one in kept],
            "embedding": [float(value) for value in embedding],
            "notes": notes,
        }

    def _png(self, item: str) -> bytes:
        images = data.load(self.run.config.dataset, self.data_root).test.images
        number = _number(item)
        if number is None or number >= len(images):
            raise UserError(f"Test images are numbered 0 to {len(images) - 1}; got {item[:40]}.")
        file = io.BytesIO()
        Image.fromarray(images[number]).save(file, "PNG")
        return file.getvalue()

    def _refusal(self, request: Request) -> Response | None:
        if self.token is None:
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and compare_digest(token.strip().encode(), self.token.encode()):
            return None
        words = "Send the service's token in the header Authorization: Bearer TOKEN."
        return JSONResponse({"error": words}, HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})

    def _not_served(self, request: Request, exception: Exception) -> Response:
        assert isinstance(exception, HTTPException)
        if exception.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            methods = (exception.headers or {}).get("Allow", "")
            words = f"{request.url.path} takes {methods}; got {request.method}."
        else:
            words = "There is nothing at this address: /docs says what there is."
        return JSONResponse({"error": words}, exception.status_code, headers=exception.headers)

    def _description(self, request: Request) -> dict[str, Any]:
        return describe(self.run, str(request.base_url).rstrip("/"), self.token is not None)


def _count(request: Request) -> int:
    text = request.query_params.get("k", str(USUAL_NEIGHBORS))
    number = _number(text)
    if number is None or not 1 <= number <= MAX_NEIGHBORS:
        raise UserError(f"k is a number of neighbors, 1 to {MAX_NEIGHBORS}; got {text[:40]!r}.")
    return number


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _error(status: HTTPStatus, words: str) -> Response:
    return JSONResponse({"error": words}, status)


def _failure(request: Request, exception: Exception) -> Response:
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "The service failed here; its terminal says why.")


FORM = "multipart/form-data"
FORM_BYTES = 64 * 1024  # of a form, beside the picture


class TooLargeError(UserError):
    """More bytes than a picture has."""


async def _read_picture(request: Request) -> bytes:
    """Return the encoded picture that was sent, without reading more than one may have.

    Raises:
        UserError: Without a picture; its kin `TooLargeError` for more bytes than one may have.
    """
    form = request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM
    body = await _read(request, MAX_BYTES + form * FORM_BYTES)
    picture = await _file_of_form(request, body) if form else body
    if not picture:
        raise UserError(
            f"The body is empty: send a {READABLE} file as the body, as curl --data-binary @digit.png does."
        )
    return picture


async def _read(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise TooLargeError(f"{TOO_MANY_BYTES}: send a smaller one.")
    return bytes(body)


async def _file_of_form(request: Request, body: bytes) -> bytes:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        form = await MultiPartParser(request.headers, stream(), max_files=1, max_fields=10).parse()
    except MultiPartException as error:
        raise UserError(f"The form could not be read ({error.message.rstrip('.')}): send one file in it.") from None
    try:
        files = [value for value in form.values() if isinstance(value, UploadFile)]
        if not files:
            raise UserError("The form holds no file: send one, as curl -F image=@digit.png does.")
        return await files[0].read()
    finally:
        await form.close()
