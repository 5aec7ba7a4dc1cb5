"""What a person waits for, in a real browser: a visit, a first frame, neighbors of a click, an answer to a drawing.

With `--following`: a map that follows a training, beside one of the same settings without it.

Times are taken inside the page, from the event to the change of the element that shows the answer; bytes are what came
over the websocket meanwhile. Run with DMLVIZ_DATA set: `python tests/bench/bench_page.py`.
"""

import argparse
import os
import re
import shutil
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from visitors import serving

from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs

ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing",  # as browsers do by themselves where there is no GPU: only WebGL is emulated
]
HELP = """() => {
  window.part = (name, from = document) => {
    for (const node of from.querySelectorAll("*")) {
      const found = node.matches(name) ? node : node.shadowRoot && window.part(name, node.shadowRoot);
      if (found) return found;
    }
    return null;
  };
  // Milliseconds from the next `event` until `name` satisfies `is`.
  window.wait = (event, name, is) => new Promise((done) => {
    let began = null;
    addEventListener(event, (e) => (began = e.timeStamp), { once: true, capture: true });
    const look = () => {
      const node = began !== null && window.part(name);
      if (node && is(node)) done(performance.now() - began);
      else requestAnimationFrame(look);
    };
    look();
  });
}"""
# The layouts that the map shows in a second, of the next eight.
PACE = """() => new Promise((done) => {
  const [shown, end, { map }] = [new Set(), performance.now() + 8000, window.part(".map")];
  const look = () => {
    shown.add(map.playback.shown?.frame.id);
    if (performance.now() < end) requestAnimationFrame(look);
    else done((shown.size - 1) / 8);
  };
  look();
})"""
FOLLOWING = ("pca", "tsne", "umap")
FORMED = 50  # steps, after which a map is to be calm
VISITS = 9
TRAININGS = 5
CLICKS = 15
DRAWINGS = 5


class Wire:
    """Counts what comes over the page's websockets."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self._add))

    def _add(self, payload: bytes | str) -> None:
        self.bytes += len(payload)

    def since(self, before: int) -> int:
        """Bytes since then."""
        return self.bytes - before


def told(name: str, values: list[float], unit: str, limit: str) -> None:
    """Print median and worst."""
    spread = f"worst {max(values):8.1f} {unit}"
    print(f"{name:42s} median {statistics.median(values):8.1f} {unit}   {spread}   to be: {limit}")


def visits(browser: Browser, url: str) -> None:
    """A visit → first paint and map, with an empty cache; the first visit, which warms the server, is left out."""
    paints, maps = [], []
    for _ in range(VISITS + 1):
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(url, wait_until="commit")
        page.locator(".map[data-ready=true]").wait_for()
        maps.append(page.evaluate("performance.now()"))
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        page.close()
    told("visit → first paint", paints[1:], "ms", "1000 ms")
    told("visit → map", maps[1:], "ms", "1400 ms")


def trainings(page: Page, url: str, dataset: str) -> str:
    """Train → first frame, several times; the id of the last run, left to end."""
    first, pace = [], []
    for seed in range(TRAININGS):  # everything else as the app has it
        page.goto(f"{url}/?dataset={dataset}&seed={seed}")
        page.locator(".map[data-ready=true]").wait_for()
        page.wait_for_timeout(20_000)  # until a worker is warm again
        page.evaluate(HELP)
        old = page.locator(".map").get_attribute("data-run")
        page.evaluate(
            """(old) => { window.seen = window.wait("pointerup", ".map", (map) =>
                 map.dataset.run !== old && map.map.playback.timeline.live.includes(map.map.playback.shown)); }""",
            old,
        )
        page.get_by_role("button", name="Train", exact=True).first.click()
        first.append(page.evaluate("window.seen"))
        page.wait_for_timeout(500)
        before, began = page.locator(".map").get_attribute("data-frame"), time.monotonic()
        page.wait_for_timeout(4000)
        shown = int(page.locator(".map").get_attribute("data-frame") or 0) - int(before or 0)
        pace.append(shown / (time.monotonic() - began))
        if seed < TRAININGS - 1:
            page.get_by_role("button", name="Stop", exact=True).click()
            page.locator(".map[data-state=stopped]").wait_for()
    told("click on Train → first new frame", first, "ms", "500 ms")
    told("frames a second after it", pace, "/s", "2 /s at least")
    page.locator(".map[data-state=finished]").wait_for(timeout=300_000)
    found = re.search("run=([0-9a-f]{16})", page.url)
    assert found
    return found.group(1)


def following(page: Page, url: str, dataset: str, folder: Path) -> None:
    """Click on a map while a net trains → its first frame, its pace, its quality, and what it costs the training."""
    alone = 0.0
    for seed, method in enumerate((None, *FOLLOWING)):
        page.goto(f"{url}/?dataset={dataset}&seed={seed}")
        page.locator(".map[data-ready=true]").wait_for()
        page.wait_for_timeout(20_000)  # until a worker is warm again
        page.evaluate(HELP)
        old = page.locator(".map").get_attribute("data-run")
        page.get_by_role("button", name="Train", exact=True).first.click()
        page.wait_for_function(
            "(old) => { const { dataset, map } = part('.map'); return dataset.run !== old && map.playback.shown; }",
            arg=old,
        )
        run = Runs(folder).get(page.locator(".map").get_attribute("data-run") or "")
        if method:
            page.wait_for_timeout(2000)
            page.evaluate(
                """() => { window.seen = window.wait("pointerup", ".map", ({ map }) =>
                     map.playback.timeline.follows && map.playback.shown); }"""
            )
            page.get_by_role("radio", name=PROJECTIONS[method].title, exact=True).click()
            first, pace = page.evaluate("window.seen"), page.evaluate(PACE)
        while run.state == "running":
            page.wait_for_timeout(1000)
        times = {event["step"]: event["time"] for event in run.events() if event["event"] == "step"}
        took = times[max(times)] - times[FORMED]
        alone = alone or took
        if method:
            moved, kept = course(run, method)
            print(
                f"{method:5s} first frame {first:6.0f} ms (500), {pace:4.1f} frames/s (5), training "
                f"{100 * (took / alone - 1):+4.0f}% (10), moved {moved:.3f} (.1), kept {kept:.2f} of 10 (4.5)",
                flush=True,
            )


def course(run: Run, method: str) -> tuple[float, float]:
    """The median movement of a map between two frames, in its spreads, and the mean number of neighbors kept."""
    record = run.projection(ProjectionConfig(method=method, follow=True).id)
    frames = [one for one in record.events() if one["event"] == "frame" and one.get("step", 0) >= FORMED]
    maps = [record.positions(one["frame"]) for one in frames]
    moved = [np.median(np.linalg.norm(b - a, axis=1)) / a.std() for a, b in pairwise(maps)]
    return float(np.median(moved)), 10 * statistics.mean(one["faithfulness"]["neighbors_kept"] for one in frames)


def clicks(page: Page, wire: Wire, url: str, run: str) -> None:
    """Click on a point → its neighbors in the inspector."""
    page.goto(f"{url}/?run={run}")
    page.locator(".map[data-ready=true]").wait_for()
    page.wait_for_timeout(4000)
    page.evaluate(HELP)
    page.locator(".map").evaluate("root => { root.map.playback.player.pause(); root.map.playback.seek(1e9); }")
    page.wait_for_timeout(2000)
    waits, sizes = [], []
    for item in range(0, 37 * CLICKS, 37):
        x, y = page.locator(".map").evaluate("(root, item) => root.map.clientOf(item)", item)
        page.mouse.move(x, y)
        page.wait_for_timeout(300)
        before = wire.bytes
        page.evaluate(
            """() => { const old = window.part(".inspector").dataset.subject;
                 window.seen = window.wait("pointerup", ".inspector",
                   (node) => node.dataset.subject !== old && node.dataset.neighbors === "10"); }"""
        )
        page.mouse.down()
        page.mouse.up()
        waits.append(page.evaluate("window.seen"))
        page.wait_for_timeout(500)
        sizes.append(float(wire.since(before)))
    told("click → neighbors on the page", waits, "ms", "40 ms")
    told("bytes of such a change, whole page", sizes, "B ", "")
    assert page.locator(".map").get_attribute("data-mounts") == "1"


def drawings(page: Page, url: str, run: str) -> None:
    """Pen-up → neighbors of the drawing."""
    page.goto(f"{url}/?run={run}")
    page.get_by_role("tab", name="Draw", exact=True).click()
    page.locator(".query-pad[data-ready=true]").wait_for()
    page.wait_for_timeout(4000)
    page.evaluate(HELP)
    waits = []
    for turn in range(DRAWINGS + 1):
        box = page.locator(".query-pad canvas").bounding_box()
        assert box
        for index, (x, y) in enumerate([(0.3, 0.2 + 0.02 * turn), (0.7, 0.2), (0.45, 0.8)]):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=8)
            if index == 0:
                page.mouse.down()
        page.evaluate(
            """() => { window.seen = window.wait("pointerup", ".inspector",
                         (node) => node.dataset.subject === "query" && node.dataset.neighbors === "10"); }"""
        )
        page.mouse.up()
        waits.append(page.evaluate("window.seen"))
        page.wait_for_timeout(700)
        page.get_by_role("button", name="Clear", exact=True).click()
        page.locator(".inspector[data-subject='']").wait_for()
        page.wait_for_timeout(500)
    told("pen-up → neighbors", waits[1:], "ms", "150 ms")


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--dataset", default="mnist" if os.environ.get("DMLVIZ_DATA") else "digits")
    arguments.add_argument("--following", action="store_true")
    chosen = arguments.parse_args()
    dataset = chosen.dataset
    print(f"load of this machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (url, _), sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(120_000)
        if chosen.following:
            following(page, url, dataset, Path(folder))
        else:
            wire = Wire(page)
            visits(browser, url)
            run = trainings(page, url, dataset)
            clicks(page, wire, url, run)
            drawings(page, url, run)
        browser.close()
    print(f"\nload of this machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
