"""The page that trains a run's settings in the browser, for who would wait in the queue."""

from typing import Any

import pytest
from dmlviz_app.server.services import Services
from starlette.testclient import TestClient

from dmlviz.config import TrainConfig
from dmlviz.workers import answers

SETTINGS = {"dataset": "digits", "net": "linear", "embedding_dim": 2, "images_per_class": 4, "steps": 20}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What workers were asked to write."""
    asked: list[str] = []

    written = answers.training_page

    def write(*arguments: Any, **more: Any) -> str:
        asked.append("training_page")
        return written(*arguments, **more)

    monkeypatch.setattr(answers, "training_page", write)
    return asked


def test_a_page_for_the_settings_of_a_run_is_written_once(client: TestClient, here: Services, asked: list[str]) -> None:
    run = here.runs.create(TrainConfig(**SETTINGS))
    place = f"/dmlviz/runs/{run.id}/training"
    page = client.get(f"{place}/index.html")
    assert page.status_code == 200
    assert "it asks no server" in page.text
    assert "'wasm-unsafe-eval'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    for name in ("training.bin", "digits.bin", "playground.js", "playground_worker.js", "style.css"):
        assert client.get(f"{place}/{name}").status_code == 200, name
    assert asked == ["training_page"]
    assert client.get(f"{place}/run.json").json()["error"] == "The page that trains has no file 'run.json'."


def test_where_a_tab_cannot_train_the_page_says_why(client: TestClient, here: Services, asked: list[str]) -> None:
    run = here.runs.create(TrainConfig(**SETTINGS, label_noise=0.1))
    page = client.get(f"/dmlviz/runs/{run.id}/training/index.html")
    assert page.status_code == 404
    assert "<p>A page trains with labels and images as they are; got label_noise: leave it out.</p>" in page.text
