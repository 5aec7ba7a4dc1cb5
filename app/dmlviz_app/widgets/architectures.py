"""Architectures as pictures: their route, which asks the worker, and the component that draws them."""

import json
from functools import lru_cache
from typing import cast
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from dmlviz.errors import UserError
from dmlviz.storage.text import one_line
from dmlviz_app.server.access import Routes, Rule
from dmlviz_app.server.headers import NO_STORE, JSONResponse
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import services
from dmlviz_app.server.threads import ask_worker
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.protocol import ArchitectureProps, Picture

SETTINGS = ("embedding_dim", "normalize", "bn_neck", "channels", "size", "features")
MOST = 4_096  # of a setting
routes = Routes()


def address(kind: str, name: str, **settings: int) -> str:
    """Return the address of a picture; see `dmlviz.labs.architectures.find`."""
    query = f"?{urlencode(settings)}" if settings else ""
    return f"{ROUTES}/architectures/{quote(kind)}/{quote(name)}.json{query}"


def show_architecture(kind: str, name: str, **settings: int) -> None:
    """Render the picture of an architecture."""
    mount("architecture", key="architecture", data=ArchitectureProps(url=address(kind, name, **settings)))


@routes.get(Rule.VISITOR, "/architectures/{kind}/{name}.json")
async def architecture(request: Request) -> Response:
    """Return an architecture as boxes and arrows."""
    question: dict[str, str | int] = {"ask": "architecture", **request.path_params}
    for name, text in request.query_params.items():
        if name not in SETTINGS or not text.isdecimal() or int(text) > MOST:
            raise UserError(
                f"A net is drawn with whole numbers up to {MOST:,} for {', '.join(SETTINGS)}; got "
                f"{one_line(name, 40)}={one_line(text, 40)}."
            )
        question[name] = int(text)
    return JSONResponse(await ask_worker(request, _picture, json.dumps(question, sort_keys=True)), headers=NO_STORE)


@lru_cache(maxsize=256)
def _picture(question: str) -> Picture:
    return cast(Picture, services().scheduler.inference_worker.call(json.loads(question)))
