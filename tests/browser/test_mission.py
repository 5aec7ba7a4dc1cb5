"""The first sentence of the README, walked on Fashion-MNIST in Chromium and on the digits in Firefox."""

import io
import re

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from dmlviz.runs.store import Runs
from tests.browser.conftest import data_folder
from tests.browser.person import SEVEN, drag
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Thousands of points cost Firefox half a minute, and a menu six seconds.
WALKS = [("tabs", "fashion_mnist"), ("firefox_tabs", "digits")]
SETTINGS = "net=mlp&steps=40&max_train_images=1000&num_snapshots=5"


def picture() -> bytes:
    """A dark shape on white paper, as somebody photographs it."""
    paper, file = Image.new("RGB", (300, 400), "white"), io.BytesIO()
    ImageDraw.Draw(paper).line([(90, 80), (210, 80), (140, 330)], fill="black", width=36)
    paper.save(file, "PNG")
    return file.getvalue()


@pytest.mark.skipif(data_folder() is None, reason="neither MNIST nor Fashion-MNIST is on this machine")
@pytest.mark.parametrize(("browser", "dataset"), WALKS)
def test_the_mission_from_the_first_page_to_the_export(visit, runs, browser, dataset, firefox_downloads, request):
    person = visit(browser=request.getfixturevalue(browser))
    page, inspector = person.page, person.page.locator(".inspector")
    if browser == "firefox_tabs":
        person.open(f"?{SETTINGS}&dataset={dataset}")
    else:
        person.open(f"?{SETTINGS}")
        person.pick("Data", "Fashion-MNIST")
    run = person.press_train()
    person.map_has("state", "finished")
    trained = Runs(runs).get(run)
    assert trained.config.dataset == dataset
    person.map_has("points", str(len(trained.labels)))
    until(lambda: float(person.score("precision_at_1").replace("–", "0")) > 0.4)

    person.choose("PCA")  # all other maps are drawn in test_stories.py
    person.map_has("view", re.compile("[0-9a-f]{16}"))
    person.map_has("state", "finished")
    person.map_has("points", str(len(trained.labels)))
    expect(page.get_by_text("details in the log")).to_have_count(0)

    page.mouse.click(*person.place_of(10))
    expect(inspector).to_have_attribute("data-subject", re.compile("[0-9]+"))
    expect(inspector.locator("button.row")).to_have_count(10)

    person.inspect("Draw")
    drag(page.locator(".query-pad[data-ready=true] canvas"), *SEVEN)
    expect(inspector).to_have_attribute("data-subject", "query")
    expect(inspector.locator("button.row")).to_have_count(10)
    until(lambda: person.map.evaluate("root => root.map.marker.to"), what="no star on the map")
    person.inspect("Upload")
    upload = {"name": "seven.png", "mimeType": "image/png", "buffer": picture()}
    page.locator(".query input[type=file]").set_input_files(upload)
    expect(page.locator(".query .framed")).to_be_visible()
    expect(inspector.locator("button.row")).to_have_count(10)

    person.press("Export")
    to_pass_on = page.locator(".export").get_by_role("link", name="Page to pass on")
    if browser == "firefox_tabs":
        to_pass_on.click()
        until(lambda: list(firefox_downloads.glob("*.html")), what="no file")
        (file,) = firefox_downloads.glob("*.html")
    else:
        with page.expect_download() as download:
            to_pass_on.click()
        file = download.value.path()
    until(lambda: file.stat().st_size > 500_000, what="too short a file")
    expect(to_pass_on).to_be_visible()  # the panel stays
    file.unlink()
