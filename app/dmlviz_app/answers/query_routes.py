"""The route of a query: a person's own picture goes in, its neighbors come out, without a rerun of any page.

A file travels once. The answer has the decoded picture, small; the page sends that back with another frame. So the
server keeps no picture of a visitor's, and there is nothing to bound, to forget or to mistake for another person's.
"""

import asyncio
import math
import threading
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import TypeVar

import numpy as np
from pydantic import TypeAdapter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dmlviz.data.frame import Frame
from dmlviz.data.query_file import MAX_BYTES, decode, decode_drawing
from dmlviz.data.query_image import prepare
from dmlviz.errors import BusyError, UserError
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz_app.answers.protocol import OcclusionMaps, QueryAnswer, QueryQuestion, QueryRefusal
from dmlviz_app.answers.query import query, sample
from dmlviz_app.answers.query_answer import encode_picture, query_answer
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.answers import Turns
from dmlviz_app.server.headers import NO_STORE, JSONResponse, parse_json
from dmlviz_app.server.services import Services
from dmlviz_app.server.services import services as server
from dmlviz_app.server.threads import ask_worker

MB = 1024**2
MAX_QUESTION_BYTES = MB  # of a drawing, in JSON
MAX_PICTURES, MAX_OF_PERSON = 8, 2  # that are sent and decoded at once, by all and by one person
MAX_SECONDS = 120.0  # that a picture may take to arrive
_decoding = threading.Semaphore(2)  # a picture of 50 megapixels may take 200 MB while it is decoded
BUSY = "Other pictures are on their way to this server; send yours again in a moment."
SENDERS = Turns(MAX_OF_PERSON, MAX_PICTURES)
MAX_WAIT_S = 30.0  # for a turn: a class may send at once
WAITING = Turns(MAX_OF_PERSON, 400)
T = TypeVar("T")


class _RefusedError(UserError):
    """A refused picture, with the status of the answer."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


routes = Routes()


@routes.post(Rule.RUN_READER, "/runs/{run}/query")
async def ask(request: Request) -> Response:
    """Return the neighbors of a drawing or a sample (`QueryQuestion`, in JSON), or of a picture (any other body).

    `frame` in the address ("x,y,width,height,angle", as `PictureFrame`) is what is cut out of the picture; `picture=1`
    asks for the decoded picture, small, in the answer.
    """
    services = personal(request)
    run = services.runs.get(request.path_params["run"])
    picture_text: str | None = None
    try:
        frame, picture = asked_frame(request), await _sent_picture(request, run)
        if request.query_params.get("picture") == "1":
            picture_text = await asyncio.to_thread(encode_picture, picture)
        answer = await ask_worker(request, _answer, picture, run, services, frame)
    except UserError as error:
        refusal: QueryRefusal = {"error": str(error)}
        if picture_text is not None:
            refusal["picture"] = picture_text
        return JSONResponse(refusal, refusal_status(error), NO_STORE)
    if picture_text is not None:
        answer["picture"] = picture_text
    return JSONResponse(answer, headers=NO_STORE)


@routes.post(Rule.RUN_READER, "/runs/{run}/occlusion/{item:int}.json")
async def occlusion(request: Request) -> Response:
    """Return which parts of a picture, sent as to `ask`, and of a test image hold them together for the final net."""
    run = personal(request).runs.get(request.path_params["run"])
    try:
        if run.embeddings is None or run.net_step is not None:
            raise UserError("Which parts matter is found when the training has ended.")
        frame, picture = asked_frame(request), await _sent_picture(request, run)
        image = (await asyncio.to_thread(prepare, picture, run.config.dataset, frame)).image
        return await occlusion_answer(request, run, [request.path_params["item"]], image)
    except UserError as error:
        return JSONResponse({"error": str(error)}, refusal_status(error), NO_STORE)


async def occlusion_answer(request: Request, run: Run, items: list[int], picture: np.ndarray | None = None) -> Response:
    """Return which parts of two test images, or of a prepared picture and one, hold them together."""
    count = len(run.embeddings) if run.embeddings is not None else 0
    if max(items) >= count:
        raise UserError(f"Test images are numbered 0 to {count - 1}; got {max(items):,}.")
    question = {"ask": "occlusion", "run": str(run.path.resolve()), "items": items}
    if picture is not None:
        question |= {"picture": picture.tolist()}
    reply = await ask_worker(request, server().scheduler.inference_worker.call, question)
    maps = np.array(reply["maps"])
    scaled = np.rint(127 * maps / (np.abs(maps).max() or 1)).astype(np.int8)
    first, second = (b64encode(one.tobytes()).decode() for one in scaled)
    return JSONResponse(OcclusionMaps(side=maps.shape[1], maps=(first, second)), headers=NO_STORE)


async def _sent_picture(request: Request, run: Run) -> np.ndarray:
    if is_question(request):
        return await read_drawing(request, run)
    return await use_file(request, "A picture", lambda content: decode_in_turn(content, run.config.dataset))


def is_question(request: Request) -> bool:
    """Return whether the body is a drawing or a sample in JSON, and no file."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


async def read_drawing(request: Request, run: Run) -> np.ndarray:
    """Return the picture that a question in JSON means."""
    return _drawing_of(await _body(request, MAX_QUESTION_BYTES, "A drawing"), run.config.dataset)


def refusal_status(error: UserError) -> int:
    """Return the status of an answer that refuses a picture."""
    return 503 if isinstance(error, (BusyError, RunNotFoundError)) else getattr(error, "status", 422)


def _answer(picture: np.ndarray, run: Run, services: Services, frame: Frame | None) -> QueryAnswer:
    holders = services.runs.gallery_holders(run.id)
    return query_answer(run, query(picture, run, services, frame), holders)


_QUESTION = TypeAdapter(QueryQuestion)


def _drawing_of(body: bytes, dataset: str) -> np.ndarray:
    """Return the picture that a question in JSON means."""
    question = parse_json(body, _QUESTION, "A drawing or a sample")
    if len(question) != 1:
        raise UserError("A question in JSON is an object with a `drawing` or the name of a `sample`; send one of them.")
    if "sample" in question:
        return decode(sample(question["sample"]), dataset)
    picture = decode_drawing(question["drawing"])
    if picture is None:
        raise UserError("The drawing is empty; draw something.")
    return picture


async def use_file(request: Request, what: str, use: Callable[[bytes], T]) -> T:
    """Read the file that somebody sends, and return what a function makes of it in a thread, in their turn."""
    async with _turn(personal(request).person.id):
        try:
            async with asyncio.timeout(MAX_SECONDS):
                content = await _body(request, MAX_BYTES, what)
        except TimeoutError:
            raise _RefusedError(
                f"{what} did not arrive within {MAX_SECONDS:g} seconds; send a smaller one.", 408
            ) from None
        if not content:
            raise UserError(f"{what} is empty: the file has no bytes. Choose another.")
        return await asyncio.to_thread(use, content)


@asynccontextmanager
async def _turn(person: str) -> AsyncIterator[None]:
    """Hold a turn of `SENDERS` for as long as the block lasts; where others have them all, wait for one."""
    end = time.monotonic() + MAX_WAIT_S
    with WAITING.of(person, BUSY), ExitStack() as turn:
        while True:
            try:
                turn.enter_context(SENDERS.of(person, BUSY))
                break
            except BusyError:
                if time.monotonic() >= end:
                    raise
            await asyncio.sleep(0.1)
        yield


def decode_in_turn(content: bytes, dataset: str) -> np.ndarray:
    """Decode a picture as `decode`, at most two at once."""
    with _decoding:
        return decode(content, dataset)


async def _body(request: Request, limit: int, what: str) -> bytes:
    """Read a body, and no more of it than it may have."""
    length, body = request.headers.get("content-length", ""), bytearray()
    size = int(length) if length.isdecimal() else 0
    if size <= limit:
        try:
            async for part in request.stream():
                body += part
                size = max(size, len(body))
                if size > limit:
                    break
        except ClientDisconnect:  # a newer question has come, or the page was left
            raise _RefusedError(f"{what} did not arrive whole; send it again.", 400) from None
    if size > limit:
        amount = f"{size / MB:.0f} MB" if length.isdecimal() else "more"
        raise _RefusedError(f"{what} has up to {limit / MB:g} MB; got {amount}: send a smaller one.", 413)
    return bytes(body)


def asked_frame(request: Request) -> Frame | None:
    """Return what is to be cut out of the picture; None to find it."""
    text = request.query_params.get("frame")
    if text is None:
        return None
    try:
        x, y, width, height, angle = map(float, text.split(","))
    except ValueError:
        x = y = width = height = angle = math.nan
    if not (0 <= x <= 1 and 0 <= y <= 1 and 0 < width <= 2 and 0 < height <= 2 and math.isfinite(angle)):
        raise UserError(
            "A frame is x,y,width,height,angle: center and size in shares of the picture, then degrees; "
            f"got {text[:60]!r}."
        )
    return Frame(x, y, width, height, angle % 360)
