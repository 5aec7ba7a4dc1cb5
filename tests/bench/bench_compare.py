"""What a person waits for between pages and on Compare: two maps of 10,000 points, a switch from page to page.

Times are taken inside the page: of a switch from the click to the content of the other page, of Compare from the click
on it to both maps. Give a folder with two finished runs of MNIST, with DMLVIZ_DATA set:
`python tests/bench/bench_compare.py --runs FOLDER`.
"""

import argparse
import os
import shutil
from pathlib import Path

from bench_page import ARGUMENTS, told
from playwright.sync_api import Page, sync_playwright
from visitors import serving

TURNS = 6
CONTENT = {"Runs": (".run-list[data-ready=true]", 1), "Explore": (".map[data-ready=true]", 1)}
BOTH = (".map[data-ready=true]", 2)
WAIT = """([name, many]) => {
  const found = (root) => [...root.querySelectorAll("*")].flatMap((node) =>
    [...(node.matches(name) ? [node] : []), ...(node.shadowRoot ? found(node.shadowRoot) : [])]);
  const old = new Set(found(document));
  window.seen = new Promise((done) => {
    let began = null;
    addEventListener("click", (event) => (began = event.timeStamp), { once: true, capture: true });
    const look = () => {
      const here = began === null ? [] : found(document).filter((node) => !old.has(node));
      if (here.length >= many) done(performance.now() - began);
      else requestAnimationFrame(look);
    };
    look();
  });
}"""


def switch(page: Page, name: str, content: tuple[str, int]) -> float:
    """Milliseconds from the click on a page's name to its content."""
    page.evaluate(WAIT, list(content))
    page.get_by_test_id("stPageLink-NavLink").filter(has_text=name).click()
    waited = float(page.evaluate("window.seen"))
    page.wait_for_timeout(2500)
    return waited


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=Path, required=True)
    folder = arguments.parse_args().runs
    print(f"load of this machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    with serving(folder) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(120_000)
        page.goto(url)
        page.locator(".map[data-ready=true]").wait_for()
        page.wait_for_timeout(15_000)  # until a worker is warm
        waits: dict[str, list[float]] = {name: [] for name in ("Runs", "Explore", "Compare")}
        for _turn in range(TURNS):
            waits["Runs"].append(switch(page, "Runs", CONTENT["Runs"]))
            waits["Explore"].append(switch(page, "Explore", CONTENT["Explore"]))
            switch(page, "Runs", CONTENT["Runs"])
            waits["Compare"].append(switch(page, "Compare", BOTH))
        for name in ("Runs", "Explore"):
            told(f"click on {name} → its content", waits[name], "ms", "300 ms")
        told("click on Compare → two maps ready", waits["Compare"], "ms", "1500 ms")
        browser.close()
    print(f"\nload of this machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
