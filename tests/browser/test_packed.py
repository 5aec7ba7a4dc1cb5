"""What is done on map, inspector and scores, on a page that holds its run: no Streamlit, no server."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dmlviz.config import ProjectionConfig
from dmlviz.export import RunExport
from dmlviz.export.page import write_html
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.runs.store import Runs
from tests.browser.person import Person, drag
from tests.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the pages lie, each written once."""
    return tmp_path_factory.mktemp("packed")


@pytest.fixture
def reader(visit, folder) -> Callable[..., Person]:
    """`reader(run, projection)`: a person with the page of that run as a file."""

    def read(run: Run, projection: ProjectionRun | None = None) -> Person:
        file = folder / f"{projection.id if projection else run.id}.html"
        if not file.exists():
            with file.open("wb") as page:
                write_html(RunExport.from_run(run, projection), page)
        person = visit()
        person.url = file.as_uri()
        person.page.goto(person.url)
        person.map_has("ready", "true")
        return person

    return read


def test_an_example_stands_until_the_first_click_and_what_was_opened_is_found_open(reader, digits_run):
    person = reader(digits_run)
    page, inspector = person.page, person.page.locator(".inspector")
    expect(inspector).not_to_have_attribute("data-example", "")
    expect(inspector.locator("button.row")).to_have_count(10)
    expect(inspector.locator("button.row.wrong")).to_have_count(2)
    assert "?" not in page.url
    expect(page.locator(".scores .words")).to_contain_text("of 100 images have a nearest neighbor of their own class")
    expect(page.locator("[data-score=nmi]")).to_be_hidden()
    expect(page.locator("[data-tool=trails]")).to_be_hidden()
    for summary in (
        inspector.get_by_text("Why?"),
        page.get_by_text("All scores").first,
        page.locator(".view > summary"),
    ):
        summary.click()
    expect(page).to_have_url(re.compile("open=scores%2Cview%2Cwhy"))
    page.reload()
    person.map_has("ready", "true")
    expect(page.locator("[data-score=nmi]")).to_be_visible()
    expect(page.locator("[data-tool=trails]")).to_be_visible()
    expect(inspector.locator(".why p")).to_contain_text("are of another class; the nearest of class")
    inspector.locator("button.row").first.click()
    expect(inspector).to_have_attribute("data-example", "")


def test_a_selection_is_projected_alone_without_a_server_and_its_settings_move_it(reader, digits_run):
    person = reader(digits_run)
    page, caption, foot = person.page, person.page.locator(".map .caption"), person.page.locator(".map .foot")
    page.locator("[data-score=precision_at_1]").click()  # selects the images that fail
    person.map_has("selected", re.compile("[1-9]"))
    selected = person.of_map("selected")
    page.locator("[data-tool=subset]").click()
    expect(caption).to_have_text(f"{selected} of {len(digits_run.labels)} test images · projected alone")
    expect(foot).to_contain_text("t-SNE")
    page.locator(".view > summary").click()
    settings = page.locator(".map .settings")
    settings.get_by_label("Method").select_option("UMAP")
    expect(foot).to_contain_text(re.compile(r"UMAP.*of 10 neighbors survive"))
    places = "root => [...root.map.scene.places().filter((place) => place)]"
    before = person.map.evaluate(places)
    settings.get_by_label("Neighbors").press("ArrowRight")
    expect(settings.locator("output").first).to_have_text("16")
    until(lambda: person.map.evaluate(places) != before, what="the points stand still")
    page.locator(".view > summary").click()
    page.locator("[data-tool=whole]").click()
    expect(caption).not_to_contain_text("alone")
    person.map_has("selected", selected)
    person.map_has("points", str(len(digits_run.labels)))


def test_the_outline_walks_from_classes_to_neighbors_by_keyboard(reader, digits_run):
    person = reader(digits_run)
    page, keyboard = person.page, person.page.keyboard
    page.locator(".overlay").press("o")
    tree = page.get_by_role("tree", name="Outline of the map")
    of_class = tree.get_by_role("treeitem", name=re.compile("^Class 3, "))
    for _ in range(3):
        keyboard.press("ArrowDown")
    expect(of_class).to_be_focused()
    keyboard.press("ArrowRight")
    images = tree.get_by_role("treeitem", name=re.compile("^test image "))
    members = [int(item) for item in (digits_run.labels == 3).nonzero()[0]]
    expect(images).to_have_count(len(members))
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    person.map_has("pinned", str(members[0]))
    expect(images.first).to_have_attribute("aria-selected", "true")
    keyboard.press("ArrowRight")
    near = tree.get_by_role("treeitem", name=re.compile("^Neighbor "))
    expect(near).to_have_count(10)
    nearest = page.locator(".inspector button.row").first.get_attribute("data-item")
    expect(near.first).to_have_accessible_name(re.compile(f"^Neighbor 1: test image {nearest}, class "))
    keyboard.press("Escape")
    expect(page.locator(".overlay")).to_be_focused()


def test_in_a_hall_the_map_fills_the_screen_larger_and_a_point_is_still_picked_where_it_is_seen(reader, digits_run):
    """The key G: step and score above the map, all of it 1.6 times as large."""
    person = reader(digits_run)
    page = person.page
    page.locator(".loss-curve svg").press("End")
    person.map_has("step", str(digits_run.config.steps))
    page.locator(".overlay").press("g")
    headline = page.locator(".map .full-headline")
    for words in (
        digits_run.title,
        f"step {digits_run.config.steps} of",
        f"MAP@R {digits_run.metrics['map_at_r']:.3f}",
    ):
        expect(headline).to_contain_text(words)
    expect(headline).to_be_visible()
    looks = """(node) => {
      const { layout, scene, model } = node.map, box = layout.overlay.getBoundingClientRect();
      const items = Array.from(model.labels, (_, item) => item).filter((item) => scene.usable[item]);
      const item = items.reduce((a, b) => (scene.screenOf(a)[0] > scene.screenOf(b)[0] ? a : b));
      const [x, y] = scene.screenOf(item);
      const scale = box.width / scene.port.width;
      const sharpness = layout.overlay.width / (devicePixelRatio * box.width);
      return { item, scale, sharpness, x: box.left + 1.6 * x, y: box.top + 1.6 * y };
    }"""
    until(lambda: page.locator(".map").evaluate(looks)["scale"] == pytest.approx(1.6, abs=0.01))
    seen = page.locator(".map").evaluate(looks)  # the point farthest from the corner, where an error is largest
    assert seen["sharpness"] == pytest.approx(1, abs=0.01), "canvases have the pixels of the screen"
    page.mouse.move(seen["x"], seen["y"])
    card = page.locator(".map .card")
    expect(card).to_have_attribute("data-item", str(seen["item"]))
    box = card.bounding_box()
    assert box["width"] == pytest.approx(1.6 * card.evaluate("node => node.offsetWidth"), abs=2)
    gap = max(box["y"] - seen["y"], seen["y"] - box["y"] - box["height"])
    assert 0 < gap < 30, "the card stands at its point"
    page.mouse.click(seen["x"], seen["y"])
    person.map_has("pinned", str(seen["item"]))
    page.keyboard.press("f")
    expect(headline).to_be_hidden()


def test_a_3d_map_is_rotated_and_keeps_its_angle(reader, runs, digits_run):
    projection = Runs(runs).create_projection(digits_run, ProjectionConfig(method="pca", dims=3))
    run_projection(projection.path)
    person = reader(digits_run, projection)
    person.map_has("dims", "3")
    person.map_has("state", "finished")
    before = between(person)
    drag(person.map.locator(".overlay"), (0.5, 0.5), (0.6, 0.55))
    turned = between(person)
    assert turned != pytest.approx(before, abs=1)
    person.page.locator(".map .view > summary").click()
    person.page.locator(".map .color-by select").select_option("center")
    person.map_has("color", "center")
    # A scale takes its own place: all move a little, and then stand still again.
    until(lambda: between(person) == pytest.approx(turned, rel=0.1, abs=3), 60, "another angle")


def between(person):
    """The way from one point to another on a map at rest, which an angle decides and a shift does not."""
    ways = [None]
    while len(ways) < 3 or ways[-1] != ways[-2]:
        (x, y), (left, top) = person.place_of(10), person.place_of(200)
        ways.append((x - left, y - top))
        time.sleep(0.3)
    return ways[-1]
