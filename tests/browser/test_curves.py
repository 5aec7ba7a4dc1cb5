"""A user opens the curves below the map."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

# Where the page shows the point of a k on the first curve.
PLACE_OF_K = """(chart, k) => {
  const { xaxis, yaxis } = chart._fullLayout, { x, y } = chart._fullData[0], box = chart.getBoundingClientRect();
  const left = box.left + xaxis._offset + xaxis.l2p(Math.log10(k));
  return [left, box.top + yaxis._offset + yaxis.l2p(y[[...x].indexOf(k)])];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_curves_are_opened_the_roc_is_seen_and_then_recall(visit, digits_run, theme):
    person = visit(theme=theme)
    person.open(f"?run={digits_run.id}")
    page = person.page
    drawer = page.get_by_test_id("stExpander").filter(has_text="Curves")
    chart = drawer.get_by_test_id("stPlotlyChart")
    assert chart.count() == 0

    drawer.locator("summary").click()
    person.choose("ROC")
    expect(page).to_have_url(re.compile("curves=roc"))
    area = digits_run.metrics["roc_auc"]
    expect(drawer).to_contain_text(f"ROC of the distance: area {area:.4f}")
    expect(chart).to_have_attribute("aria-label", re.compile("^ROC"))
    line = chart.locator(".scatterlayer .trace").first.locator("path.js-line")
    expect(line).to_have_count(1)
    assert line.bounding_box()["height"] > 150
    expect(chart.locator(".xtitle")).to_have_text("false positive rate")

    person.choose("Recall@k")
    expect(page).to_have_url(re.compile("curves=recall_at_k"))
    expect(chart.locator(".textpoint").first).to_have_text(f"R@1 {digits_run.metrics['recall_at_1']:.4f}")
    expect(drawer).to_contain_text("596 test images of Digits 8 × 8 after step 60, the end")
    for words in (".textpoint text", ".xtitle", ".ytick text"):
        ink = chart.locator(words).first.evaluate("node => getComputedStyle(node).fill")
        assert ink == {"light": "rgb(102, 105, 111)", "dark": "rgb(166, 170, 179)"}[theme]
    other = "dark" if theme == "light" else "light"
    page.emulate_media(color_scheme=other)
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 27)"}[other]
    expect(chart.locator(".main-svg").first).to_have_css("background-color", ground)
    page.emulate_media(color_scheme=theme)

    again = drawer.get_by_role("button", name="Look again")
    while again.count():
        again.click()
        page.wait_for_timeout(1000)
    expect(drawer).to_contain_text("raw pixels: R@1")
    expect(drawer).to_contain_text("untrained net: R@1")
    place = chart.locator(".js-plotly-plot").evaluate(PLACE_OF_K, 2)
    page.mouse.move(*place)
    expect(chart.locator(".hoverlayer .hovertext")).to_contain_text("among their 2 nearest")
    page.mouse.click(*place)
    expect(drawer).to_contain_text("first neighbor of their class is the 2nd")
    expect(page).to_have_url(re.compile("select=digits"))
    expect(page.get_by_text("Selected by a link or a curve")).to_be_visible()

    person.choose("All scores")
    expect(drawer.locator("tr", has_text="ROC area")).to_contain_text(f"{area:.4f}")
    person.choose("Recall@k")
    expect(page).to_have_url(re.compile("curves=recall_at_k"))

    person.page.reload()
    person.map_has("ready", "true")
    expect(chart.locator(".textpoint").first).to_be_visible()
    drawer.locator("summary").click()
    expect(page).not_to_have_url(re.compile("curves="))
    expect(chart).to_have_count(0)
