"""A data set of 751 test classes: legend with search, shapes of roles, hover, selection, scores by class."""

import re

import pytest
from playwright.sync_api import expect

from dmlviz.catalog.datasets import DATASETS

pytestmark = pytest.mark.browser


def test_many_classes_can_be_found_pointed_at_selected_and_read(person):
    """From training on identities to one of them: nothing counts classes in 8 bits."""
    page = person.page
    person.train("dataset=identities&net=mlp&steps=10&loss=nt_xent")
    person.map_has("state", "finished")
    page.locator(".loss-curve svg").press("End")
    person.map_has("step", "10")
    legend = page.locator(".legend")
    expect(legend.locator(".class")).to_have_count(60)
    expect(legend.locator(".more")).to_have_text("and 691 more: type to find one")
    page.get_by_placeholder("Find a class").fill("1500")
    expect(legend.locator(".class")).to_have_count(1)
    expect(legend.locator(".class")).to_have_attribute("aria-label", "1500: 8")
    page.get_by_placeholder("Find a class").fill("")

    expect(page.locator(".color-by option", has_text="camera")).to_have_count(1)
    page.locator(".view > summary").click()
    for markers in ("class", "column.camera"):
        page.locator("[data-tool=markers]").click()
        person.map_has("markers", markers)
    page.locator(".view > summary").click()
    expect(legend.get_by_role("listitem")).to_have_text(DATASETS["identities"].roles["camera"])

    last = 6007  # an image of the last class
    page.mouse.move(*person.place_of(last))
    expect(page.locator(".card .title")).to_have_text(re.compile(r"\d{4}"))
    assert page.locator(".card .title").inner_text() in DATASETS["identities"].classes[750:]

    page.get_by_text("By class").click()
    detail = page.locator(".detail")
    expect(detail.get_by_text(re.compile("The most frequent of .* confusions"))).to_be_visible()
    expect(detail.get_by_text("The 50 classes with the lowest MAP@R, of 751.")).to_be_visible()
    confusion = detail.locator(".confusion button").first
    count = int(confusion.inner_text())
    confusion.click()
    person.map_has("selected", str(count))
    own = detail.locator(".confusion th").nth(3).inner_text()
    expect(legend.locator(".class").first).to_have_attribute("aria-label", f"{own}: {count} / 8")
