"""Who may ask what: every route declares one rule, and none is answered before its rule is met.

What somebody may not see is refused with the same words as what does not exist (404), so that nobody learns of it.
"""

import asyncio
import enum
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import wraps

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.runtime.people import Role
from app.runtime.services import Services, services
from dmlviz.errors import UserError

Endpoint = Callable[[Request], Awaitable[Response]]
RUN_PARAMETERS = ("run", "a", "b")  # the parts of an address that name a run


class Rule(enum.Enum):
    """Who may ask a route."""

    ANYONE = "anyone, logged in or not"
    VISITOR = "whoever may look at anything"
    RUN_READER = "whoever may see every run that the address names"
    DATA_READER = "whoever may see the data set that the address names"


def access(rule: Rule) -> Callable[[Endpoint], Endpoint]:
    """Return a decorator that declares a route's rule and checks it; the route gets the services of the person.

    Args:
        rule: Who may ask.
    """

    def declare(endpoint: Endpoint) -> Endpoint:
        @wraps(endpoint)
        async def checked(request: Request) -> Response:
            if rule is not Rule.ANYONE:
                here = personal_services(request)
                if not here.person.may(Role.GUEST):
                    return JSONResponse({"error": "Log in first."}, 401, {"Cache-Control": "no-store"})
                await asyncio.to_thread(_check, rule, request, here)
                request.state.services = here
            return await endpoint(request)

        checked.access_rule = rule  # type: ignore[attr-defined]
        return checked

    return declare


def personal(request: Request) -> Services:
    """Return the services of the person who asks, in a route whose rule was checked."""
    here: Services = request.state.services
    return here


def personal_services(request: Request) -> Services:
    """Return the services as the person may use them who sends a request."""
    here = services()
    return here.for_person(here.identity.of_request(request))


async def while_visible(blocks: AsyncGenerator[str], here: Services, run: str) -> AsyncIterator[str]:
    """Pass on an event stream until its run is no longer visible to the person who listens."""
    async with aclosing(blocks):
        async for block in blocks:
            if not here.person.alone and not _is_visible(here, run):
                return
            yield block


def _is_visible(here: Services, run: str) -> bool:
    try:
        here.runs.get(run)
    except UserError:
        return False
    return True


def _check(rule: Rule, request: Request, here: Services) -> None:
    if rule is Rule.RUN_READER:
        for name in RUN_PARAMETERS:
            if name in request.path_params:
                here.runs.get(request.path_params[name])
    elif rule is Rule.DATA_READER:
        dataset = request.path_params["dataset"]
        if not here.may_see(dataset):
            raise data_not_found(dataset)


def data_not_found(dataset: str) -> UserError:
    """Return the error for a data set that does not exist, has changed, or may not be seen."""
    return UserError(f"There is no data set {dataset[:40]!r} of that hash.")
