"""A user reads about a loss, moves its plot, takes a lesson."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import accessibility_violations
from tests.waiting import until

pytestmark = pytest.mark.browser
SLOW = 60_000  # milliseconds; two busy cores


def test_a_loss_page_is_read_its_plot_moved_and_tried_in_explore(person, digits_run):
    person.open(f"?run={digits_run.id}")
    person.page.get_by_role("link", name="Learn", exact=True).click()
    search = person.page.get_by_placeholder(re.compile("Search"))
    search.fill("Schroff triplet")
    search.press("Enter")
    person.page.get_by_role("link", name=re.compile("^Triplet The positive")).click()
    expect(person.page).to_have_url(re.compile(r"/learn\?loss=triplet$"))

    plot = person.page.locator(".lossplot")
    expect(plot).to_have_attribute("data-ready", "true")
    assert float(plot.get_attribute("data-near")) == pytest.approx(0.2)
    margin = plot.get_by_label("Margin")
    margin.focus()
    for _ in range(3):
        margin.press("ArrowRight")
    assert margin.input_value() == "0.35"
    expect(plot).to_have_attribute("data-near", re.compile(r"^0\.3(5|4999)"))

    plane = person.page.locator(".force-playground")
    expect(plane).to_have_attribute("data-ready", "true")
    assert accessibility_violations(person.page) == []
    positive = plane.get_by_role("button", name=re.compile("^Positive at"))
    positive.focus()
    value = plane.get_attribute("data-value")
    positive.press("Shift+ArrowLeft")
    expect(plane).not_to_have_attribute("data-value", value)
    box = plane.locator("svg").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    spot = positive.locator("circle").last.bounding_box()
    person.page.mouse.move(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    person.page.mouse.down()
    person.page.mouse.move(x, y, steps=4)
    person.page.mouse.up()
    until(lambda: max(map(abs, json.loads(plane.get_attribute("data-places"))[1])) < 0.05)

    figure = person.page.locator(".small-figures figure[data-name=second_form][data-ready]")
    expect(figure).to_contain_text("The first form is 0 from dₐₙ = 1.80 on")
    figure.get_by_label("dₐₚ").press("Home")
    expect(figure).to_contain_text("0 from dₐₙ = 1.00 on; the second still pulls the positive, with 0.00")

    flow = person.page.locator(".architecture[data-ready]")
    expect(flow.get_by_role("img", name=re.compile(r"^Triplet: 396,740 weights; dashed"))).to_be_visible()
    expect(flow.locator(".tie")).to_have_count(10)

    person.press("Try these settings in Explore")
    expect(person.page).to_have_url(re.compile(r"loss=triplet.*loss\.margin=0\.35"), timeout=SLOW)
    person.map_has("run", digits_run.id)


def test_a_symptom_is_looked_up_a_word_explained_and_the_remedy_opened(person):
    page = person.page
    page.goto(f"{person.url}/learn")
    index = page.locator(".card-index")
    expect(index).to_have_attribute("data-ready", "true", timeout=SLOW)
    assert index.locator(".symbols symbol").count() > 80
    drawn = index.get_by_role("link", name="Triplet ratio").locator("use").evaluate("e => e.getBBox().width")
    assert drawn > 0
    search = page.get_by_placeholder(re.compile("all in one point"))
    search.fill("my loss stays at the margin")
    search.press("Enter")
    page.get_by_role("link", name=re.compile("^My triplet loss stays")).click()
    expect(page).to_have_url(re.compile(r"/learn\?answer=loss-at-the-margin$"), timeout=SLOW)

    card = page.locator(".glossary-card:popover-open")
    word = page.get_by_role("link", name="active terms")
    word.hover()
    expect(card).to_contain_text("the pairs or triplets that still pull or push")
    assert "still pull" in word.get_attribute("aria-description")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    word.click()  # as by a tap: it explains, and leads nowhere
    expect(card).to_have_count(1)
    expect(page).to_have_url(re.compile("answer=loss-at-the-margin$"))
    card.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"topic=glossary#active-terms$"))
    expect(page.locator("#term-active-terms")).to_be_in_viewport(timeout=SLOW)
    page.go_back()
    remedy = page.locator("a[href*='miner=semihard_nearest']")  # by its address: the page may still be drawing others
    remedy.and_(page.get_by_role("link", name="Open in Explore, ready to train")).click()
    expect(page).to_have_url(re.compile("miner=semihard_nearest"), timeout=SLOW)
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_enabled(timeout=SLOW)


def test_a_ranking_is_changed_and_a_point_of_a_space_is_dragged(person):
    page = person.page
    page.goto(f"{person.url}/learn?metric=map_at_r")
    toy = page.locator(".ranking-toy")
    score = toy.locator('[data-score="map_at_r"] dd')
    expect(score).to_have_text("0.12")
    tiles = toy.locator(".tiles button")
    last, second = tiles.nth(9).bounding_box(), tiles.nth(1).bounding_box()
    page.mouse.move(last["x"] + 9, last["y"] + 9)
    page.mouse.down()
    page.mouse.move(second["x"] + 9, second["y"] + 9, steps=8)
    page.mouse.up()
    expect(score).to_have_text("0.20")
    tiles.nth(1).click()
    expect(score).to_have_text("0.10")
    toy.get_by_role("button", name=re.compile("^Four queries")).click()
    expect(toy).to_have_attribute("data-cmc", re.compile(r"^\[0\.25,0\.5,0\.75,1,"))

    page.goto(f"{person.url}/learn?topic=three-spaces")
    space = page.locator(".map-at-r-demo figure").last
    expect(space.locator(".nmi dd")).to_have_text("1.00")
    chart = space.locator("svg").bounding_box()
    point = space.locator("svg > circle").first.bounding_box()
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    page.mouse.down()
    page.mouse.move(chart["x"] + chart["width"] * 0.73, chart["y"] + chart["height"] * 0.27, steps=4)
    page.mouse.up()
    for name in ("nmi", "r_precision", "map_at_r"):
        expect(space.locator(f".{name} dd")).to_have_text(re.compile(r"^0\.9"))
