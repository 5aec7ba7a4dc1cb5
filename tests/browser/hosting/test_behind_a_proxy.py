"""The app below a path, behind a real nginx: everything it asks for lies there, and comes."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture
def stranger(chromium):
    """The browser of somebody who has never been here."""
    looks: Any = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = chromium.new_context(**looks, ignore_https_errors=True)
    context.set_default_timeout(60_000)
    yield context
    context.close()


def test_map_runs_and_learn_below_a_path_get_their_data_through_tls(visit, hosted):
    person = visit(at=hosted, ignore_https_errors=True)
    requests = person.hear_requests()
    person.page.goto(f"{hosted.link}&dataset=digits&net=mlp&steps=62")
    person.press_train()  # events come through the proxy while it runs
    person.map_has("state", "finished")
    person.map_has("points", "596")
    person.page.mouse.click(*person.place_of(10))
    expect(person.page.locator(".inspector button.row")).to_have_count(10)
    score = person.page.locator("[data-score=precision_at_1] .value")
    expect(score).to_have_text(re.compile(r"^(0\.[5-9]|1\.0)"))

    assert all(url.startswith((hosted.url, "data:", "blob:")) for url in requests)
    asked = "\n".join(requests)
    for part in ("events", "tracked_items.json", "labels.u16", "sprite-0.png"):
        assert re.search(f"^{hosted.url}/dmlviz/.*{part}", asked, re.MULTILINE), part
    assert "/dmlviz/frames/" in asked
    (cookie,) = [each for each in person.page.context.cookies() if each["name"] == "dmlviz_browser"]
    assert cookie["path"] == "/x/y"
    assert cookie["secure"]

    # Runs and Learn, too.
    page = person.page
    page.get_by_role("link", name="Runs").click()
    expect(page).to_have_url(f"{hosted.url}/runs")
    card = page.locator(".run", has_text="MLP").first
    expect(card.locator("img")).not_to_have_js_property("naturalWidth", 0)
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
    person = visit()
    person.url = hosted.cut
    person.open(f"?run={digits_run.id}&pin=10")
    person.map_has("points", "596")
    expect(person.page.locator(".inspector button.row")).to_have_count(10)
    person.page.get_by_role("link", name="Runs").click()
    expect(person.page.locator(".run img").first).to_be_visible()


def test_a_page_asks_for_the_token_until_it_has_it(stranger, hosted):
    page = stranger.new_page()
    refused = page.goto(f"{hosted.url}/?dataset=digits")
    assert refused.status == 401
    page.get_by_label("Access token").fill("not-the-right-token")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Access token").fill(hosted.token)
    page.get_by_role("button", name="Open").click()
    expect(page.locator(".map")).to_have_attribute("data-ready", "true")
    assert "token" not in page.url
    assert "dataset=digits" in page.url


def test_only_an_allowed_site_shows_the_app_in_a_frame(stranger, hosted):
    page = stranger.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{hosted.school}/frame")
    frame = page.frame_locator("iframe")
    expect(frame.locator(".map")).to_have_attribute("data-ready", "true")
    kept = [cookie for cookie in stranger.cookies() if cookie["name"].startswith("dmlviz")]
    assert {cookie["name"] for cookie in kept} == {"dmlviz_access", "dmlviz_browser"}
    for cookie in kept:
        assert cookie["sameSite"] == "None"
        assert cookie["partitionKey"] == "https://127.0.0.1"  # in that site's own jar
    assert not any("Security Policy" in text for text in said), said

    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        page.goto(hosted.frame_of_cut)
    assert page.frame_locator("iframe").locator(".stApp").count() == 0
