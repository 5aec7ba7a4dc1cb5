"""A first visit: a newcomer is told what to do, on a laptop by keyboard, on a phone with a finger."""

import re

import pytest
from playwright.sync_api import Request, Response, expect

from tests.browser.accessibility import WIDE, accessibility_violations, color_violations
from tests.waiting import until

pytestmark = pytest.mark.browser

FOCUSED = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node?.getAttribute("aria-label") ?? node?.textContent ?? "";
}"""


def test_a_newcomer_is_told_what_to_do_and_guided_by_keyboard_and_most_of_the_screen_is_the_map(visit, digits_run):
    person = visit(first_visit=True)
    page, keyboard = person.page, person.page.keyboard
    sidebar, asked = page.get_by_test_id("stSidebar"), person.hear_requests()
    person.open(f"?run={digits_run.id}")
    band = page.get_by_role("region", name="Introduction")
    expect(band).to_contain_text("A small neural network learns to put similar pictures close together.")
    for width, height in ((1440, 900), (1920, 1080), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        until(lambda size=(width, height): share_of_map(page, *size) >= 0.55, 30, f"a small map at {width} × {height}")

    reached = []
    while "Train" not in reached and len(reached) < 14:
        keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert "Train" in reached

    assert not [url for url in asked if "/tour-" in url]
    band.get_by_role("button", name="Guided tour").focus()
    keyboard.press("Enter")
    for stop in ("The map", "The training, again", "Train", "Ask", "Draw", "How good is it?"):
        dialog = page.get_by_role("dialog", name=stop, exact=True)
        expect(dialog).to_be_visible()
        expect(dialog.get_by_role("button", name=re.compile("Next|Done"))).to_be_focused()
        expect(page.locator("#driver-dummy-element")).to_have_count(0)  # it points at something
        keyboard.press("ArrowRight")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate(FOCUSED) == "Guided tour"
    expect(page.get_by_role("tab", name="Draw")).to_have_attribute("aria-selected", "true")  # as the tour showed

    before = person.of_map("pinned")
    band.get_by_role("button", name=re.compile("^Ask")).click()
    expect(page.locator(".inspector button.row")).to_have_count(10)
    assert person.of_map("pinned") not in ("", before)
    band.get_by_role("button", name=re.compile("^Draw")).click()
    expect(page.get_by_label("Drawing pad.")).to_be_in_viewport(ratio=0.99)

    band.get_by_role("button", name="Close the introduction").click()
    expect(band).to_be_hidden()
    page.get_by_test_id("stExpandSidebarButton").click(trial=True)  # nothing lies over it
    page.locator(".st-key-open-settings button").first.click()
    expect(sidebar).to_be_visible()
    expect(page.locator(".st-key-train-top").first).to_be_hidden()  # there is one Train
    page.reload()
    person.map_has("ready", "true")
    expect(band).to_be_hidden()
    expect(sidebar).to_be_visible()  # the drawer stays as it was left
    page.get_by_role("link", name="Learn", exact=True).first.click()
    expect(page.locator(".st-key-learn")).to_be_visible()
    page.get_by_role("button", name="Help", exact=True).click()
    page.get_by_role("button", name="Introduction", exact=True).click()
    expect(band).to_be_visible()
    person.map_has("ready", "true")
    band.get_by_role("button", name=re.compile("^Train")).click()
    expect(page).not_to_have_url(re.compile(f"run={digits_run.id}"))
    expect(band).to_be_hidden()
    expect(page.get_by_role("button", name="Stop", exact=True).first).to_be_enabled()
    page.get_by_role("button", name="Stop", exact=True).first.click()


def share_of_map(page, width, height):
    box = page.locator(".map .stage").bounding_box()
    return box["width"] * min(box["height"], height - box["y"]) / (width * height)


def test_a_phone_has_what_a_hand_needs_at_the_bottom(visit, digits_run):
    person = visit(390, 844, first_visit=True, has_touch=True, is_mobile=True)
    page = person.page
    person.open(f"?run={digits_run.id}")
    bar = page.get_by_role("group", name="First things to do")
    links = page.locator(".st-key-page-links a")
    assert len({link.bounding_box()["y"] for link in links.all()}) == 1, "the pages are one row"

    bar.get_by_text("Ask").tap()
    expect(page.locator(".inspector button.row")).to_have_count(10)
    scores = page.locator(".scores")
    expect(scores).to_be_visible()
    tops = [page.locator(part).bounding_box()["y"] for part in (".map", ".inspector", ".scores", ".loss-curve")]
    assert tops == sorted(tops)
    assert page.evaluate(WIDE) == []
    bottom = scores.evaluate(
        "node => node.getBoundingClientRect().bottom + document.getElementById('stMain').scrollTop"
    )
    assert bottom < 2 * 844, "map, answer and scores are two screens"

    bar.get_by_text("Draw").tap()
    pad = page.get_by_label("Drawing pad.")
    expect(pad).to_be_in_viewport(ratio=0.99)
    until(lambda: bottom_of(pad) <= bar.bounding_box()["y"], 60, "the bar hides the pad")
    box = pad.bounding_box()
    session = page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 5
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        spot = {"x": x, "y": y + step * box["height"] / 14}
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [spot]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.locator(".inspector button.row")).to_have_count(10)
    expect(page.locator(".query-pad")).to_have_attribute("data-strokes", "1")

    page.wait_for_timeout(600)  # Chromium takes a tap right after a stroke for the end of a swipe
    bar.get_by_text("Settings").tap()
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_have_css("width", "390px")
    page.get_by_test_id("stSidebarCollapseButton").locator("button").click()
    expect(bar).to_be_visible()
    end = page.locator(".st-key-templates, .curve-part").last
    end.scroll_into_view_if_needed()
    page.get_by_test_id("stMain").evaluate("node => node.scrollTo(0, node.scrollHeight)")
    until(lambda: bottom_of(end) <= bar.bounding_box()["y"], 60, "the bar hides the end")
    assert color_violations(page, ("light",)) == []


def bottom_of(part):
    box = part.bounding_box()
    return box["y"] + box["height"]


PAGES = {  # with what is there when they are ready
    "": ".inspector button.row",
    "compare": ".compare-scores .agreement .share",
    "runs": ".run-list .run",
    "class": "code:text('dmlviz serve --shared')",  # on a server for one person: how to start a shared one
    "learn": ".st-key-learn",
}


def test_every_page_opens_by_its_address_with_all_its_files_and_is_accessible(visit, digits_run):
    person = visit()  # who complains of every error in the console
    page = person.page
    failures: list[str] = []

    def note(answer: Response) -> None:
        if answer.status >= 400:
            failures.append(f"{answer.status} {answer.url}")

    def note_failure(request: Request) -> None:
        ended = request.failure == "net::ERR_ABORTED" and request.url.endswith("/events")
        if not ended:  # the page leaves a stream itself when it has heard the run's last event
            failures.append(f"{request.failure} {request.url}")

    violations = {}
    for name, ready in PAGES.items():
        page.goto("about:blank")  # what a page leaves unfinished is no failure
        page.on("response", note)
        page.on("requestfailed", note_failure)
        page.goto(f"{person.url}/{name}?run={digits_run.id}&pin=10")
        page.locator(ready).first.wait_for()
        page.wait_for_load_state("networkidle")
        assert failures == [], name
        expect(page.locator(".opening")).to_be_hidden(timeout=2000)  # what is seen until the page's styles are there
        page.remove_listener("response", note)
        page.remove_listener("requestfailed", note_failure)
        violations[name or "explore"] = accessibility_violations(page, "#stMain" if name else "html")
    expect(page.get_by_test_id("stApp")).to_have_css("transition-property", "none")  # who asks for stillness gets it
    sentences = [f"{name}: {sentence}" for name, several in violations.items() for sentence in several]
    assert not sentences, "\n".join(sentences)
