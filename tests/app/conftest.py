"""Runs for the app's tests: real folders, written by the recorder from what a small training says."""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dmlviz_app import routes
from dmlviz_app.answers.sprites import ImageTiles, image_tiles
from dmlviz_app.feature import messages, props
from dmlviz_app.people.identity import AccessSettings
from dmlviz_app.server import services
from dmlviz_app.server.middleware import middleware
from dmlviz_app.server.services import Services
from dmlviz_app.server.settings import Settings
from dmlviz_app.widgets import components
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from typing_extensions import is_typeddict

from dmlviz import data
from dmlviz.config import TrainConfig
from dmlviz.data import stratified_subset
from dmlviz.errors import UserError
from dmlviz.jobs.pool import WorkerPool
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import Run
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.store import Runs, bundled_runs
from dmlviz.training.events import Event, Finished, Snapshot, Started, Step
from dmlviz.workers import answers, questions
from tests.answers_here import answer_in_thread

# Every AppTest looks through all that is installed for components: a quarter of a second.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

# In a server of this process, threads of the watcher would look through the whole checkout again and again.
config.set_option("server.fileWatcherType", "none")

STEPS = 30

for kind in messages().values():
    if is_typeddict(kind):
        kind.__pydantic_config__ = {"extra": "forbid", "strict": True}


@cache
def adapter(name: str) -> TypeAdapter[Any]:
    """What checks the props of a component."""
    return TypeAdapter(props()[name])


@pytest.fixture(autouse=True)
def _props_are_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a page sends to a component in a test is what its protocol.py declares, no more and no less."""
    renderer = components._renderer

    def checked(name: str) -> Any:
        def mounted(*, data: dict[str, Any], **more: Any) -> Any:
            adapter(name).validate_json(json.dumps(data))
            return renderer(name)(data=data, **more)

        return mounted

    monkeypatch.setattr(components, "_renderer", checked)


@pytest.fixture(autouse=True)
def _answers_are_prepared_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are prepared in a thread, but in slow tests, which start a worker for each as a server does."""

    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(WorkerPool, "answer", answer_in_thread)
        monkeypatch.setattr(answers, "limit_further_resources", lambda *_: None)


CONFIG = TrainConfig(dataset="digits", net="mlp", embedding_dim=2, steps=STEPS, eval_subset_size=200, seed=5)


def telling(config: TrainConfig = CONFIG) -> Iterator[Event]:
    """What a training of the digits says: classes that come together, step by step. No net, no torch."""
    test = data.load("digits").test
    n, d = len(test), config.embedding_dim
    random = np.random.default_rng(config.seed)
    tracked = stratified_subset(test.labels, config.eval_subset_size)
    pixels = test.images.reshape(n, -1) / 255
    start = pixels @ random.normal(size=(pixels.shape[1], d)) / 4
    angle = test.labels * (2 * np.pi / 10)
    end = np.zeros((n, d))
    end[:, :2] = np.stack([np.cos(angle), np.sin(angle)], 1)
    end += random.normal(size=(n, d)) * 0.08

    def after(step: int) -> np.ndarray:
        share = step / config.steps
        return ((1 - share) * start + share * end).astype(np.float32)

    yield Started(
        steps=config.steps, tracked_indices=tracked, train_images=1198, test_images=n, device="cpu", threads=1
    )
    yield Snapshot(step=0, embeddings=after(0)[tracked], metrics=_scores(0.3))
    for step in range(1, config.steps + 1):
        yield Step(
            step=step,
            loss=2 / (1 + step),
            active=0.5,
            positive_distance=0.1,
            negative_distance=0.9,
            images_per_second=1e3,
            cpu_seconds=0.01 * step,
        )
        if step % 5 == 0:
            yield Snapshot(step=step, embeddings=after(step)[tracked], metrics=_scores(0.3 + 0.6 * step / config.steps))
    yield Finished(
        step=config.steps,
        embeddings=after(config.steps),
        metrics=_scores(0.9) | {"nmi": 0.8},
        net_weights={"layer.weight": np.ones((2, 3), np.float32)},
        cpu_seconds=0.3,
        seconds=0.5,
    )


def _scores(value: float) -> dict[str, float]:
    return dict.fromkeys(("precision_at_1", "recall_at_5", "map_at_r", "r_precision", "knn_accuracy"), value)


def write(runs: Runs, config: TrainConfig = CONFIG, upto: int | None = None) -> Run:
    """A run with the first `upto` events of its training, all of them by default."""
    run = runs.create(config)
    labels = data.load("digits").test.labels
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, labels)
        for number, event in enumerate(telling(config)):
            if upto is not None and number >= upto:
                break
            recorder.write(event)
    return run


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Services]:
    """The process's services over a folder of their own; jobs only start when asked, and without a warm worker."""
    started = services.start_services(Settings(runs=tmp_path / "runs", data=tmp_path / "data"), warm=False)
    yield started
    services.stop_services()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of the digits, in nobody's folder."""
    return write(Runs(tmp_path_factory.mktemp("written")))


@pytest.fixture
def run(here: Services, written: Run) -> Run:
    """The same run among those of the app."""
    shutil.copytree(written.path, here.runs.folder / written.id)
    return here.runs.get(written.id)


@pytest.fixture(name="write")
def writer():
    """The function that writes a run: `write(runs, config, upto)`."""
    return write


@pytest.fixture
def digits(here: Services) -> ImageTiles:
    """The pictures of the digits."""
    return image_tiles("digits", here.data)


@pytest.fixture
def client(here: Services) -> Iterator[TestClient]:
    """Who asks the routes, over HTTP."""
    app = Starlette(
        routes=routes.routes(),
        middleware=middleware(Settings(), AccessSettings()),
        exception_handlers={UserError: routes.user_error},
    )
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def trained(here, monkeypatch):
    """A ready-made run with its net; what its worker does is done in this process."""
    monkeypatch.setattr(
        here.scheduler.inference_worker, "call", lambda question, **_: questions.answer(dict(question), here.data)
    )
    return next(run for run in Runs(bundled_runs()).list() if not run.info.get("fails"))
