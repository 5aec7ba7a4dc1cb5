"""The map on a page of its own."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def harness() -> Iterator[str]:
    """The address of the map's own page."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(Path(__file__).parents[1] / "harness"))
    import serve

    server = serve.serve()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


class MapPage:
    """A tab that holds the map, and how to ask it; all else is the tab's own."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tab, name)

    def tells(self, name: str) -> str:
        """What the map says of itself."""
        return self.locator(".map").get_attribute(f"data-{name}")

    def shows(self, **attributes: object) -> None:
        """Wait until the map says so."""
        selector = "".join(f'[data-{name}="{value}"]' for name, value in attributes.items())
        self.wait_for_selector(f".map{selector}")

    def rests(self) -> None:
        """Wait until nothing moves any more."""
        self.wait_for_function("!map().scene.pending && !map().scene.clock && !map().scene.camera.target")

    def place(self, item: int) -> tuple[float, float]:
        """Where an image is in the window."""
        return tuple(self.evaluate(f"map().clientOf({item})"))

    def said(self, name: str) -> list[Any]:
        """What was looked at by this name, one after another, or what the map told the server."""
        return [value for key, value in self.evaluate("said") if key == name]


@pytest.fixture
def open_map(harness: str, tabs: Any) -> Iterator[Callable[..., MapPage]]:
    """Open the page with options; whatever goes wrong in it fails the test."""
    troubles: list[str] = []
    pages = []

    def hear(error: Any) -> None:
        troubles.append(str(error))

    def open_it(query: str, width: int = 1000, height: int = 640, ready: bool = True, **options: Any) -> MapPage:
        page = tabs.take(width, height, **options)
        pages.append(page)
        page.on("pageerror", hear)
        page.goto(harness + query)
        if ready:
            page.wait_for_selector('.map[data-ready="true"]')
        return MapPage(page)

    yield open_it
    for page in pages:
        page.remove_listener("pageerror", hear)
        tabs.leave(page)
    assert troubles == []
