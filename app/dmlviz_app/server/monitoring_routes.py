"""Monitoring routes: /metrics for Prometheus, and the middleware that measures all requests."""

import asyncio
import hmac
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime

from dmlviz.jobs.job import LIVE_STATES
from dmlviz.jobs.placement import Fleet
from dmlviz.parts import kinds
from dmlviz.runs.quota import MIN_FREE_BYTES, parse_limit, total_size
from dmlviz_app.server.access import Routes, Rule
from dmlviz_app.server.event_stream import event_hub
from dmlviz_app.server.headers import NO_STORE, JSONResponse
from dmlviz_app.server.logs import log_failed_request
from dmlviz_app.server.metrics import REGISTRY, REQUESTS, process_use
from dmlviz_app.server.services import Services, services


def obstacles(services: Services) -> list[str]:
    """Return what keeps a job from starting, a sentence each; empty when the server is ready."""
    sentences = []
    folder = services.settings.runs
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        sentences.append(f"Nothing can be written into the folder of runs: {error.strerror}.")
    else:
        if free < MIN_FREE_BYTES:
            sentences.append(
                f"The disk of the runs has {free // 10**6} MB left; a run may need {MIN_FREE_BYTES // 10**6}."
            )
    if not services.datasets.available():
        sentences.append("There is no data set: see `dmlviz data`.")
    if not services.scheduler.ready:
        sentences.append("No worker is ready yet.")
    return sentences


STREAMLIT_METRICS = "/_stcore/metrics"
LOOPBACK = ("127.0.0.1", "::1")
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")  # headers by which a proxy says that it is one
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
routes = Routes()


@routes.get(Rule.ANYONE, "/metrics")  # it checks itself who may ask
async def metrics(request: Request) -> Response:
    """Return figures about the server in Prometheus's format, for those who may have them."""
    if (refusal := _refusal(request)) is not None:
        return refusal
    content = await asyncio.to_thread(generate_latest, REGISTRY)
    return Response(content, headers=NO_STORE, media_type=CONTENT_TYPE_LATEST)


class StreamlitMetricsMiddleware:
    """ASGI middleware: Streamlit's own metrics are for those who may ask for ours."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self.app = app
        self.path = f"{base_path}{STREAMLIT_METRICS}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or refuse it as `metrics` does."""
        # A route also matches its path with a line break at the end.
        asks = scope["type"] == "http" and scope["path"].rstrip() == self.path
        await ((_refusal(Request(scope)) if asks else None) or self.app)(scope, receive, send)


def _refusal(request: Request) -> Response | None:
    token = services().settings.metrics_token
    if token is not None and not _has_token(request, token):
        return JSONResponse({"error": "Metrics need the header Authorization: Bearer TOKEN."}, 401, NO_STORE)
    if token is None and not _is_local(request):
        sentence = "Metrics are only for this machine; start the server with --metrics-token to let others ask."
        return JSONResponse({"error": sentence}, 403, NO_STORE)
    return None


def _has_token(request: Request, token: str) -> bool:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(credentials.strip().encode(), token.encode())


def _is_local(request: Request) -> bool:
    """Return whether the request comes from a program on this machine, not through a proxy."""
    is_forwarded = any(name in request.headers for name in FORWARDED)
    return request.client is not None and request.client.host in LOOPBACK and not is_forwarded


class ServerCollector(Collector):
    """Looks up what the server does at the moment when Prometheus asks."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield each figure."""
        all_services, use = services(), process_use()
        jobs = GaugeMetricFamily("dmlviz_jobs", "Jobs that wait or run.", labels=["kind", "state"])
        under_way = all_services.scheduler.running_for()
        counts: Counter[tuple[str, str]] = Counter((job.order.kind, status.phase) for job, status in under_way)
        for kind in kinds("job"):
            for state in LIVE_STATES:
                jobs.add_metric([kind, state], counts[kind, state])
        yield jobs
        memory = GaugeMetricFamily(
            "dmlviz_memory_bytes", "Memory of the server and of what it has started.", labels=["process"]
        )
        for process, size in use.memory.items():
            memory.add_metric([process], size)
        yield memory
        for name, explanation, value in (
            ("dmlviz_ready", "1 if a job can start, else 0.", int(not obstacles(all_services))),
            ("dmlviz_job_slots", "Jobs that may run at a time on this machine.", all_services.scheduler.slots),
            ("dmlviz_workers", "Worker processes, with a job or without.", use.workers),
            ("dmlviz_event_streams", "Pages that follow a run now.", event_hub.listeners),
            ("dmlviz_sessions", "Open pages.", open_sessions()),
            ("dmlviz_runs_disk_bytes", "Disk space that the runs take.", total_size(all_services.store)),
            (
                "dmlviz_runs_disk_limit_bytes",
                "Disk space that the runs may take.",
                parse_limit(all_services.settings.disk_limit),
            ),
        ):
            yield GaugeMetricFamily(name, explanation, value)
        if all_services.scheduler.fleet is not None:
            yield from fleet_figures(all_services.scheduler.fleet, Counter(status.machine for _, status in under_way))


def fleet_figures(fleet: Fleet, jobs: Mapping[str, int]) -> Iterator[GaugeMetricFamily]:
    """Yield the figures of the machines that train for this server.

    Args:
        fleet: The machines.
        jobs: Number of jobs of this server on each, by its name.
    """
    machines = fleet.machines
    yield GaugeMetricFamily("dmlviz_fleet_connected", "1 if the fleet can be reached, else 0.", int(not fleet.trouble))
    count = GaugeMetricFamily("dmlviz_fleet_machines", "Machines that are connected.", labels=["state"])
    for state, is_refused in (("used", False), ("refused", True)):
        count.add_metric([state], sum(bool(machine.refused) == is_refused for machine in machines))
    yield count
    slots = GaugeMetricFamily("dmlviz_fleet_slots", "Trainings that a machine takes at a time.", labels=["machine"])
    under_way = GaugeMetricFamily("dmlviz_fleet_jobs", "Trainings of this server on a machine.", labels=["machine"])
    for machine in machines:
        if not machine.refused:
            slots.add_metric([machine.name], machine.slots)
            under_way.add_metric([machine.name], jobs.get(machine.name, 0))
    yield slots
    yield under_way


REGISTRY.register(ServerCollector())


def open_sessions() -> int:
    """Return the number of pages open in browsers."""
    if not runtime.exists():
        return 0
    # Not documented as public: the same figure as at /_stcore/metrics. A test fails when it moves.
    families = runtime.get_instance().stats_mgr.get_stats(family_names=["active_sessions"])
    return int(sum(stat.value for stat in families["active_sessions"]))  # type: ignore[attr-defined]


class RequestMonitorMiddleware:
    """ASGI middleware: counts requests by route and status, and writes those that fail into the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, and note its status as soon as it is known."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        is_noted = False

        def note(status: int, headers: Headers) -> None:
            nonlocal is_noted
            is_noted = True
            method = scope["method"] if scope["method"] in METHODS else "other"
            route = _route(scope, headers)
            REQUESTS.labels(method, route, status).inc()
            if status >= 400:
                log_failed_request(method, route, status, time.perf_counter() - start)

        async def note_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                note(message["status"], Headers(raw=message["headers"]))
            await send(message)

        try:
            await self.app(scope, receive, note_and_send)
        except Exception:
            if not is_noted:
                note(500, Headers())
            raise


def _route(scope: Scope, headers: Headers) -> str:
    """Return the template of the route; "page" for a page, "static" for a file of it, "none" without a route."""
    route = scope.get("route")
    if isinstance(route, Mount):
        return "static"  # the files of Streamlit's page
    if route is not None:
        return str(route.path)
    return "page" if headers.get("content-type", "").startswith("text/html") else "none"
