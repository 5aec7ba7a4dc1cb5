"""Takes the README's moving picture of the app as it is: `python scripts/make_picture.py`, where the tests can run.

A browser opens the first page, whose ready-made run plays; then an image is pinned and its neighbors come, and a digit
is drawn and lands among its own. Only the digits that come with the program are seen.
"""

import io
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

PICTURE = Path(__file__).resolve().parent.parent / "assets" / "playing.webp"
WINDOW: ViewportSize = {"width": 1280, "height": 720}
WIDTH = 900  # pixels of the moving picture
PINNED = 5
STEPS = (0, 5, 15, 30, 50, 80, 120, 170, 230, 300, 400, 550, 700, 900)
SHOWN = 280  # milliseconds a frame
LEFT_STANDING = 2600
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@contextmanager
def served(folder: str) -> Iterator[str]:
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


def main() -> None:
    """Write the picture."""
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, served(folder) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_context(viewport=WINDOW, reduced_motion="reduce").new_page()
        page.goto(url)
        page.locator(".map[data-ready=true]").wait_for()
        page.wait_for_timeout(3000)
        frames = film(page)
        browser.close()
    small = [
        frame.resize((WIDTH, round(WIDTH * frame.height / frame.width)), Image.Resampling.LANCZOS) for frame in frames
    ]
    shown = [SHOWN] * (len(small) - 3) + [LEFT_STANDING // 2, LEFT_STANDING, LEFT_STANDING]
    small[0].save(PICTURE, save_all=True, append_images=small[1:], duration=shown, loop=0, quality=72, method=6)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
