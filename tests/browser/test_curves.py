"""A user opens the curves below the map."""

import re

import pytest
from playwright.sync_api import expect

from dmlviz import metrics
from tests.waiting import until

pytestmark = pytest.mark.browser

WHILE_MEASURED_MS = 240_000
SCRIPT_IS_HERE = "performance.getEntriesByType('resource').some(({ name }) => name.includes('PlotlyChart'))"


def test_curves_show_roc_and_recall_in_both_themes_and_select_the_images_of_a_point(person, digits_run):
    person.open(f"?run={digits_run.id}")
    page = person.page
    drawer = page.get_by_test_id("stExpander").filter(has_text="Curves")
    chart = drawer.get_by_test_id("stPlotlyChart").last  # beside it the one before may stand for a moment
    assert chart.count() == 0
    until(lambda: page.evaluate(SCRIPT_IS_HERE))  # a second of work, before it is asked for

    drawer.locator("summary").click()
    person.choose("ROC")
    expect(page).to_have_url(re.compile("curves=roc"))
    area = digits_run.metrics["roc_auc"]
    expect(drawer).to_contain_text(f"ROC of the distance: area {area:.4f}")
    expect(chart).to_have_attribute("aria-label", re.compile("^ROC"))
    line = chart.locator(".scatterlayer .trace").first.locator("path.js-line")
    expect(line).to_have_count(1)
    until(lambda: (line.bounding_box() or {"height": 0})["height"] > 150)  # a baseline that comes draws it anew
    expect(chart.locator(".xtitle")).to_have_text("false positive rate")

    person.choose("Recall@k")
    expect(page).to_have_url(re.compile("curves=recall_at_k"))
    expect(chart.locator(".textpoint").first).to_have_text(f"R@1 {digits_run.metrics['recall_at_1']:.4f}")
    expect(drawer).to_contain_text("596 test images of Digits 8 × 8 after step 60, the end")
    for theme, ground, ink in (
        ("dark", "rgb(20, 22, 27)", "rgb(166, 170, 179)"),
        ("light", "rgb(255, 255, 255)", "rgb(102, 105, 111)"),
    ):
        page.emulate_media(color_scheme=theme)
        expect(chart.locator(".main-svg").first).to_have_css("background-color", ground)
        for words in (".textpoint text", ".xtitle", ".ytick text"):
            expect(chart.locator(words).first).to_have_css("fill", ink)

    # By themselves; each is measured by a process of its own, at low priority.
    expect(drawer).to_contain_text("raw pixels: R@1", timeout=WHILE_MEASURED_MS)
    expect(drawer).to_contain_text("untrained net: R@1", timeout=WHILE_MEASURED_MS)
    person.click_point(chart, 1, "among their 2 nearest", drawer, "first neighbor of their class is the 2nd")
    expect(page).to_have_url(re.compile("select=digits"))
    expect(page.get_by_text("Selected by a link or a curve")).to_be_visible()

    person.choose("Confusion")
    counts = metrics.confusion(digits_run.embeddings, digits_run.labels)[1]
    own = int(counts[0, 0])
    says = f"{own} images of 0 whose nearest neighbor is one of them, too"
    person.click_point(chart, 0, f"{own} images", drawer, says, trace=2)
    person.map_has("selected", str(own))

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
