"""Random requests of every route, asked in this process: a part of `random_settings.py`."""

import json
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from dmlviz_app import routes
from dmlviz_app.server.protocol import ROUTES
from probe import OTHER, Probe, data_folder
from starlette.routing import Route

from dmlviz.catalog.losses import LOSSES
from dmlviz.export import FORMATS
from dmlviz.labs.registry import LABS

PARTS = [
    *(OTHER, "0" * 16, "live", "center", "faithfulness", "digits", "mnist", "curve", "forces", "ground", "terms"),
    *("0", "150", "-1", "999999999", "9" * 30, "1.5", "x", "..", "%2e%2e", "a" * 300, "<script>", "a\x00b", "é", " "),
    *("*", "?", "light", "dark", "thumbnail-light", "[", "\\", "con", "~", *FORMATS, *list(LOSSES)[:6]),
]
QUERIES = [
    "",
    "?step=150",
    "?step=x",
    "?step=-1",
    "?step=" + "9" * 40,
    "?metric=cosine",
    "?metric=x",
    "?view=../..",
    "?after=x",
    "?figure=x",
    "?figure=..%2f..&dark=1",
]
BODIES: list[object] = [
    *(None, 5, [], {}, "text", {"params": 5}, {"params": {"margin": "x"}}, {"held": []}, {"points": [[0, 0]]}),
    *({"points": "x", "labels": [0]}, {"points": [[1e308, 0]], "labels": [0, 1]}, {"samples": 10**9}),
]
RAW_BODIES = [
    b"",
    b"\xff",
    b"[" * 50_000,
    b"{" + b"9" * 5000,
    b'{"params": {"margin": 1e999}}',
    b'{"a": ' + b"9" * 5000 + b"}",
]


class Requests:
    """Asks the routes of one folder with one ready-made run."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        (mount,) = routes.routes()
        known = [route for route in mount.routes if isinstance(route, Route)]
        self.paths = [(mount.path + route.path, route.methods or {"GET"}) for route in known if _ends(route.path)]

    def ask(self, draw: random.Random) -> str:
        """Ask one thing; return what is wrong with the answer."""
        route, methods = draw.choice(self.paths)
        path = re.sub(r"\{(\w+)[^}]*\}", lambda match: _part(draw, match[1]), route) + draw.choice(QUERIES)
        method = draw.choice([*sorted(methods - {"HEAD"}) * 4, "GET", "POST", "PUT", "DELETE"])
        body = draw.choice([json.dumps(draw.choice(BODIES)).encode(), draw.choice(RAW_BODIES)])
        try:
            answer = self.probe.client.request(method, path, content=body if method in ("POST", "PUT") else None)
        except Exception as error:
            return f"{method} {path[:120]} {body[:60]!r}: {type(error).__name__} ({str(error)[:80]})"
        if answer.status_code >= 500 and not route.endswith("/ready"):
            return f"{method} {path[:120]} answered {answer.status_code}"
        if (
            answer.status_code in (404, 410)
            and answer.url.path.startswith(f"/{ROUTES}/")
            and not _is_sentence(answer.text)
        ):
            return f"{method} {path[:120]} answered {answer.text[:100]!r}"
        return ""


def _ends(path: str) -> bool:
    """Whether a route answers at once: an event stream does not end."""
    return "events" not in path and "stream" not in path and "classroom" not in path


def _part(draw: random.Random, name: str) -> str:
    likely = {"run": [OTHER], "a": [OTHER], "b": [OTHER], "loss": [*LOSSES], "picture": ["curve", "forces", "ground"]}
    likely |= {"lab": [*LABS], "source": ["ready", "quick", "full"]}
    likely |= {
        "step": ["0", "150", "7"],
        "item": ["0", "5"],
        "dataset": ["digits", "mnist", "numbers", "identities"],
        "format": [*FORMATS],
        "view": ["live"],
    }
    return quote(draw.choice(likely[name] if name in likely and draw.random() < 0.7 else PARTS), safe="%")


def _is_sentence(body: str) -> bool:
    try:
        text = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return False
    return 10 < len(text) < 900 and text.isprintable() and text[-1] in ".?"


@contextmanager
def requests() -> Iterator[Requests]:
    """Start the services over an empty folder, with one run that comes with the program."""
    with tempfile.TemporaryDirectory(prefix="dmlviz-requests-") as folder:
        (Path(folder) / "runs").mkdir()
        probe = Probe(Path(folder) / "runs", data_folder(Path(folder)))
        try:
            yield Requests(probe)
        finally:
            probe.close()
