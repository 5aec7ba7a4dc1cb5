"""A user looks at a recorded batch and at the distances between test images."""

import re

import pytest
from playwright.sync_api import expect

from dmlviz.training.batch_record import recorded_steps
from tests.waiting import until

pytestmark = pytest.mark.browser

SLOW = 60_000  # milliseconds; what is waited for takes one
# Keeps each moment that is shown, and what is said of it: a busy test may look too late for the first.
NOTE_MOMENTS = """root => {
  const now = () => [root.dataset.moment, root.querySelector(".sentence").textContent];
  root.moments = [now()];
  const note = () => root.moments.at(-1)[0] === root.dataset.moment || root.moments.push(now());
  new MutationObserver(note).observe(root, { attributeFilter: ["data-moment"] });
}"""


def test_a_batch_plays_in_slow_motion_and_its_threshold_is_dragged(person, digits_run):
    requests = person.hear_requests()

    def asked(what):
        return [url for url in requests if f"/{what}/" in url]

    person.open(f"?run={digits_run.id}")
    page, drawers = person.page, person.page.locator(".lossview[data-ready=true]")
    drawers.wait_for()
    assert asked("batches") == asked("distances") == [], "closed drawers ask nothing"

    drawers.locator(".bar").get_by_role("button", name="What the loss sees").click()
    expect(drawers.locator(".panel").first).to_be_in_viewport(ratio=0.99)
    steps, batch = recorded_steps(digits_run.config), page.locator(".lossview .batch")
    expect(batch).to_have_attribute("data-batch", str(steps[-1]), timeout=SLOW)  # the map stands at the end
    batch.get_by_role("slider").press("ArrowLeft")  # the last step moves nothing
    expect(batch).to_have_attribute("data-batch", str(steps[-2]), timeout=SLOW)
    expect(batch.locator(".sentence")).to_contain_text("negative gradient", timeout=SLOW)
    # The formula holds the numbers of its images: log(1 + … ) = a number, two of three pictures of one class.
    expect(batch.locator(".formulas")).to_contain_text(re.compile(r"log.*=.*log.*= ?[0-9.]+"))
    shown = batch.locator("figure b").all_inner_texts()
    assert shown[0] == shown[1] != shown[2]

    batch.evaluate(NOTE_MOMENTS)
    batch.get_by_role("button", name="Slow motion").click()
    until(lambda: len(batch.evaluate("root => root.moments")) > 2, what="the second moment never came")
    batch.get_by_role("button", name="Pause").click()
    (first, sentence), (second, _) = batch.evaluate("root => root.moments")[1:3]
    assert (first, second) == ("0", "1")
    assert f"before step {steps[-2]}" in sentence
    batch.get_by_role("button", name="Moved").click()
    expect(batch.locator(".sentence")).to_contain_text("after one update")

    batch.get_by_role("button", name="Compared").click()
    told = batch.locator(".term").inner_text()
    batch.locator(".stage").press("ArrowRight")
    expect(batch.locator(".term")).not_to_have_text(told, use_inner_text=True)

    batch.get_by_role("slider").press("ArrowLeft")
    expect(batch).to_have_attribute("data-batch", str(steps[-3]), timeout=SLOW)
    expect(batch).to_have_attribute("data-terms", "true", timeout=SLOW)
    batch.get_by_role("slider").press("ArrowRight")
    expect(batch).to_have_attribute("data-batch", str(steps[-2]), timeout=SLOW)
    answers = [url for url in asked("batches") if ".json" in url]  # its picture comes from the browser's cache
    assert len({*answers}) == len(answers), "a batch is asked for once"

    matrix = batch.locator(".matrix")
    matrix.scroll_into_view_if_needed()
    box = matrix.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.8)
    expect(batch.locator(".card")).to_contain_text(re.compile(r"\d and \d · [0-9.]+"))
    assert batch.locator(".card .tile").count() == 2

    drawers.locator(".bar").get_by_role("button", name="Distance distribution").click()
    distances = page.locator(".lossview .distances[data-step]")
    distances.wait_for()
    threshold = distances.get_by_role("slider")
    accepted = float(distances.get_attribute("data-accepted") or "nan")
    assert accepted == pytest.approx(float(distances.get_attribute("data-rejected") or "nan"), abs=0.005)
    threshold.focus()
    for _ in range(5):
        threshold.press("ArrowLeft")
    expect(distances.locator(".sentence")).to_contain_text("Double-click")
    assert float(distances.get_attribute("data-accepted") or "nan") < accepted

    distances.get_by_role("button", name="10%", exact=True).click()
    expect(distances.get_by_role("status")).to_contain_text("validation images, where", timeout=SLOW)
    distances.get_by_role("button", name="10%", exact=True).click()
    expect(distances.get_by_role("status")).to_have_text("")


def test_on_a_phone_a_panel_comes_into_view_before_its_batch_is_there_and_the_sidebar_closes_when_a_training_begins(
    visit, digits_run
):
    person = visit(390, 844)
    page = person.page
    asked, sent = [], []
    page.route("**/batches/**", lambda route: route.continue_() if sent else asked.append(route))
    person.open(f"?run={digits_run.id}&dataset=digits&net=mlp&steps=21&num_snapshots=5")
    drawers = page.locator(".lossview[data-ready=true]")
    drawers.get_by_role("button", name="What the loss sees").click()
    until(lambda: 0 < drawers.locator(".panel").first.bounding_box()["y"] < 400)  # most of the window is the panel's
    until(lambda: page.evaluate("true") and asked)  # a wait without a call of Playwright hears of no request
    sent.append(True)
    asked[0].continue_()
    expect(drawers.locator(".batch")).to_have_attribute("data-batch", re.compile("[0-9]"), timeout=SLOW)
    until(lambda: 0 < drawers.locator(".panel").first.bounding_box()["y"] < 400)

    # The sidebar, too, leaves a phone's window when a training begins.
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.get_by_test_id("stSidebarCollapseButton")).to_be_in_viewport()
    person.press("Train")
    expect(page).not_to_have_url(re.compile(f"run={digits_run.id}"))
    expect(page).to_have_url(re.compile("run=[0-9a-f]{16}"))
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    expect(page.get_by_role("button", name="Train", exact=True)).not_to_be_in_viewport()
    person.map_has("state", "finished")
