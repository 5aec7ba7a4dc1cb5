"""The app in a real JupyterLab: `python tools/see_in_jupyter.py PYTHON PICTURE.png`.

PYTHON is that of an environment with dmlviz, jupyterlab and jupyter-server-proxy. It starts JupyterLab below a path,
opens the app from the launcher in Chromium, trains in it, takes a picture, and does the same with `jupyter
standaloneproxy` where jupyterhub is installed. Run by hand: it is no part of the tests.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Frame, Page, expect, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
TOKEN = "see-in-jupyter"
expect.set_options(timeout=40_000)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def started(command: list[str], port: int, folder: Path) -> subprocess.Popen:
    """A process of Jupyter that listens on `port`; what it prints goes into `folder`."""
    environment = os.environ | {"DMLVIZ_RUNS": str(folder / "runs"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    with open(folder / f"{command[2]}.log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
    for _ in range(600):
        with socket.socket() as there:
            if there.connect_ex(("127.0.0.1", port)) == 0:
                return process
        assert process.poll() is None, Path(log.name).read_text()
        time.sleep(0.1)
    raise AssertionError(Path(log.name).read_text())


def train(where: Page | Frame, base: str, requests: list[str]) -> None:
    """Train in the app, and see that all it asks for lies below its base."""
    expect(where.locator(".map")).to_have_attribute("data-ready", "true")
    where.get_by_role("button", name="Train", exact=True).first.click()
    where.wait_for_url(re.compile("[?&]run="))
    expect(where.locator(".map")).to_have_attribute("data-run", where.url.partition("run=")[2][:16])
    expect(where.locator(".map")).to_have_attribute("data-state", "finished")
    expect(where.locator(".map")).to_have_attribute("data-points", "596")
    routes = [url for url in requests if re.search("dmlviz/(frames|runs|data)/|_stcore/", url)]
    assert any(url.endswith(".i16") for url in routes)
    assert all(url.startswith(base) for url in routes), [url for url in routes if not url.startswith(base)]
    print(f"{len(routes)} requests below {base}, one map trained")


def in_the_lab(page: Page, python: str, folder: Path, picture: str) -> None:
    """Open the app from JupyterLab's launcher."""
    port, errors, requests = free_port(), [], []
    page.on("console", lambda message: errors.append(message.text) if "dmlviz" in message.location["url"] else None)
    page.on("request", lambda request: requests.append(request.url))
    options = ["--no-browser", f"--port={port}", "--ServerApp.base_url=/hub/ann/", f"--IdentityProvider.token={TOKEN}"]
    process = started([python, "-m", "jupyterlab", *options, "--allow-root"], port, folder)
    try:
        page.goto(f"http://localhost:{port}/hub/ann/lab?token={TOKEN}&reset")
        page.locator(".jp-LauncherCard", has_text="dmlviz").click()
        page.locator("iframe[src*='/hub/ann/dmlviz']").wait_for()
        frame = page.frame(url="**/hub/ann/dmlviz/**")
        expect(page.frame_locator("iframe[src*='/hub/ann/dmlviz']").locator(".map")).to_be_visible()
        frame = page.frame(url="**/hub/ann/dmlviz/**")
        assert frame is not None
        frame.goto(f"http://localhost:{port}/hub/ann/dmlviz/?dataset=digits&net=mlp&steps=60")
        train(frame, f"http://localhost:{port}/hub/ann/dmlviz/", requests)
        page.wait_for_timeout(1000)
        page.screenshot(path=picture)
        print("errors in the console:", errors)
    finally:
        process.terminate()
        process.wait(20)


def by_itself(page: Page, python: str, folder: Path) -> None:
    """Open the app as `jupyter standaloneproxy` shows it in the place of a person's own server in JupyterHub."""
    port, requests = free_port(), []
    page.on("request", lambda request: requests.append(request.url))
    serve = [python, "-m", "dmlviz", "serve", "--no-browser", "--port", "{port}"]
    serve += ["--base-path", "{base_url}", "--allowed-host", "*"]
    options = ["--no-authentication", f"--port={port}", "--base-url=/user/ann", "--absolute-url", "--timeout=60"]
    command = [python, "-m", "jupyter", "standaloneproxy", *options, "--", *serve]
    process = started(command, port, folder)
    try:
        page.goto(f"http://127.0.0.1:{port}/user/ann/?dataset=digits&net=mlp&steps=61")
        train(page, f"http://127.0.0.1:{port}/user/ann/", requests)
    finally:
        process.terminate()
        process.wait(20)


def main() -> None:
    """Do both."""
    python, picture = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        context.set_default_timeout(90_000)
        in_the_lab(context.new_page(), python, Path(folder), picture)
        by_itself(context.new_page(), python, Path(folder))


if __name__ == "__main__":
    main()
