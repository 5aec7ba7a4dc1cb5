"""A static site in Chromium: its own net gives what torch gives, and a drawing finds its neighbors without a server."""

import json
from base64 import b64decode, b64encode

import numpy as np
import pytest
from playwright.sync_api import expect

from dmlviz import data
from dmlviz.cli.docs import whole_page
from dmlviz.data.query_image import prepare
from dmlviz.errors import UserError
from dmlviz.export import RunExport
from dmlviz.export.contents import LessonExport
from dmlviz.export.page_contents import page_contents
from dmlviz.export.site import MAX_BYTES, write_site
from dmlviz.lessons import LESSONS
from dmlviz.runs.embed import embed
from dmlviz.runs.explanations import occlusion_maps
from dmlviz.runs.store import Runs
from tests.browser.conftest import Files
from tests.browser.person import ONE, drag

RUN = "476b1d8df4e46879"  # comes with the program: digits, `small`, in the plane


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a site with one run, lesson and lab, as a plain file server hands it out, and its folder."""
    folder = tmp_path_factory.mktemp("public") / "site"
    run = Runs(tmp_path_factory.mktemp("runs")).get(RUN)
    export = RunExport.from_run(run)
    lesson = LessonExport(LESSONS["why-mining"], (export, export))
    assert write_site(folder, [export], ["recall"], "Two <things>", [lesson]) == []
    server = Files(folder)
    yield server.url, folder
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(page):
    page.on("console", lambda message: page.failures.append(message.text) if message.type == "error" else None)
    return page


IN_PAGE = """async ([name, text, side]) => {
  const site = await import("../script.js");
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  if (name === "prepare") return Array.from(site.prepareDrawing(bytes, side));
  const net = await site.loadNet();
  if (name === "few") {
    net.data.calibration.disagreement.length = 3; // of a run with three test images of a class
    return net.answer(bytes, side).near.length;
  }
  if (name === "parts") return net.parts([bytes.subarray(0, bytes.length / 2), bytes.subarray(bytes.length / 2)]).maps;
  return Array.from(net.embed(bytes));
}"""


def encoded(array):
    return b64encode(np.ascontiguousarray(array).tobytes()).decode()


def drawing(seed):
    """A few thick strokes on 56 × 56 pixels."""
    draw = np.random.default_rng(seed)
    ink = np.zeros((56, 56))
    rows, columns = np.mgrid[:56, :56]
    for x0, y0, x1, y1 in draw.uniform(8, 48, (3, 4)):
        for share in np.linspace(0, 1, 60):
            x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
            ink = np.maximum(ink, np.clip(2.6 - np.hypot(columns - x, rows - y), 0, 1))
    return np.rint(255 * ink).astype(np.uint8)


def test_a_drawing_is_prepared_and_embedded_in_the_page_as_by_python(site, page):
    address, folder = site
    run = Runs(folder.parent / "runs").get(RUN)
    page.goto(f"{address}/runs/{RUN}.html")
    for seed in range(3):
        ink = drawing(seed)
        expected = prepare(ink, run.config.dataset).image
        prepared = np.array(page.evaluate(IN_PAGE, ["prepare", encoded(ink), 56]), np.uint8)
        np.testing.assert_allclose(prepared.astype(int), expected.ravel(), atol=1)  # a gray level, by rounding
        embedding = page.evaluate(IN_PAGE, ["embed", encoded(expected), 0])
        np.testing.assert_allclose(embedding, embed(run, expected[None])[0], atol=1e-4)
    pair = data.load(run.config.dataset).test.images[[7, 42]]
    changes = occlusion_maps(lambda images: embed(run, images), pair)
    shown = [np.frombuffer(b64decode(one), np.int8) for one in page.evaluate(IN_PAGE, ["parts", encoded(pair), 0])]
    np.testing.assert_allclose(np.reshape(shown, pair.shape), 127 * changes / np.abs(changes).max(), atol=0.6)

    assert page.evaluate(IN_PAGE, ["few", encoded(drawing(0)), 56]) == 3
    page.reload()
    box = page.locator(".query-pad canvas").bounding_box()
    assert page.locator(".query-pad .hint").bounding_box()["width"] > 0.9 * box["width"]  # not a word a line beside it
    drag(page.locator(".query-pad canvas"), *ONE)
    page.locator(".inspector").get_by_text("of 10 neighbors are of class 1").wait_for()
    page.get_by_text("Why is it near to the nearest test image?").click()
    page.locator("figure.parts canvas").nth(2).wait_for()  # the drawing, and a map on each
    assert page.failures == []
    assert all(url.startswith((address, "blob:", "data:")) for url in page.asked)


FILE_IN_PAGE = """async (file) => {
  const text = (value) =>
    value instanceof Uint8Array ? btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join("")) : value;
  return JSON.stringify(await (await import("../script.js")).unpack(file), (_, value) => text(value));
}"""


def test_the_page_reads_what_the_run_holds(site, page):
    address, folder = site
    page.goto(f"{address}/runs/{RUN}.html")
    read = json.loads(page.evaluate(FILE_IN_PAGE, f"{RUN}.bin"))
    kept = page_contents(RunExport(Runs(folder.parent / "runs").get(RUN)))
    (shown,), (stream,) = read.pop("streams"), kept.pop("streams")
    assert kept.pop("left_out") == 0
    assert read == kept  # classes, neighbors and distances, byte for byte
    assert (shown["events"], list(shown["frames"])) == (stream["events"], list(stream["frames"]))
    (replay,) = [event for event in stream["events"] if event["event"] == "replay"]
    for name, text in stream["frames"].items():
        positions, exact = (np.frombuffer(b64decode(one), "<i2").astype(int) for one in (shown["frames"][name], text))
        off = 0 if name == replay["frames"][-1]["id"] else 32768 / 4096  # on the way, a fraction of a pixel
        np.testing.assert_allclose(positions, exact, rtol=0, atol=off)


def test_an_old_browser_gets_a_sentence(site, page):
    address, _ = site
    page.add_init_script("delete globalThis.DecompressionStream")
    for place in (f"runs/{RUN}", "labs/recall"):
        page.goto(f"{address}/{place}.html")
        page.get_by_text("This page needs a newer browser: Chrome").first.wait_for()


def test_the_first_page_leads_to_lessons_and_labs(site, page):
    address, folder = site
    page.goto(f"{address}/index.html")
    assert page.locator("h1").inner_text() == "Two <things>"
    page.get_by_role("link", name="Recall at k").click()
    page.locator(".plot .main-svg").first.wait_for()
    page.go_back()
    page.get_by_role("link", name="Why mining").click()
    task, lesson = page.locator("#task-1"), LESSONS["why-mining"].tasks[0]
    page.locator(".formula math").first.wait_for()
    assert task.get_by_text(lesson.reveal).is_hidden()
    assert not any("/runs/" in url for url in page.asked)  # none is loaded before the guess
    task.get_by_label(lesson.guesses[0]).check()
    task.get_by_text(lesson.reveal).wait_for()
    run = task.frame_locator("iframe")
    run.locator(".map[data-points='596']").wait_for()
    assert run.locator("body > header").is_hidden()
    assert page.failures == []
    assert all(url.startswith((address, "blob:", "data:")) for url in page.asked)
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) <= MAX_BYTES


def test_a_folder_with_other_files_is_not_touched(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="holds other files"):
        write_site(tmp_path, [], ["recall"])
    with pytest.raises(UserError, match="at least one run, lesson, lab or playground"):
        write_site(tmp_path / "new", [])
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_what_dmlviz_docs_opens_is_searched_and_fits(page, tmp_path):
    (tmp_path / "docs.html").write_text(whole_page())
    page.goto((tmp_path / "docs.html").as_uri())
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("scrollTo(0, 0)")
        page.get_by_role("searchbox").fill("out of memory")
        page.locator("nav ol a").first.click()
        expect(page.get_by_role("heading", name="out of memory")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") == width
