"""Stop, in a real browser: from the click to the words "Stopped at step …", and to the end with all scores.

Trains MNIST with the default settings on one server, and stops it in the middle of things, ROUNDS times with another
seed. Run with DMLVIZ_DATA set: `python tests/bench/bench_stop.py`.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench_page import ARGUMENTS
from playwright.sync_api import Page, sync_playwright
from visitors import serving

from dmlviz.runs.run import Run

ROUNDS = 5
WATCH = """(button) => {
  const root = button.closest(".progress");
  const words = root.querySelector(".words");
  window.stopped = { clicked: performance.now() };
  const note = () => {
    stopped.said ??= words.textContent.startsWith("Stopped at") ? performance.now() : undefined;
    stopped.over ??= root.dataset.phase === "stopped" ? performance.now() : undefined;
  };
  new MutationObserver(note).observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
  button.click();
}"""


def stop_once(page: Page, url: str, seed: int) -> tuple[float, float, str]:
    """Return the seconds until the page says that it has stopped, those until it is over, and the id of the run."""
    page.goto(f"{url}/?dataset=mnist&steps=5000&seed={seed}")
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_url("**run=*")
    page.locator(".progress .words", has_text="loss").wait_for(timeout=90_000)
    time.sleep(2 + seed % 3 / 2)
    page.locator(".progress button.stop").evaluate(WATCH)
    page.locator(".progress[data-phase=stopped]").wait_for(timeout=60_000)
    times = page.evaluate("window.stopped")
    run = page.url.partition("run=")[2][:16]
    return (times["said"] - times["clicked"]) / 1000, (times["over"] - times["clicked"]) / 1000, run


def main() -> None:
    """Measure, and print one line a round."""
    said, over = [], []
    with (
        tempfile.TemporaryDirectory(prefix="dmlviz-stop-") as folder,
        serving(Path(folder)) as (url, *_),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for seed in range(ROUNDS):
            first, last, name = stop_once(page, url, seed)
            run = Run(Path(folder) / name)
            assert run.embeddings is not None
            assert run.end["event"] == "stopped"
            log = {event["event"]: event["time"] for event in run.events()}
            said.append(first)
            over.append(last)
            print(
                f"stopped at step {run.end['step']}: said after {first:.2f} s, over after {last:.2f} s "
                f"(in the worker {log['stopped'] - log['stopping']:.2f} s), load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        browser.close()
    print(
        f"said: median {median(said):.2f}, worst {max(said):.2f}; "
        f"over: median {median(over):.2f}, worst {max(over):.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
