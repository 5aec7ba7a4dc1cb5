"""What a visitor does with their own hands in a lab: guess pairs, fill a gallery, follow, point, draw, use tricks."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from dmlviz.data import available_datasets
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS
from tests.browser.accessibility import accessibility_violations
from tests.browser.person import drag
from tests.waiting import until

pytestmark = pytest.mark.browser


def whole_page_reruns(person):
    """How often the server has run the whole page for anybody."""
    metrics = person.page.request.get(f"{person.url}/dmlviz/metrics").text()
    return float(re.search(r"^dmlviz_rerun_seconds_count ([0-9.]+)$", metrics, re.MULTILINE)[1])


@pytest.mark.skipif("fashion_mnist" not in available_datasets(), reason="the ready-made pairs are of Fashion-MNIST")
def test_ten_pairs_are_guessed_and_the_cross_is_on_the_roc(person):
    page = person.page
    person.open_lab("verification")
    expect(page.get_by_text("Pair 1 of 10")).to_be_visible()
    reruns = whole_page_reruns(person)
    for number in range(1, 11):
        expect(page.get_by_text(f"Pair {number} of 10")).to_be_visible()
        page.get_by_role("button", name="The same", exact=True).click()
    expect(page.get_by_text("You were right for 5 of 10 pairs")).to_be_visible()
    expect(page.get_by_text("you, 10 pairs")).to_be_visible()
    assert whole_page_reruns(person) == reruns, "an answer draws the next pair only"
    view = page.locator(".threshold[data-ready]")
    expect(view.locator("text.you")).to_have_text("you")
    expect(view.locator("figure")).to_have_count(16)  # pairs that are not asked about
    assert 0 < int(view.get_attribute("data-accepted")) < 16
    histogram, roc = view.locator("svg").all()
    size = histogram.bounding_box()
    histogram.click(position={"x": 0.97 * size["width"], "y": 0.5 * size["height"]})
    expect(view).to_have_attribute("data-accepted", "16")  # all are nearer than that
    expect(view.locator("figure.wrong")).to_have_count(8)  # and half of them are of two identities
    roc.click(position={"x": 0.1 * size["width"], "y": 0.84 * size["height"]})
    expect(view.locator(".reading")).to_contain_text(" 0.0% of those of two accepted")
    expect(view.locator("td")).to_have_count(33)  # ten folds and their mean
    page.get_by_role("button", name="Ten other pairs").click()
    expect(page.get_by_text("Pair 1 of 10")).to_be_visible()


def test_streamlit_run_as_a_host_starts_it_that_knows_nothing_else_serves_everything(streamlit_server, visit):
    """Training, map, neighbors, and a sentence when it has gone."""
    person = visit(at=streamlit_server)
    page = person.page
    person.train("dataset=digits&net=mlp&steps=1&seed=9")
    person.map_has("state", "finished")
    page.mouse.click(*person.place_of(10))
    expect(page.locator(".inspector button.row")).to_have_count(10)
    until(lambda: person.score("precision_at_1") != "–")

    person.provoked.append("")  # all errors: a page tells of its server in four ways
    streamlit_server.close()
    words = page.get_by_role("dialog").get_by_text("Streamlit server is not responding")
    expect(words).to_have_css("font-size", "0px")
    assert "The server does not answer." in words.evaluate("node => getComputedStyle(node, '::after').content")


def test_a_thing_is_followed_from_a_box_drawn_by_hand(person):
    page = person.page
    person.open_lab("tracking")
    tracker = page.locator(".tracker")
    expect(tracker).to_have_attribute("data-ready", "true")
    expect(tracker).to_have_attribute("data-own", "false")
    means = tracker.get_attribute("data-means").split()
    assert len(means) == 3
    for name, frame in (("Next frame", "1"), ("Next frame", "2"), ("Previous frame", "1")):
        page.get_by_role("button", name=name, exact=True).click()
        expect(tracker).to_have_attribute("data-frame", frame)
    page.get_by_role("slider", name="Frame").fill("20")
    expect(tracker).to_have_attribute("data-frame", "20")
    page.get_by_role("radio", name="pixel correlation").click()
    expect(tracker).to_have_attribute("data-method", "pixel correlation")
    expect(page.get_by_text("Score map, pixel correlation")).to_be_visible()

    drag(page.get_by_role("img", name="The video"), (0.1, 0.1), (0.4, 0.4))
    expect(tracker).to_have_attribute("data-own", "true")
    assert tracker.get_attribute("data-means").split() != means
    page.get_by_role("button", name="Back to the true first box").click()
    expect(tracker).to_have_attribute("data-means", " ".join(means))
    video = page.get_by_role("img", name="The video")
    for key in [*["Shift+ArrowUp"] * 12, "+", "Enter"]:
        video.press(key)
    expect(tracker).to_have_attribute("data-own", "true")
    expect(tracker).not_to_have_attribute("data-means", " ".join(means))
    page.get_by_role("button", name="Back to the true first box").click()
    expect(tracker).to_have_attribute("data-own", "false")
    page.get_by_role("slider", name="Noise, gray levels").fill("60")
    expect(tracker).not_to_have_attribute("data-means", " ".join(means))


def test_an_image_is_marked_in_every_map(person):
    page = person.page
    page.goto(f"{person.url}/labs?lab=classical-or-mined")
    page.get_by_role("button", name="Show the answer without a guess").click()
    planes = page.locator(".lab-planes[data-ready]")
    first, last = (planes.locator("canvas").nth(number) for number in (0, 3))
    before = last.evaluate("canvas => canvas.toDataURL()")
    first.scroll_into_view_if_needed()
    item = first.evaluate(POINT_AT_SOMETHING)
    expect(planes).to_have_attribute("data-item", item)
    expect(planes.locator(".reading")).to_contain_text("a test image: marked in all 4 maps")
    assert last.evaluate("canvas => canvas.toDataURL()") != before
    planes.get_by_role("radio", name="Training images").click()
    expect(planes).to_have_attribute("data-part", "Training images")
    assert int(first.evaluate(POINT_AT_SOMETHING)) >= 2000
    expect(planes.locator(".reading")).to_contain_text("a training image")


# Moves a pointer over a canvas until an image is marked, and returns the image's number.
POINT_AT_SOMETHING = """async canvas => {
    const box = canvas.getBoundingClientRect(), root = canvas.closest(".lab-planes");
    for (let share = 0.1; share < 0.9; share += 0.02) {
        const clientX = box.left + share * box.width, clientY = box.top + (1 - share) * box.height;
        canvas.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY }));
        await null; // until it is drawn
        if (root.dataset.item !== "-1") return root.dataset.item;
    }
}"""


@pytest.mark.skipif("fashion_mnist" not in available_datasets(), reason="the ready-made nets know Fashion-MNIST")
def test_a_drawing_finds_photographs_and_lies_on_the_map(person):
    page = person.page
    person.open_lab("two-domains")
    search = page.locator(".sketch-search")
    expect(search).to_have_attribute("data-ready", "true")
    expect(search).to_have_attribute("data-pairs", "150")
    shirt = ((0.25, 0.15), (0.5, 0.2), (0.75, 0.15), (0.95, 0.35), (0.82, 0.45), (0.73, 0.38), (0.73, 0.92))
    shirt += ((0.27, 0.92), (0.27, 0.38), (0.18, 0.45), (0.05, 0.35), (0.25, 0.15))
    drag(page.locator(".query-pad canvas"), *shirt)
    expect(search.locator(".nearest li")).to_have_count(13)
    assert (search.get_attribute("data-kinds") or "").count("T-shirt") >= 3
    page.get_by_test_id("stButtonGroup").get_by_text("class", exact=True).click()
    expect(search).to_have_attribute("data-variant", "class")
    expect(search.locator(".nearest li")).to_have_count(13)


def test_a_lab_is_found_run_to_its_figure_and_kept(person):
    page = person.page
    page.goto(f"{person.url}/labs")
    for lab in LABS.values():
        expect(page.get_by_role("link", name=f"{lab.title} {lab.question}")).to_be_visible()
    page.get_by_role("link", name="Counting How large").click()
    expect(page).to_have_url(re.compile("lab=counting"))
    expect(page.get_by_role("heading", name="Keep")).to_be_visible()  # the page's last part
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Done: 3 trials.")).to_be_visible()
    page.get_by_role("button", name="no", exact=True).click()
    expect(page.get_by_text("It is.", exact=True)).to_be_visible()
    expect(page.locator(".st-key-lab-open .main-svg").first).to_be_visible()
    expect(page.locator(".st-key-lab-open .points path.point")).to_have_count(3)
    assert accessibility_violations(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="Numbers (CSV)").click()
    lines = sorted(Path(download.value.path()).read_text().splitlines())
    assert lines[-1] == "squares,measured,2,4.0,,,1"
    page.reload()
    expect(page.get_by_text("You guessed: no.")).to_be_visible()


def test_a_metric_is_learned_and_a_click_finds_what_is_alike(visit):
    visitor = visit()
    page = visitor.page
    visitor.open_lab("metric")
    plane = page.locator(".metric-playground")
    euclid, learned = (plane.locator(f".metric.{name}") for name in ("euclid", "learned"))
    expect(learned).to_contain_text("A = [1.00 0.00; 0.00 1.00]")
    expect(euclid).to_have_attribute("data-nearer", "2")
    plane.get_by_role("button", name="Learn", exact=True).click()
    expect(plane).to_have_attribute("data-step", "150")
    expect(learned).to_have_attribute("data-nearer", "1")
    query = plane.get_by_role("button", name="query; arrow keys move it")
    query.focus()
    for _ in range(12):
        query.press("ArrowLeft")
    expect(euclid).to_have_attribute("data-nearer", "1")

    study = ready_made("terrapattern")
    assert study is not None
    if study.info["dataset"] not in available_datasets():
        return  # the picture is made of its images
    visitor.open_lab("terrapattern")
    view = page.locator(".lab-picture[data-ready]")
    before = view.get_attribute("data-place")
    view.locator(".pictures canvas").first.click(position={"x": 60, "y": 90})
    expect(view).not_to_have_attribute("data-place", str(before))
    expect(view.locator(".strip canvas")).to_have_count(51)
    expect(view.locator(".reading")).to_contain_text("of the 50 most alike are of its kind")

    visitor_picture = np.random.default_rng(0).integers(0, 256, (400, 500), np.uint8)
    file = io.BytesIO()
    Image.fromarray(visitor_picture).save(file, "PNG")
    view.get_by_label("A picture of your own").set_input_files(
        {"name": "noise.png", "mimeType": "image/png", "buffer": file.getvalue()}
    )
    expect(view).to_have_attribute("data-own", "14")  # 400 pixels hold 14 tiles of 28
    expect(view.locator(".reading")).to_contain_text("The 50 tiles that are most like this one, of 196")
    view.get_by_role("button", name="Back to the town").click()
    expect(view.locator(".reading")).to_contain_text("of the 50 most alike are of its kind")


def test_the_towers_of_the_chosen_net_are_drawn(visit):
    study = ready_made("patches")
    assert study is not None
    if study.info["dataset"] not in available_datasets():
        pytest.skip("the scene is made of its images")
    visitor = visit()
    page = visitor.page
    visitor.open_lab("patches", "&figure=table")
    view = page.locator(".lab-picture[data-ready]")
    view.get_by_label("Compared by").select_option("pseudo-siam")
    towers = view.locator(".towers")
    expect(towers.get_by_role("img", name="pseudo-siam: 226,945 weights.")).to_be_visible()
    expect(towers.locator(".layer:not(.shared) rect")).to_have_count(10)
    towers.get_by_text("In words").click()
    expect(towers.get_by_role("listitem").nth(2)).to_contain_text("8 × 8 convolution, 32, ReLU of 1: 32 × 8 × 8")
    view.get_by_label("Compared by").select_option("siam")
    expect(towers.locator(".shared rect")).to_have_count(8)
    expect(towers.locator(".tie")).to_have_count(4)
    view.get_by_label("Compared by").select_option("pixels")
    expect(towers).to_be_hidden()
    expect(page.get_by_text("MNIST → Fashion-MNIST").first).to_be_visible()

    page.locator(".st-key-lab-open .scatterlayer .point").last.click(force=True)  # a cell shows its pictures
    expect(page.get_by_role("combobox", name="Pictures behind a point")).not_to_have_value("")
