"""What one plays with in the labs: a metric in the plane, and a picture whose places look alike."""

import pytest
from playwright.sync_api import expect

from dmlviz.data import available_datasets
from dmlviz.labs.lab_study import ready_made

pytestmark = pytest.mark.browser


def test_a_metric_is_learned_and_a_click_finds_what_is_alike(visit):
    visitor = visit()
    page = visitor.page
    page.goto(f"{visitor.url}/labs?lab=metric&guess=1")
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
    page.goto(f"{visitor.url}/labs?lab=terrapattern&guess=1")
    view = page.locator(".lab-picture[data-ready]")
    before = view.get_attribute("data-place")
    view.locator(".pictures canvas").first.click(position={"x": 60, "y": 90})
    expect(view).not_to_have_attribute("data-place", str(before))
    expect(view.locator(".strip canvas")).to_have_count(51)
    expect(view.locator(".reading")).to_contain_text("of the 50 most alike are of its kind")
