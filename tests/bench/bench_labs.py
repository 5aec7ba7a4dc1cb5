"""Labs, in a real browser: the way from Explore to the index, and from a guess in a lab to its ready-made figure.

Each is done ROUNDS times on one server; the first warms it and is left out: `python tests/bench/bench_labs.py`.
"""

import shutil
import statistics
import tempfile
from pathlib import Path

from bench_page import ARGUMENTS, HELP
from playwright.sync_api import Page, sync_playwright
from visitors import serving

from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS

ROUNDS = 4


def opening(page: Page, url: str) -> float:
    """Return the milliseconds from a click on Labs, on Explore, to the picture of the last lab of the index."""
    page.goto(url)
    page.locator(".map[data-ready=true]").wait_for()
    page.wait_for_timeout(2000)  # until nothing else is fetched
    page.evaluate(HELP)
    page.evaluate('() => { window.seen = window.wait("pointerup", ".card-index li:last-child img", () => true); }')
    page.get_by_role("link", name="Labs", exact=True).first.click()
    return float(page.evaluate("window.seen"))


def figure(page: Page, url: str, name: str) -> float:
    """Return the milliseconds from the guess in a lab to its first figure."""
    page.goto(f"{url}/labs?lab={name}")
    guess = page.get_by_role("button", name=LABS[name].guess.options[0], exact=True)
    guess.wait_for()
    page.wait_for_timeout(2000)  # until a person has read the question
    page.evaluate(HELP)
    page.evaluate('() => { window.seen = window.wait("pointerup", ".st-key-lab-open .main-svg", () => true); }')
    guess.click()
    return float(page.evaluate("window.seen"))


def main() -> None:
    """Print the median and the worst of each."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"), args=ARGUMENTS
        )
        ways = {"Labs": lambda page: opening(page, url)} | {
            name: lambda page, name=name: figure(page, url, name) for name in LABS if ready_made(name)
        }
        for name, way in ways.items():
            times = []
            for _ in range(ROUNDS):  # each in a session of its own, which has guessed nothing
                page = browser.new_page(viewport={"width": 1280, "height": 720})
                times.append(way(page))
                page.close()
            spread = f"worst {max(times[1:]):7.0f} ms"
            print(f"{name:22s} median {statistics.median(times[1:]):7.0f} ms   {spread}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
