"""Stop, in a real browser: from the click to the words "Stopped at step …", to the last frame, and to all scores.

Trains MNIST with the default settings on one server, and stops it in the middle of things, ROUNDS times with another
seed. Run with DMLVIZ_DATA set: `python tests/bench/bench_stop.py`.
"""

import os
import tempfile
import time
from pathlib import Path
from statistics import median

from bench_page import ARGUMENTS
from playwright.sync_api import Page, sync_playwright
from visitors import serving

from dmlviz.runs.run import Run

ROUNDS = 5
MOMENTS = {"said": "the page says so", "all": "all test images are on the map", "over": "all scores are there"}
WATCH = """(button) => {
  const root = button.closest(".progress");
  const words = root.querySelector(".words");
  window.stopped = { clicked: performance.now() };
  const note = () => {
    stopped.said ??= words.textContent.startsWith("Stopped at") ? performance.now() : undefined;
    stopped.over ??= root.dataset.phase === "stopped" ? performance.now() : undefined;
  };
  const look = () => {
    stopped.all ??= mapRoot.map.playback.timeline.replay ? performance.now() : undefined;
    if (!stopped.all) requestAnimationFrame(look);
  };
  look();
  new MutationObserver(note).observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
  button.click();
}"""


def stop_once(page: Page, url: str, seed: int) -> tuple[list[float], str]:
    """Return the seconds from the click to each of MOMENTS, and the id of the run."""
    page.goto(f"{url}/?dataset=mnist&steps=5000&seed={seed}")
    page.locator(".map[data-ready=true]").wait_for()
    page.locator(".st-key-train button").click()
    page.wait_for_url("**run=*", wait_until="commit")
    page.locator(".progress .words", has_text="loss").wait_for(timeout=90_000)
    time.sleep(2 + seed % 3 / 2)
    page.locator(".map").evaluate("(root) => { window.mapRoot = root; }")
    page.locator(".progress button.stop").evaluate(WATCH)
    page.locator(".progress[data-phase=stopped]").wait_for(timeout=60_000)
    times = page.evaluate("window.stopped")
    run = page.url.partition("run=")[2][:16]
    return [(times[name] - times["clicked"]) / 1000 for name in MOMENTS], run


def main() -> None:
    """Measure, and print one line a round."""
    rounds = []
    with (
        tempfile.TemporaryDirectory(prefix="dmlviz-stop-") as folder,
        serving(Path(folder)) as (url, *_),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for seed in range(ROUNDS):
            seconds, name = stop_once(page, url, seed)
            run = Run(Path(folder) / name)
            assert run.embeddings is not None
            assert (run.end or {})["event"] == "stopped"
            rounds.append(seconds)
            times = ", ".join(f"{moment} {value:.2f} s" for moment, value in zip(MOMENTS, seconds, strict=True))
            print(f"stopped at step {(run.end or {})['step']}: {times}; load {os.getloadavg()[0]:.1f}", flush=True)
        browser.close()
    for words, values in zip(MOMENTS.values(), zip(*rounds, strict=True), strict=True):
        print(f"from the click until {words}: median {median(values):.2f} s, worst {max(values):.2f} s")


if __name__ == "__main__":
    main()
