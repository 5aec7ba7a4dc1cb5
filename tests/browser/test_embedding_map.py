"""The map as a package of its own: on a bare page, and in an app of Streamlit of ten lines."""

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Files

SLOW = 60_000  # milliseconds, on two busy cores

PACKAGE = Path(__file__).resolve().parents[2] / "packages" / "streamlit-embedding-map"
SCRIPT = PACKAGE / "streamlit_embedding_map" / "_frontend" / "embedding_map.js"


@pytest.fixture
def page(page):
    yield page
    assert page.failures == []


@pytest.fixture
def bare_page():
    """The address of the example on any page."""
    with Files(PACKAGE) as server:
        yield f"{server.url}/examples/page.html"
        server.shutdown()


@pytest.fixture(scope="module")
def streamlit_app(tmp_path_factory, until):
    """The address of the example in Streamlit, with ?shrinking of another script; the package is as pip installs it."""
    folder = tmp_path_factory.mktemp("streamlit")
    (folder / "shrinking.py").write_text(SHRINKING, encoding="utf-8")
    (folder / "app.py").write_text(APP.format(example=str(PACKAGE / "examples" / "digits.py")), encoding="utf-8")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=PACKAGE, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listen = ["--server.headless", "true", "--server.address", "127.0.0.1", "--server.port", str(port)]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *listen]
    environment = os.environ | {"PYTHONPATH": str(folder / "site")}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as app:
        try:
            address = f"http://127.0.0.1:{port}"
            until(lambda: _answers(f"{address}/_stcore/health"))
            yield address
        finally:
            app.terminate()
        assert "Traceback" not in app.stderr.read()


def _answers(address):
    try:
        return urllib.request.urlopen(address, timeout=2).status == 200
    except OSError:
        return False


def test_the_script_is_small():
    assert len(gzip.compress(SCRIPT.read_bytes(), 9)) < 250_000


def test_any_page_shows_the_map_and_moves_its_points(page, bare_page):
    page.goto(bare_page)
    page.locator('.map[data-ready="true"]').wait_for(timeout=SLOW)
    page.locator("canvas").first.evaluate("canvas => { canvas.dataset.first = 'yes'; }")
    page.get_by_role("button", name="Turn").click()
    expect(page.get_by_text("step 1")).to_be_visible()
    assert page.locator("canvas").first.get_attribute("data-first") == "yes"  # nothing was mounted anew
    _lasso(page)
    expect(page.locator("#view")).to_have_text(re.compile(r"^[1-9]\d* selected"))


def test_ten_lines_of_streamlit_show_it_and_hear_what_is_chosen(page, streamlit_app):
    page.goto(streamlit_app)
    page.locator('.map[data-ready="true"]').wait_for(timeout=SLOW)
    expect(page.get_by_text("0 selected, pinned: None")).to_be_visible()
    _lasso(page)
    expect(page.get_by_text(re.compile(r"^[1-9]\d* selected, pinned: None"))).to_be_visible()
    expect(page.get_by_text("step 0", exact=True)).to_be_visible()  # the script ran again, with the same points
    page.locator("canvas").first.evaluate("canvas => { canvas.dataset.first = 'yes'; }")
    page.get_by_role("slider", name="First component").press("ArrowRight")
    expect(page.get_by_text("step 1", exact=True)).to_be_visible()
    assert page.locator("canvas").first.get_attribute("data-first") == "yes"
    expect(page.get_by_text(re.compile(r"^[1-9]\d* selected"))).to_be_visible()  # the selection stays


APP = """
import runpy, streamlit as st
runpy.run_path("shrinking.py" if "shrinking" in st.query_params else {example!r}, run_name="__main__")
"""
SHRINKING = """
import numpy as np, streamlit as st
from streamlit_embedding_map import embedding_map
rows = np.arange(199, 99, -1) if st.checkbox("fewer") else np.arange(200)
xy = np.random.default_rng(0).normal(size=(200, 2))[rows]
by_id = embedding_map(xy, ids=rows, key="ids", height=250)
by_row = embedding_map(xy, key="rows", height=250)
for name, chosen in (("ids", rows[by_id.selected]), ("rows", np.array(by_row.selected, int))):
    st.write(f"{name}: {len(chosen)} selected, {sorted(chosen.tolist())}")
embedding_map(xy[:0], key="none", height=250)
n = 130_000
near = (np.tile([0.1, 0.2], (n, 1)), np.stack([(np.arange(n) + i) % n for i in (1, 2)], 1))
embedding_map(np.random.default_rng(0).normal(size=(n, 2)), neighbors=near, key="many", height=250)
"""


def test_a_selection_follows_its_points_and_python_is_told(page, streamlit_app):
    page.goto(f"{streamlit_app}/?shrinking")
    maps = page.locator(".map")
    page.locator('.map[data-ready="true"]').nth(2).wait_for(timeout=SLOW)  # with many neighbors, too
    expect(maps.nth(2)).to_contain_text("No points")
    expect(page.get_by_text("Click a point to see its nearest neighbors")).to_have_count(1)  # where there are some
    said = [page.get_by_text(re.compile(rf"^{name}: [1-9]\d* selected")) for name in ("ids", "rows")]
    before = []
    for number in (0, 1):
        _lasso(maps.nth(number), page)
        before.append(json.loads(said[number].inner_text().partition("selected, ")[2]))
    page.get_by_text("fewer", exact=True).click()
    left = [[row for row in before[0] if row >= 100], [row for row in before[1] if row < 100]]
    assert all(map(len, left))
    for number, rows in enumerate(left):
        expect(said[number]).to_have_text(re.compile(re.escape(f"{len(rows)} selected, {rows}") + "$"))
        label = re.compile(f", {len(rows)} selected")  # the map shows what Python was told
        expect(maps.nth(number).locator('[role="application"]')).to_have_attribute("aria-label", label)


def _lasso(area, page=None):
    """Draw a lasso around the middle of the map in `area`."""
    page = page or area
    area.get_by_role("button", name="Lasso").click()
    box = area.locator("canvas").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    width, height = (150, 120) if page is area else (40, 30)
    page.mouse.move(x - width, y - height)
    page.mouse.down()
    for dx, dy in ((1, -1), (1, 1), (-1, 1), (-1, -1)):
        page.mouse.move(x + dx * width, y + dy * height, steps=4)
    page.mouse.up()
