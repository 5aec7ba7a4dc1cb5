"""Watching in a real browser: first paint, a replay of 20 epochs of 10,000 points, scrubbing, the page to pass on.

A run of MNIST that looks at all 10,000 test images twenty times is trained first. Then: the first paint and the map of
a visit by a browser that has never been here; what a replay asks the server for once it is loaded, and how often it
draws; from each move of the pointer along the loss curve to the end of the next drawing of the map; the exported page,
opened without a network. Run with DMLVIZ_DATA set: `python tests/bench/bench_watch.py`.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from bench_page import ARGUMENTS, told
from playwright.sync_api import Browser, Page, sync_playwright
from visitors import serving

from dmlviz.config import TrainConfig
from dmlviz.export import RunExport, save
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

VISITS = 5
MOVES = 120
CONFIG = TrainConfig(steps=200, num_snapshots=20, eval_subset_size=10_000)
MAP = """() => {
  const found = (root) => [...root.querySelectorAll("*")].flatMap((node) =>
    [...(node.matches(".map") ? [node] : []), ...(node.shadowRoot ? found(node.shadowRoot) : [])]);
  window.watched = found(document)[0].map;
  const { scene } = watched;
  const draw = scene.drawNow.bind(scene);
  window.drawn = [];
  scene.drawNow = () => {
    draw();
    drawn.push(performance.now());
  };
  window.moved = [];
  addEventListener("pointermove", ({ timeStamp }) => moved.push(timeStamp), { capture: true });
}"""


def a_run(folder: Path) -> Run:
    """Trained, with a place for each of 10,000 images at each of 20 steps."""
    run = Runs(folder).create(CONFIG)
    for _event in train_and_record(run, data_root=Path(os.environ["DMLVIZ_DATA"])):
        pass
    assert run.state == "finished", run.state
    return run


def visits(browser: Browser, url: str) -> None:
    """The first paint and the first map of browsers that have never been here."""
    paints, maps = [], []
    for _ in range(VISITS):
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        page = context.new_page()
        page.goto(url)
        page.locator(".map[data-ready=true]").wait_for()
        maps.append(float(page.evaluate("performance.now()")))
        paints.append(float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")))
        page.wait_for_timeout(1000)
        context.close()
    told("a first visit → first paint", paints, "ms", "1500 ms")
    told("a first visit → the map", maps, "ms", "–")


def replay(page: Page) -> None:
    """What is asked for while the run plays, and how often the map is drawn."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    sent = _sent(page)
    page.get_by_role("slider", name="Frame", exact=True).press("Home")
    page.wait_for_timeout(3000)
    asked.clear()
    sent.clear()
    page.evaluate("drawn.length = 0")
    page.get_by_role("button", name="Play").click()
    page.locator(".map[data-playing=true]").wait_for()
    page.locator(".map[data-playing=false]").wait_for()
    drawn = page.evaluate("[drawn.length, drawn.at(-1) - drawn[0]]")
    print(
        f"replay of {CONFIG.num_snapshots} × {CONFIG.eval_subset_size}: "
        f"{len(asked)} requests, {len(sent)} messages, to be none; "
        f"{drawn[0] / drawn[1] * 1e3:.0f} drawings a second without a graphics card"
    )


def _sent(page: Page) -> list[Any]:
    """What the page's websockets say from now on. Those that are open already cannot be heard, so it is loaded anew."""
    sent: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda payload: sent.append(payload)))
    page.reload()
    page.locator(".map[data-ready=true]").wait_for()
    page.wait_for_timeout(5000)
    page.evaluate(MAP)
    return sent


def scrub(page: Page) -> None:
    """From a move of the pointer along the loss curve to the end of the next drawing."""
    box = page.locator(".loss-curve svg").first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.95 * box["width"], y)
    page.mouse.down()
    page.evaluate("moved.length = drawn.length = 0")
    for i in range(MOVES):
        page.mouse.move(box["x"] + (0.95 - 0.85 * i / MOVES) * box["width"], y)
        page.wait_for_timeout(12)
    page.wait_for_timeout(500)
    page.mouse.up()
    moved, drawn = page.evaluate("[moved, drawn]")
    lags = [min((at for at in drawn if at > move), default=move + 1000) - move for move in moved]
    told(f"pointer on the curve → map drawn, {len(moved)} moves", lags, "ms", "with the pointer")


def kept(browser: Browser, run: Run, folder: Path) -> None:
    """The page to pass on: its size, and until its map is there."""
    file = save("html", RunExport.from_run(run, data_root=Path(os.environ["DMLVIZ_DATA"])), folder / "kept.html")
    waits = []
    for _ in range(VISITS):
        context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
        page = context.new_page()
        page.goto(file.as_uri(), wait_until="commit")
        page.locator(".map[data-ready=true]").wait_for()
        waits.append(float(page.evaluate("performance.now()")))
        context.close()
    told(f"page to pass on, {file.stat().st_size / 1e6:.1f} MB (6): opened → map", waits, "ms", "2000 ms")


def main() -> None:
    """Print the table."""
    print(f"load of this machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        run = a_run(Path(folder))
        with serving(Path(folder)) as (url, _), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
            visits(browser, url)
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(f"{url}/?run={run.id}")
            page.locator(".map[data-ready=true]").wait_for()
            replay(page)
            scrub(page)
            page.close()
            kept(browser, run, Path(folder))
            browser.close()
    print(f"\nload of this machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
