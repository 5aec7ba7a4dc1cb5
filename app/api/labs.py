"""The route of what one clicks on in a lab."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.api.access import Rule, access, personal
from app.api.headers import NO_STORE
from app.payloads.lab_picture import lab_picture, named_study
from dmlviz.errors import UserError
from dmlviz.labs.registry import LABS

SOURCES = ("ready-made", "quick", "full")


def routes() -> list[Route]:
    """One address for each lab, data set and study: the ready-made one, the quick or the full one of this server."""
    return [Route("/labs/{lab}/{dataset}/{source}/picture.json", picture)]


@access(Rule.DATA_READER)
async def picture(request: Request) -> Response:
    """The picture of a lab, with how alike its places are."""
    return JSONResponse(await asyncio.to_thread(_picture, request), headers=NO_STORE)


def _picture(request: Request) -> Any:
    lab, source = LABS[request.path_params["lab"]], request.path_params["source"]
    dataset = request.path_params["dataset"]
    if source not in SOURCES or dataset not in lab.datasets:
        raise UserError(f"A study of {lab.name} is {', '.join(SOURCES)}, of {', '.join(lab.datasets)}.")
    here = personal(request)
    study = named_study(lab.name, lambda: here.studies.get(lab.name, source, dataset), source == SOURCES[0])
    return lab_picture(study, here.data)
