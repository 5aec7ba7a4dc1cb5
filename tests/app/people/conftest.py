"""A server that several people share, each with a browser of their own."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from dmlviz_app import routes
from dmlviz_app.people.cookies import COOKIE
from dmlviz_app.server import services
from dmlviz_app.server.middleware import middleware
from dmlviz_app.server.services import Services
from dmlviz_app.server.settings import Settings
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.errors import UserError
from dmlviz.runs.run import Run

DATASET = "custom-00aa11bb22cc33dd"

ROLES = """
[roles]
"{teacher}" = "teacher"
"{admin}" = "admin"
"{guest}" = "guest"
"""


class Someone:
    """A person at a browser: a client with a cookie, and the services as the pages of that person have them."""

    def __init__(self, here: Services, app: Starlette) -> None:
        value = here.identity.browsers.issue()
        self.client = TestClient(app, base_url="http://localhost", cookies={COOKIE: value})
        self.everyone = here
        self.id = here.identity.of_request(_request({COOKIE: value})).id
        self.cookie = value

    @property
    def here(self) -> Services:
        """The services, with the role that the person has now."""
        return self.everyone.for_person(self.everyone.identity.of_request(_request({COOKIE: self.cookie})))


def _request(cookies: dict[str, str]):
    from starlette.requests import Request

    value = "; ".join(f"{name}={text}" for name, text in cookies.items())
    return Request({"type": "http", "headers": [(b"cookie", value.encode())]})


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Services]:
    """The services of a server that people share; the test decides on their roles in `people.toml`."""
    people = tmp_path / "people.toml"
    people.write_text("")
    settings = Settings(runs=tmp_path / "runs", data=tmp_path / "data", shared=True, people=people)
    yield services.start_services(settings, warm=False)
    services.stop_services()


@pytest.fixture
def app(shared: Services) -> Starlette:
    """The routes behind the middleware."""
    return Starlette(
        routes=routes.routes(),
        middleware=middleware(shared.settings, shared.settings.access),
        exception_handlers={UserError: routes.user_error},
    )


@pytest.fixture
def people(shared: Services, app: Starlette) -> Iterator[dict[str, Someone]]:
    """Ada and Bob, members; a teacher, an admin, a guest."""
    all_of_them = {name: Someone(shared, app) for name in ("ada", "bob", "teacher", "admin", "guest")}
    ids = {name: person.id for name, person in all_of_them.items()}
    shared.settings.access.people.write_text(ROLES.format(**ids))
    with ExitStack() as clients:
        for person in all_of_them.values():
            clients.enter_context(person.client)  # one event loop for all that a person asks
        yield all_of_them


@pytest.fixture
def limit_members(shared: Services, people: dict[str, Someone]) -> Callable[..., None]:
    """Give members other limits by the file: disk_gb, jobs, upload_mb."""
    file = shared.settings.access.people
    roles = file.read_text()

    def limit(**limits: float) -> None:
        file.write_text("\n".join([roles, "[limits.member]", *(f"{name} = {value}" for name, value in limits.items())]))

    return limit


@pytest.fixture
def ada(people: dict[str, Someone]) -> Someone:
    """Somebody who has runs."""
    return people["ada"]


@pytest.fixture
def bob(people: dict[str, Someone]) -> Someone:
    """Somebody else."""
    return people["bob"]


@pytest.fixture
def adas_run(shared: Services, ada: Someone, written: Run) -> str:
    """The ID of a finished run that Ada holds."""
    shutil.copytree(written.path, shared.runs.folder / written.id)
    ada.here.runs.hold(written.id)
    return written.id


@pytest.fixture
def adas_data(shared: Services, ada: Someone) -> str:
    """The name of a data set that Ada has uploaded."""
    spec = DatasetSpec(name=DATASET, title="Ada's", summary="", classes=("a", "b"), size=8, mean=0.5, std=0.5)
    images, labels = np.zeros((20, 8, 8), np.uint8), np.arange(20) % 2
    parts = {"train_images": images, "train_labels": labels, "test_images": images, "test_labels": labels}
    custom_datasets.save(shared.data, DATASET, spec.to_dict(), parts)
    ada.here.datasets.hold(DATASET)
    return DATASET
