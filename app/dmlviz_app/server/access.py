"""Access rules: every route declares one rule, and none is answered before its rule is met.

A forbidden resource is refused with the same words as a missing one (404), so that its existence stays unknown.
"""

import asyncio
import enum
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partialmethod, wraps

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dmlviz.errors import UserError
from dmlviz_app.people import policy
from dmlviz_app.server.headers import NO_STORE, JSONResponse
from dmlviz_app.server.services import Services, services
from dmlviz_app.server.threads import MAX_THREADS

Endpoint = Callable[[Request], Awaitable[Response]]
MAX_OF_PERSON = MAX_THREADS // 2  # answers of one person that are computed at once; their others wait
_waiting: dict[str, tuple[asyncio.Semaphore, int]] = {}  # by person: the places, and who holds or waits for one
NO_ACCESS = "You have no access to this server; ask who runs it."
RUN_PARAMETERS = ("run", "a", "b")  # the parts of an address that name a run


class Rule(enum.Enum):
    """A rule on the people who may call a route."""

    ANYONE = "anyone, also people who may look at nothing"
    VISITOR = "those who may look at anything"
    RUN_READER = "those who may see every run that the address names"
    DATA_READER = "those who may see the data set that the address names"


def access(rule: Rule) -> Callable[[Endpoint], Endpoint]:
    """Return a decorator that declares a route's rule and checks it; the route gets the services of the person."""

    def declare(endpoint: Endpoint) -> Endpoint:
        @wraps(endpoint)
        async def check(request: Request) -> Response:
            if rule is not Rule.ANYONE:
                own = personal_services(request)
                if not own.person.may(policy.SEE):
                    return JSONResponse({"error": NO_ACCESS}, 401, NO_STORE)
                async with _places(own.person.id):
                    await asyncio.to_thread(_check, rule, request, own)
                    request.state.services = own
                    return await endpoint(request)
            return await endpoint(request)

        check.access_rule = rule  # type: ignore[attr-defined]
        return check

    return declare


class Routes:
    """The routes of a module: `@routes.get(Rule.VISITOR, "/address")` stands above each function that answers.

    Calling it returns them, after those of `others`.
    """

    def __init__(self, *others: "Routes") -> None:
        self._routes = [route for other in others for route in other()]

    def __call__(self) -> list[Route]:
        """Return the routes."""
        return self._routes

    def _add(self, method: str, rule: Rule, *addresses: str) -> Callable[[Endpoint], Endpoint]:
        def declare(endpoint: Endpoint) -> Endpoint:
            checked = access(rule)(endpoint)
            self._routes += [Route(address, checked, methods=[method]) for address in addresses]
            return checked

        return declare

    get = partialmethod(_add, "GET")
    post = partialmethod(_add, "POST")
    delete = partialmethod(_add, "DELETE")


@asynccontextmanager
async def _places(person: str) -> AsyncIterator[None]:
    """Hold one of a person's places among the threads of all, or wait for one."""
    place, held = _waiting.get(person) or (asyncio.Semaphore(MAX_OF_PERSON), 0)
    _waiting[person] = place, held + 1
    try:
        async with place:
            yield
    finally:
        place, held = _waiting.pop(person)
        if held > 1:
            _waiting[person] = place, held - 1


def personal(request: Request) -> Services:
    """Return the services of the person who asks, in a route whose rule was checked."""
    services: Services = request.state.services
    return services


def personal_services(request: Request) -> Services:
    """Return the services as the person may use them who sends a request."""
    all_services = services()
    return all_services.for_person(all_services.identity.of_request(request))


async def while_visible(blocks: AsyncGenerator[str], services: Services, run: str) -> AsyncIterator[str]:
    """Pass on an event stream until its run is no longer visible to the person who listens."""
    async with aclosing(blocks):
        async for block in blocks:
            if not services.runs.sees(run):
                return
            yield block


def _check(rule: Rule, request: Request, services: Services) -> None:
    if rule is Rule.RUN_READER:
        for name in RUN_PARAMETERS:
            if name in request.path_params:
                services.runs.get(request.path_params[name])
    elif rule is Rule.DATA_READER:
        dataset = request.path_params["dataset"]
        if not services.datasets.may_train_on(dataset) and all(
            run.config.dataset != dataset for run in services.runs.list()
        ):
            raise data_not_found(dataset)


def data_not_found(dataset: str) -> UserError:
    """Return the error for a data set that does not exist, has changed, or may not be seen."""
    return UserError(f"There is no data set {dataset[:40]!r} of that hash.")
