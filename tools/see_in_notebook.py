"""The map in a real JupyterLab: `python tools/see_in_notebook.py PYTHON FOLDER`.

PYTHON is that of an environment with dmlviz[notebook], jupyterlab and nbconvert; pictures go into FOLDER. In Chromium
it runs the cells of a notebook: a map of embeddings, on which images are selected by hand and read in Python, and
pinned in Python and seen on the map; and a training that moves its map. Then the saved notebook is opened again in a
new JupyterLab, with a kernel that knows nothing of it, and with none: both maps play, a click shows neighbors. Last,
nbconvert makes a page of it, which plays without a network. Run by hand: it is no part of the tests.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from see_in_jupyter import ARGUMENTS, CHROMIUM, TOKEN, free_port, started

CELLS = {
    "map": """\
import dmlviz, numpy as np
from sklearn.datasets import load_digits
digits = load_digits()
images = (digits.images[:500] * 15.9).astype(np.uint8)
widget = dmlviz.show(digits.data[:500], digits.target[:500], images, height=320)
widget""",
    "read": "print('selected', widget.selected, 'pinned', widget.pinned)",
    "pin": "widget.pinned = 7; widget.selected = [7, 8, 9]",
    "train": """\
config = dmlviz.TrainConfig(dataset="digits", net="mlp", steps=400, num_snapshots=12)
dmlviz.train(config)""",
}


def notebook(folder: Path) -> Path:
    """A notebook with the cells, not run yet."""
    cells = [
        {"cell_type": "code", "id": name, "source": code, "metadata": {}, "outputs": [], "execution_count": None}
        for name, code in CELLS.items()
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    file = folder / "story.ipynb"
    file.write_text(
        json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    )
    return file


def run_cell(page: Page, number: int) -> Locator:
    """Run a cell as a person does, and return its output."""
    cell = page.locator(".jp-CodeCell").nth(number)
    prompt = cell.locator(".jp-InputPrompt")
    while prompt.inner_text() == "[ ]:":  # a notebook that is still being loaded does not hear it
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(1000)
    expect(prompt).to_have_text(re.compile(r"\[\d+\]"))  # it is over
    return cell.locator(".jp-OutputArea-output").first


def with_a_kernel(page: Page, folder: Path) -> None:
    """Run the cells; select on the map, read in Python; pin in Python, look at the map; train."""
    page.get_by_text("| Idle").wait_for()  # a cell that is run before asks for a kernel
    the_map = run_cell(page, 0).locator(".map")
    expect(the_map).to_have_attribute("data-points", "500")
    the_map.scroll_into_view_if_needed()
    the_map.locator(".overlay").focus()
    page.keyboard.press("b")  # a box on the map; in JupyterLab, a new cell
    expect(page.locator(".jp-CodeCell")).to_have_count(len(CELLS))
    box = the_map.locator(".overlay").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"], steps=8)
    page.mouse.up()
    count = int(the_map.get_attribute("data-selected") or 0)
    assert 5 < count < 500, count
    said = run_cell(page, 1).inner_text()
    print("read in Python:", said[:60], "…")
    assert len(json.loads(said.partition("selected ")[2].partition(" pinned")[0])) == count
    assert said.strip().endswith("pinned None")

    run_cell(page, 2)
    expect(the_map).to_have_attribute("data-pinned", "7")
    expect(the_map).to_have_attribute("data-selected", "3")
    print("set in Python: image 7 is pinned on the map, 3 images are selected")
    the_map.scroll_into_view_if_needed()
    page.screenshot(path=folder / "pinned.png")

    training = run_cell(page, 3).locator(".map")
    steps = set()
    while training.get_attribute("data-state") != "finished":
        steps.add(training.get_attribute("data-step"))
        page.wait_for_timeout(50)
    print("steps seen on the map while it was trained:", sorted(int(step) for step in steps if step))
    assert len(steps) > 2
    expect(page.locator(".jp-CodeCell").nth(3).locator("[data-score=precision_at_1] .value")).to_be_visible()
    training.scroll_into_view_if_needed()
    page.screenshot(path=folder / "trained.png")


def save(page: Page, file: Path) -> None:
    """Save the notebook as a person does; the file holds the contents of each map once."""
    page.keyboard.press("Control+s")
    expect(page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty")).to_have_count(0)
    saved = json.loads(file.read_text())
    assert "widgets" not in saved["metadata"]
    pages = [output for cell in saved["cells"] for output in cell["outputs"] if "text/html" in output.get("data", ())]
    assert len(pages) == 2, [*saved]
    print(f"saved: {file.stat().st_size / 1e6:.1f} MB")


def shown_below(where: Page, number: int) -> Locator:
    """The map on the page below a widget."""
    return where.frame_locator(f".dmlviz-page iframe >> nth={number}").locator(".map")


def opened_again(page: Page, picture: Path) -> None:
    """Look at the maps of the saved notebook, whose cells no kernel has run; click on one, and play the other."""
    first, training = shown_below(page, 0), shown_below(page, 1)
    expect(first).to_have_attribute("data-points", "500")
    expect(page.get_by_text(re.compile("Loading widget|model not found")).filter(visible=True)).to_have_count(0)
    first.locator(".overlay").focus()
    page.keyboard.press("ArrowRight")
    expect(first).to_have_attribute("data-pinned", re.compile(r"\d+"))
    page.locator(".dmlviz-page iframe").nth(1).scroll_into_view_if_needed()  # a frame out of sight stands still
    play(training)
    page.screenshot(path=picture)


def without_a_kernel(page: Page, lab: str, python: str, file: Path, picture: Path) -> None:
    """Open a copy of the notebook that names a kernel that is not there, and choose No Kernel."""
    copy = file.with_name("gone.ipynb")
    kernel = {"name": "gone", "display_name": "Gone", "language": "gone"}
    copy.write_text(json.dumps(json.loads(file.read_text()) | {"metadata": {"kernelspec": kernel}}))
    subprocess.run([python, "-m", "jupyter", "trust", str(copy)], check=True)
    page.goto(f"{lab}/workspaces/gone/tree/{copy.name}?token={TOKEN}")  # with no other notebook beside it
    page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
    opened_again(page, picture)


def by_nbconvert(browser: Browser, python: str, file: Path, picture: Path) -> None:
    """Make a page of the notebook, and look at it without a network."""
    subprocess.run([python, "-m", "nbconvert", "--to", "html", str(file)], check=True, cwd=file.parent)
    page = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True).new_page()
    page.goto(file.with_suffix(".html").as_uri())
    opened_again(page, picture)


def play(the_map: Locator) -> None:
    """Play a finished run from its start, and see it move."""
    slider = the_map.get_by_role("slider", name="Frame", exact=True)
    slider.press("Home")
    expect(the_map).to_have_attribute("data-step", "0")
    the_map.get_by_role("button", name="Play").click()
    expect(the_map).not_to_have_attribute("data-step", "0")


def main() -> None:
    """Do all of it."""
    python, pictures = sys.argv[1], Path(sys.argv[2])
    pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder, port = Path(place), free_port()
        file = notebook(folder)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.set_default_timeout(90_000)
        lab = f"http://localhost:{port}/lab"
        options = ["--no-browser", f"--port={port}", f"--IdentityProvider.token={TOKEN}", "--allow-root"]
        for is_saved in (False, True):
            process = started([python, "-m", "jupyterlab", *options], port, folder)
            try:
                page.goto(f"{lab}/tree/story.ipynb?token={TOKEN}")
                expect(page.locator(".jp-CodeCell")).to_have_count(len(CELLS))
                if is_saved:
                    page.get_by_text("| Idle").wait_for()
                    opened_again(page, pictures / "reopened.png")
                    print("opened again, with a new kernel: both maps, a click, the training plays")
                    without_a_kernel(page, lab, python, file, pictures / "no_kernel.png")
                    print("opened again, with No Kernel: both maps, a click, the training plays")
                else:
                    with_a_kernel(page, pictures)
                    save(page, file)
            except BaseException:
                page.screenshot(path=pictures / "failed.png")
                raise
            finally:
                page.goto("about:blank")
                process.terminate()
                process.wait(20)
        by_nbconvert(browser, python, file, pictures / "nbconvert.png")
        print("as a page of nbconvert, without a network: both maps, a click, the training plays")


if __name__ == "__main__":
    main()
