"""Takes the pictures of the documentation from the running app: `python scripts/make_picture.py [NAME ...]`.

The film: a browser opens the first page, whose ready-made run plays; then an image is pinned and its neighbors come,
and a digit is drawn and lands among its own. The pictures: each page of the app in the light theme and, right of it, in
the dark one; the site shows the one that fits. Only the digits that come with the program are seen.
"""

import io
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from dmlviz.labs.registry import LABS
from dmlviz.runs.store import Runs

PICTURE = Path(__file__).resolve().parent.parent / "assets" / "playing.webp"
WINDOW: ViewportSize = {"width": 1280, "height": 720}
WIDTH = 900  # pixels of the moving picture
PAGES = PICTURE.parent / "pages"
PAGE_WIDTH = 1000  # pixels of one theme
PINNED = 5
STEPS = (0, 5, 15, 30, 50, 80, 120, 170, 230, 300, 400, 550, 700, 900)
SHOWN = 280  # milliseconds a frame
LEFT_STANDING = 2600
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@contextmanager
def served(folder: str, *options: str) -> Iterator[str]:
    """Yield the address of the app with no runs but those that come with it, and no data but the digits."""
    command = [
        sys.executable,
        "-m",
        "dmlviz",
        "serve",
        "--port",
        "0",
        "--no-browser",
        "--runs",
        folder,
        "--data",
        folder,
        *options,
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}, cwd=folder
    )
    assert process.stdout is not None
    try:
        yield next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
    finally:
        process.terminate()
        process.communicate(timeout=20)


def film(page: Page) -> list[Image.Image]:
    """Record a video: the run from its first step to its last, then a pinned image, then a drawing."""
    frames = []

    def take() -> None:
        page.wait_for_timeout(600)
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))

    for step in STEPS:
        page.locator(".map").evaluate("(root, step) => root.map.playback.seekStep(step)", step)
        take()
    x, y = page.locator(".map").evaluate("(root, item) => root.map.clientOf(item)", PINNED)
    page.mouse.click(x, y)
    page.locator(".inspector[data-neighbors='10']").wait_for()
    page.mouse.move(WINDOW["width"] - 4, WINDOW["height"] - 4)
    take()
    page.get_by_role("tab", name="Draw", exact=True).click()
    page.locator(".query-pad[data-ready=true]").wait_for()
    draw_a_zero(page)
    page.locator(".inspector[data-subject=query]").wait_for()
    take()
    return frames


def draw_a_zero(page: Page) -> None:
    """Draw a zero on the pad, with the mouse."""
    box = page.locator(".query-pad canvas").bounding_box()
    assert box is not None
    for turn in range(25):
        x, y = 0.5 + 0.2 * math.cos(turn * math.tau / 24), 0.5 + 0.32 * math.sin(turn * math.tau / 24)
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if turn == 0:
            page.mouse.down()
    page.mouse.up()


def explore(page: Page) -> None:
    """Pin an image on the map of the first page."""
    page.wait_for_timeout(3000)
    x, y = page.locator(".map").evaluate("(root, item) => root.map.clientOf(item)", PINNED)
    page.mouse.click(x, y)
    page.locator(".inspector[data-neighbors='10']").wait_for()
    page.mouse.move(WINDOW["width"] - 4, WINDOW["height"] - 4)


def batch(page: Page) -> None:
    """Open what the loss sees."""
    page.locator(".lossview .bar").get_by_role("button", name="What the loss sees").click()
    page.locator(".lossview .batch[data-batch]").wait_for()
    for _ in range(5):  # to a batch that has terms
        page.locator(".lossview .batch").get_by_role("slider").press("ArrowLeft")
        page.wait_for_timeout(1500)


def lab(page: Page) -> None:
    """Guess, and see the ready-made figure."""
    page.get_by_text("Guess first: the figure is covered until then.").wait_for()
    page.get_by_role("button", name=LABS["margins"].guess.options[0], exact=True).click()
    figure = page.locator(".st-key-lab-open .main-svg").first
    figure.wait_for()
    figure.scroll_into_view_if_needed()


def clean(page: Page) -> None:
    """Look through the training images."""
    page.locator(".review").wait_for()
    if page.locator(".review[data-ready=true]").count() == 0:
        page.get_by_role("button", name="Look through the training images").click()
    page.locator(".review .row").first.wait_for()


def classroom(page: Page) -> None:
    """Open a class."""
    if page.locator(".board").count() == 0:
        page.get_by_label("Title").fill("Monday")
        page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".board[data-ready=true]").wait_for()


def pages(browser: Browser, url: str, school: str, folder: str, names: list[str]) -> None:
    """Take each page in both themes; a class, on a server that several people use."""
    good = [run for run in Runs(folder).list() if not run.info.get("fails")]
    plane, circle = (next(run.id for run in good if word in run.title) for word in ("plane", "circle"))
    noisy = train(folder)
    asked: dict[str, tuple[str, Callable[[Page], None]]] = {
        "explore": (f"?run={plane}", explore),
        "batch": (f"?run={plane}", batch),
        "learn": ("learn?loss=triplet", lambda page: page.mouse.wheel(0, 330)),
        "labs": ("labs?lab=margins&dataset=digits", lab),
        "runs": ("runs", lambda page: None),
        "compare": (f"compare?a={plane}&b={circle}", lambda page: None),
        "clean": (f"clean?run={noisy}", clean),
        "class": ("class", classroom),
    }
    PAGES.mkdir(exist_ok=True)
    for name, (address, prepare) in asked.items():
        if name not in names and "pages" not in names:
            continue
        both = Image.new("RGB", (2 * PAGE_WIDTH, round(PAGE_WIDTH * WINDOW["height"] / WINDOW["width"])))
        for number in range(2):
            theme: Literal["light", "dark"] = "dark" if number else "light"
            context = browser.new_context(viewport=WINDOW, reduced_motion="reduce", color_scheme=theme)
            context.add_init_script('if (location.protocol === "http:") localStorage.setItem("dmlviz.visited", "yes")')
            page = context.new_page()
            page.set_default_timeout(90_000)
            page.goto(f"{school if name == 'class' else url}/{address}")
            page.wait_for_timeout(4000)
            prepare(page)
            page.wait_for_timeout(3000)
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            both.paste(taken.resize((PAGE_WIDTH, both.height), Image.Resampling.LANCZOS), (number * PAGE_WIDTH, 0))
            context.close()
        both.save(PAGES / f"{name}.webp", quality=72, method=6)
        print(f"{name}.webp: {(PAGES / f'{name}.webp').stat().st_size / 1e3:.0f} kB")


def train(folder: str) -> str:
    """Train a net on digits with wrong labels; the ID of its run."""
    command = [sys.executable, "-m", "dmlviz", "train", "--runs", folder, "--data", folder, "--dataset", "digits"]
    subprocess.run([*command, "--label-noise", "0.05", "--steps", "150"], check=True, stdout=subprocess.DEVNULL)
    return next(run.id for run in Runs(folder).list() if run.config.label_noise)


def save_film(frames: list[Image.Image]) -> None:
    """Write the moving picture."""
    small = [
        frame.resize((WIDTH, round(WIDTH * frame.height / frame.width)), Image.Resampling.LANCZOS) for frame in frames
    ]
    shown = [SHOWN] * (len(small) - 3) + [LEFT_STANDING // 2, LEFT_STANDING, LEFT_STANDING]
    small[0].save(PICTURE, save_all=True, append_images=small[1:], duration=shown, loop=0, quality=72, method=6)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    """Write the film and the pictures, or what is named: `film`, `pages`, or pages."""
    asked = sys.argv[1:] or ["film", "pages"]
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, served(folder) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        if "film" in asked:
            page = browser.new_context(viewport=WINDOW, reduced_motion="reduce").new_page()
            page.goto(url)
            page.locator(".map[data-ready=true]").wait_for()
            page.wait_for_timeout(3000)
            save_film(film(page))
        if asked != ["film"]:
            with tempfile.TemporaryDirectory() as other, served(other, "--shared") as school:
                pages(browser, url, school, folder, asked)
        browser.close()


if __name__ == "__main__":
    main()
