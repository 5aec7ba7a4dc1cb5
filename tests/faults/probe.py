"""Everything that reads a run, asked about one folder of runs: what breaks, and what a script would really do."""

import ast
import io
import os
import re
import shlex
import shutil
from contextlib import redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

from dmlviz_app import routes
from dmlviz_app.runs import state as run_list
from dmlviz_app.server import services
from dmlviz_app.server.settings import Settings
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dmlviz.cli.main import main
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.export import FORMATS, film
from dmlviz.jobs.pool import WorkerPool
from dmlviz.runs.embed import trained_net
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.quota import total_size
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, bundled_runs
from dmlviz.workers import answers
from tests.answers_here import answer_in_thread

_export = answers.export  # which a probe replaces

SEED = "1982b684f3268e0c"  # of the ready-made runs the smallest that has everything
OTHER = "b923f3cc7f52c032"
CALLS = {
    *("torch.set_num_threads", "TrainConfig", "ProjectionConfig", "train", "data.load", "print", "len", "project"),
    *("default_projection", "default_projection(end.embeddings, labels).project"),
}
DRAWN_ALIKE = {"svg", "pdf", "png", "gif"}  # what figures and film draw, too, from the same files
IMPORTS = {"torch", "dmlviz", "dmlviz.projection", "dmlviz.ops.linear_projection"}


def make_seed(folder: Path) -> Path:
    """A small whole run with a finished projection, under `folder`: what is forged and damaged."""
    runs = Runs(folder)
    run = runs.writable_copy(runs.get(SEED))
    run_projection(runs.create_projection(run, ProjectionConfig(method="pca")).path)
    return run.path


class Probe:
    """A folder with the given runs and one that is whole, and all that a person or a browser may ask of it."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder = folder
        self.bundled = folder.parent / f"{folder.name}-bundled"
        shutil.rmtree(self.bundled, ignore_errors=True)
        shutil.copytree(bundled_runs() / OTHER, self.bundled / OTHER)
        self.here = services.start_services(Settings(runs=folder, data=data), warm=False)
        self.here.store.bundled = self.bundled
        self._patches = [
            mock.patch.object(WorkerPool, "answer", answer_in_thread),
            mock.patch.object(answers, "limit_further_resources"),
            mock.patch.object(answers, "export", _export_without_torch),
            mock.patch.object(film, "FRAMES", (3,)),  # of 60 all read the same files: half of all work here
        ]
        for patch in self._patches:
            patch.start()
        app = Starlette(routes=routes.routes(), exception_handlers=routes.EXCEPTION_HANDLERS)
        self.client = TestClient(app, base_url="http://localhost")

    def close(self) -> None:
        """Stop what was started."""
        services.stop_services()
        for patch in self._patches:
            patch.stop()
        shutil.rmtree(self.bundled, ignore_errors=True)

    def shared(self) -> dict[str, str]:
        """What everybody sees, by name: the fault that breaks it; empty where all goes on."""
        looks = {
            "list": lambda: [run.id for run in self.here.runs.list()].index(OTHER),
            "cards": lambda: run_list.run_list_props(run_list.RunListState(), self.here),
            "disk": lambda: total_size(self.here.runs),
            "dmlviz runs": self._listed,
        }
        return {name: fault for name, look in looks.items() if (fault := _fault(look)) is not None}

    def unsaid(self, run: str) -> bool:
        """Whether a run has vanished: no card, damaged or not."""
        try:
            return run not in [card["run"] for card in run_list.cards(self.here)]
        except Exception:
            return True

    def answers(self, run: str) -> dict[str, str]:
        """Every GET of a run that fails, by its address."""
        found = {}
        for path in self.addresses(run):
            fault = _fault(lambda path=path: self._get(path))
            if fault is not None:
                found[path] = fault
        return found

    def addresses(self, run: str) -> list[str]:
        """All addresses of a run; those of its parts as its files are named, whatever is in them."""
        folder, base = self.folder / run, f"/dmlviz/runs/{run}"
        steps = [path.stem for path in sorted((folder / "snapshots").glob("*.npy"))][:2]
        batches = [path.stem for path in sorted((folder / "batches").glob("*.npz"))]
        frames = [path.stem for path in sorted((folder / "frames").glob("*.i16"))][:3]
        views = [path.name for path in sorted((folder / "projections").glob("*"))]
        names = ("events", "tracked_items.json", "nearest.bin", "per_query.bin", "run.zip")
        found = [f"{base}/{name}" for name in names]
        found += [
            f"{base}/thumbnail-light.png",
            f"{base}/neighbor-history/0.json",
            f"{base}/neighbor-history/5.json?metric=cosine",
        ]
        found += [f"{base}/values/live/{measure}.f32" for measure in ("faithfulness", "center")]
        found += [f"/dmlviz/agreement/{run}/{OTHER}.json"]
        found += [f"{base}/per_query.bin?step={step}" for step in steps]
        found += [f"{base}/distances/{step}.json" for step in (*steps, "150")]
        found += [f"{base}/batches/{step}.{kind}" for step in batches[:3] for kind in ("json", "png")]
        found += [f"/dmlviz/frames/{run}/{frame}.i16" for frame in frames]
        found += [f"{base}/export/{name}" for name in FORMATS if name not in DRAWN_ALIKE]
        for view in views:
            found += [f"{base}/projections/{view}/events", f"{base}/values/{view}/faithfulness.f32"]
            found += [f"{base}/export/{name}?view={view}" for name in ("python", "command", "csv", "html")]
        return found

    def code(self, run: str) -> dict[str, str]:
        """What an export would do that no export should, by its address."""
        found = {}
        for address in self.addresses(run):
            if re.search("/export/(python|command|html)", address):
                answer = _quietly(lambda address=address: self.client.get(address))
                if answer is not None and answer.status_code == 200:
                    said = _does(address, answer.content)
                    if said:
                        found[address] = said
        return found

    def _get(self, path: str) -> None:
        answer = self.client.get(path)
        if answer.status_code >= 500:
            raise RuntimeError(f"answered {answer.status_code}")

    def _listed(self) -> None:
        with redirect_stdout(io.StringIO()):
            try:
                main(["runs", "--runs", str(self.folder)])
            except SystemExit as ended:
                if ended.code not in (0, None):
                    raise RuntimeError(f"dmlviz runs ended with {ended.code}") from None


def _export_without_torch(target: answers.Target, run: str, info: dict, format: str, **more: object):
    """Load the net, and write none: how torch writes it takes seconds, and does not depend on the run's files."""
    if not FORMATS[format].needs_torch:
        return _export(target, run, info, format, **more)
    trained_net(Run(run))
    target.file.touch()
    return "net"


def _fault(look) -> str | None:
    try:
        look()
    except UserError as error:
        return f"UserError: {str(error)[:80]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:80]}"
    return None


def _quietly(look):
    try:
        return look()
    except Exception:
        return None


def _does(address: str, content: bytes) -> str:
    if "/export/python" in address:
        return unexpected_python(content.decode(errors="replace"))
    if "/export/command" in address:
        return unexpected_shell(content.decode(errors="replace"))
    if "/export/html" in address:
        return unexpected_html(content.decode(errors="replace"))
    return ""


def unexpected_python(text: str) -> str:
    """The first thing that a script does besides training and drawing; empty where there is none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return f"no Python: {error}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in CALLS:
            return f"calls {ast.unparse(node.func)[:60]}"
        if isinstance(node, ast.ImportFrom) and node.module not in IMPORTS:
            return f"imports {node.module}"
        if isinstance(node, ast.Import) and {name.name for name in node.names} - IMPORTS:
            return "imports more"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.set_num_threads" and not _is_count(node):
            return "threads are no number"
    return ""


def _is_count(call: ast.Call) -> bool:
    return isinstance(call.args[0], ast.Constant) and type(call.args[0].value) is int


def unexpected_shell(text: str) -> str:
    """The first token that no dmlviz command has; empty where there is none."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        try:
            words = shlex.split(line)
            bare = list(shlex.shlex(line, posix=True, punctuation_chars=True))
        except ValueError as error:
            return f"no shell: {error}"
        if words[:2] not in (["dmlviz", "train"], ["dmlviz", "project"]):
            return f"runs {words[0][:60]}"
        if any(re.fullmatch("[();<>|&]+", word) for word in bare) or re.search(r"[$`]", line.replace("'", "")):
            return f"does more: {line[:80]}"
    return ""


def unexpected_html(text: str) -> str:
    """Whether a page has elements that come from what a run says of itself."""
    parser = _Tags()
    parser.feed(text)
    return "" if parser.scripts == 2 and not parser.strange else f"{parser.scripts} scripts, {parser.strange[:3]}"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.strange = 0, []

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if any(name.startswith("on") for name, _ in attrs) or tag in ("img", "iframe", "object"):
            self.strange.append(tag)


def data_folder(folder: Path) -> Path:
    """Where no data set lies, so that only those that come with the program are there."""
    path = folder / "data"
    path.mkdir(parents=True, exist_ok=True)
    os.environ["DMLVIZ_DATA"] = str(path)
    return path
