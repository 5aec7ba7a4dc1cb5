"""A training in the tab: first frame, long tasks of the page, steps and frames a second, score in time, memory.

A site is written and served by Python's file server; Chromium trains on it, several times with a new page each. Times
run from the click on Train; a long task is what keeps the page's own thread for more than 50 ms, by the browser's
PerformanceObserver, and by the processor time that it takes, which a busy machine does not blur; memory is what the
page's process has to itself. Run with DMLVIZ_DATA set:
`python tests/bench/bench_playground.py` (all), `--quick` (digits only), `--site DIR` (a site that is written already).
"""

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from bench_page import ARGUMENTS, HELP, told
from playwright.sync_api import Browser, Page, sync_playwright

from dmlviz.export.site import write_site

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

PAGES = 3
FOLLOW = """() => {
  window.tasks = [];
  window.shown = [];
  new PerformanceObserver((list) => list.getEntries().forEach(({ startTime, duration }) =>
    tasks.push([startTime, duration]))).observe({ type: "longtask" });
  addEventListener("click", ({ timeStamp }) => (window.clicked ??= timeStamp), { capture: true });
  const look = () => {
    const step = window.clicked && part(".map")?.map?.playback.shown?.step;
    if (step > 0 && step !== window.shown.at(-1)?.[1]) shown.push([performance.now(), step]);
    requestAnimationFrame(look);
  };
  look();
}"""
ENDED = """() => new Promise((tell) => setInterval(() => {
  const said = part("p.status").textContent;
  const [, done, step, score] = /^(Trained|Trains).*step ([\\d,]+) of .*P@1 ([\\d.]+)/.exec(said) ?? [];
  if (score >= 0.95) window.reached ??= performance.now() - clicked;
  if (done === "Trained") tell(Number(step.replace(",", "")));
}, 20))"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the playground of a site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/playground/index.html"
    server.shutdown()


def own_memory(browser: Browser) -> float:
    """Megabytes that the largest process of pages has to itself."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    sizes = []
    for process in processes:
        if process["type"] == "renderer":
            text = Path(f"/proc/{process['id']}/smaps_rollup").read_text(encoding="utf-8")
            sizes.append(sum(int(size) for size in re.findall(r"Private_\w+:\s+(\d+) kB", text)) / 1024)
    return max(sizes)


def busiest(trace: bytes) -> float:
    """Milliseconds of processor time that the longest task of a page's own thread took."""
    events = json.loads(trace)["traceEvents"]
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name" and "Renderer" in e["args"]["name"]}
    tasks = (e for e in events if e["name"].endswith("RunTask") and (e["pid"], e["tid"]) in threads)
    return max(float(task.get("tdur", 0)) / 1000 for task in tasks)


def training(browser: Browser, address: str, query: str) -> dict[str, float]:
    """Train once in a new page."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, service_workers="block")
    page: Page = context.new_page()
    page.goto(f"{address}?{query}")
    page.evaluate(HELP)
    page.locator("button.train:enabled").wait_for()
    page.wait_for_timeout(1500)  # a person reads before the click
    page.evaluate(FOLLOW)
    browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    page.locator("button.train").click()
    steps = page.evaluate(ENDED)
    seen = page.evaluate("({ clicked, shown, tasks, reached: window.reached ?? NaN, end: performance.now() })")
    memory = own_memory(browser)
    processor = busiest(browser.stop_tracing())
    context.close()
    first = seen["shown"][0][0]
    seconds = (seen["end"] - first) / 1000
    tasks = [duration for start, duration in seen["tasks"] if start >= seen["clicked"]]
    return {
        "first frame": first - seen["clicked"],
        "longest task": max(tasks, default=0),
        "processor": processor,
        "long tasks": len(tasks),
        "steps/s": steps / seconds,
        "frames/s": (len(seen["shown"]) - 1) / seconds,
        "P@1 of .95": seen["reached"],
        "memory": memory,
    }


TOLD = {
    "first frame": ("click → first frame", "ms", "300 ms"),
    "longest task": ("longest task of the page", "ms", "50 ms"),
    "processor": ("  its processor time at most", "ms", "50 ms"),
    "long tasks": ("tasks over 50 ms", "", "0"),
    "steps/s": ("steps a second", "/s", "25 /s at least"),
    "frames/s": ("frames a second", "/s", "10 /s at least"),
    "P@1 of .95": ("click → P@1 of .95 on validation images", "ms", "5 s on digits, 30 s on MNIST"),
    "memory": ("memory of the page's process", "MB", "300 MB"),
}


def main(folder: Path, queries: list[str], pages: int) -> None:
    """Tell the figures of each training."""
    with sync_playwright() as playwright, served(folder) as address:
        for query in queries:
            found = []
            for _ in range(pages):
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"), args=ARGUMENTS
                )
                found.append(training(browser, address, query))
                browser.close()
            print(query)
            for name, (words, unit, limit) in TOLD.items():
                told(f"  {words}", [each[name] for each in found], unit, limit)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages", type=int, default=PAGES)
    options = parser.parse_args()
    wanted = ["data=digits&net=mlp&steps=300", "data=digits&net=small&loss=triplet&steps=300"]
    if not options.quick:
        wanted.append("data=mnist&net=small&steps=300")
    with tempfile.TemporaryDirectory() as temporary:
        place = options.site or Path(temporary) / "site"
        if options.site is None:
            write_site(place, [], playground=["digits"] if options.quick else ["digits", "mnist"])
        main(place, wanted, options.pages)
