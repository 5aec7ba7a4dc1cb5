"""From the button Run of each lab to the first point of its figure, in a real browser.

Quick size, on digits where the lab takes them. The first number is when the page says that the study runs, the second
when its figure has a first point. Times are taken inside the page. Run: `python tests/bench/bench_labs.py [LAB...]`.
"""

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from bench_page import ARGUMENTS
from playwright.sync_api import Page, sync_playwright
from visitors import serving

from dmlviz.labs.registry import LABS

# Milliseconds from the click on Run until the page says that the study runs, and until its figure has a point.
WAIT = """() => new Promise((done) => {
  let began = null, said = null;
  addEventListener("pointerup", (event) => (began = event.timeStamp), { once: true, capture: true });
  const look = () => {
    if (began !== null) {
      const now = performance.now() - began, words = document.body.innerText;
      if (said === null && /\\d+ of \\d+ trials, about/.test(words)) said = now;
      const point = document.querySelector(".st-key-lab-open .main-svg :is(.point, .scatterlayer .js-line, .hm image)");
      if (/Your own results/.test(words) && point) return done([said ?? now, now]);
    }
    requestAnimationFrame(look);
  };
  look();
})"""


def first_point(page: Page, url: str, lab: str) -> tuple[float, float]:
    """Run a lab until its figure has a point, then stop it; seconds until it runs and until the point."""
    datasets = LABS[lab].datasets
    dataset = "digits" if "digits" in datasets else datasets[0]
    page.goto(f"{url}/labs?lab={lab}&data={dataset}&size=quick&guess=1")
    run = page.get_by_role("button", name="Run", exact=True).or_(page.get_by_role("button", name="Run again"))
    run.wait_for()
    page.locator(".st-key-lab-open .main-svg").first.wait_for()  # the ready-made results stand
    page.evaluate(f"() => {{ window.seen = ({WAIT})(); }}")
    run.click()
    said, seen = page.evaluate("window.seen")
    stop = page.get_by_role("button", name="Stop", exact=True)
    if stop.count():
        stop.first.click()
        page.get_by_role("button", name="Go on", exact=True).or_(run).first.wait_for()
    return said / 1000, seen / 1000


def main() -> None:
    """Print a row for each lab."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*", default=[*LABS])
    parser.add_argument("--times", type=int, default=3, help="how often each lab is run (default: 3)")
    arguments = parser.parse_args()
    print(f"load of this machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    times: dict[str, list[tuple[float, float]]] = {lab: [] for lab in arguments.labs}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium-headless-shell"), args=ARGUMENTS)
        for _ in range(arguments.times):  # each time on a new server, which knows no study yet
            with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (url, _):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.set_default_timeout(120_000)
                page.goto(f"{url}/labs")
                page.wait_for_timeout(5000)  # until a worker is warm
                for lab in arguments.labs:
                    times[lab].append(first_point(page, url, lab))
                    print(".", end="", flush=True)
                page.close()
        browser.close()
    print()
    for lab, seen in times.items():
        said, point = (statistics.median(values) for values in zip(*seen, strict=True))
        print(f"{lab:20s} runs after {said:5.1f} s   first point after {point:5.1f} s   to be: 2 s", flush=True)
    print(f"\nload of this machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
