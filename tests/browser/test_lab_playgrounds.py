"""What one plays with in the labs: a metric in the plane, and a picture whose places look alike."""

import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from dmlviz.data import available_datasets
from dmlviz.labs.lab_study import ready_made

pytestmark = pytest.mark.browser


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
