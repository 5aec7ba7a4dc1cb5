"""The app below a path, behind a real nginx: everything it asks for lies there, and comes."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_map_below_a_path_gets_its_data_through_tls(visit, hosted):
    person = visit(at=hosted, ignore_https_errors=True)
    person.train("dataset=digits&net=mlp&steps=62")  # events come through the proxy while it runs
    person.map_has("state", "finished")
    person.map_has("points", "596")
    person.open("?pin=10")
    expect(person.page.locator(".inspector button.row")).to_have_count(10)
    assert float(person.score("precision_at_1")) > 0.5

    asked = "\n".join(person.requests)
    for part in ("events", "layout.json", "labels.u8", "sprite-0.png"):
        assert re.search(f"^{hosted.url}/dmlviz/.*{part}", asked, re.MULTILINE), part
    assert "/dmlviz/frames/" in asked
    (cookie,) = [each for each in person.context.cookies() if each["name"] == "dmlviz_browser"]
    assert cookie["path"] == "/x/y"
    assert cookie["secure"]


def test_runs_and_learn_below_a_path(visit, hosted, digits_run):
    person = visit(at=hosted, ignore_https_errors=True)
    page = person.page
    person.open()
    page.get_by_role("link", name="Runs").click()
    expect(page).to_have_url(f"{hosted.url}/runs")
    card = page.locator(".run", has_text="MLP").first
    expect(card.locator("img")).to_have_js_property("complete", True)
    assert card.locator("img").evaluate("image => image.naturalWidth") > 0
    with page.expect_download() as download:
        card.locator("a.export").click()
    assert download.value.failure() is None
    card.locator("button.title").click()
    expect(page).to_have_url(re.compile(f"^{hosted.url}/[?]"))
    person.map_has("ready", "true")
    page.get_by_role("link", name="Learn").click()
    with page.expect_response(re.compile(f"^{hosted.url}/dmlviz/losses/.*/forces.json")) as answer:
        page.get_by_role("link", name="Forces in the plane").click()
    assert answer.value.ok


def test_a_proxy_may_cut_the_path_off(visit, hosted, digits_run):
    hosted_there = type(hosted)(hosted.cut, hosted.cut)
    person = visit(at=hosted_there)
    person.open(f"?run={digits_run.id}&pin=10")
    person.map_has("points", "596")
    expect(person.page.locator(".inspector button.row")).to_have_count(10)
    person.page.get_by_role("link", name="Runs").click()
    expect(person.page.locator(".run img").first).to_be_visible()
