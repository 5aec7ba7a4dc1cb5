"""A user sorts, deletes, restores and compares runs."""

import re

import pytest
from playwright.sync_api import expect

from dmlviz.config import ProjectionConfig
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from tests.waiting import until

pytestmark = pytest.mark.browser


def go(person, page):
    """By the bar on top."""
    person.page.get_by_test_id("stPageLink-NavLink").filter(has_text=re.compile(f"^{page}$")).click()


def test_a_run_is_renamed_deleted_restored_and_opened(person, runs, digits_run):
    run = digits_run.id
    person.open(f"?run={run}&steps=77")
    page, card = person.page, person.page.locator(f".run[data-run='{run}']")
    train = page.get_by_test_id("stSidebar").get_by_role("button", name="Train", exact=True)
    train.evaluate("button => { window.left = button }")
    go(person, "Runs")
    expect(train).to_be_hidden()
    expect(card.locator(".picture img")).to_have_js_property("naturalWidth", 480)
    card.locator(".rename").click()
    page.locator(".field").fill("Mine, the first")
    page.locator(".field").press("Enter")
    expect(card.locator(".title")).to_have_text("Mine, the first")
    card.locator(".pin").click()
    expect(card).to_have_attribute("data-pinned", "true")
    assert (Runs(runs).get(run).title, Runs(runs).get(run).pinned) == ("Mine, the first", True)
    card.locator(".delete").click()
    expect(card).to_have_count(0)
    assert run not in {one.id for one in Runs(runs).list()}
    page.get_by_role("button", name="Undo").click()
    expect(card.locator(".title")).to_have_text("Mine, the first")
    page.get_by_role("searchbox").fill("no such run")
    expect(page.locator(".run-list")).to_have_attribute("data-shown", "0")
    page.get_by_role("searchbox").fill("mine")
    page.get_by_role("searchbox").press("Enter")
    expect(page).to_have_url(re.compile("search=mine"))
    card.locator(".title").click()
    person.map_has("run", run)
    expect(page).to_have_url(re.compile("steps=77"))  # what was set in Explore has stayed
    # The settings were not made anew: that took a third of the way back.
    expect(train).to_be_visible()
    assert train.evaluate("button => button === window.left && button.checkVisibility()")
    page.go_back()
    expect(page.locator(".run-list")).to_have_attribute("data-shown", "1")


def test_two_runs_are_compared_and_a_third_is_trained_from_there(person, runs, digits_run):
    trained = Runs(runs).create(digits_run.config.replace(seed=8, embedding_dim=2))
    list(train_and_record(trained))
    other, page = trained.id, person.page
    page.goto(f"{person.url}/runs")
    for run in (digits_run.id, other):
        page.locator(f".run[data-run='{run}'] .compare").click()
        expect(page.locator(".compare-scores")).to_have_attribute("data-ready", "true")
        if run != other:
            go(person, "Runs")
    maps = page.locator(".map[data-ready=true]")
    expect(maps).to_have_count(2)
    first, second = maps.nth(0), maps.nth(1)
    expect(first).to_have_attribute("data-run", other)
    expect(second).to_have_attribute("data-run", digits_run.id)

    first.locator(".track").focus()
    page.keyboard.press("Home")
    expect(second).to_have_attribute("data-step", "0")
    page.keyboard.press("End")
    expect(second).to_have_attribute("data-step", "60")

    first.locator(".overlay").hover()
    page.mouse.wheel(0, -300)
    until(lambda: second.evaluate("root => root.map.scene.camera.zoomed > 1.5"), what="the maps are not zoomed")
    zooms = [
        one.evaluate("root => root.map.scene.camera.target?.k ?? root.map.scene.camera.view.k")
        for one in (first, second)
    ]
    homes = [one.evaluate("root => root.map.scene.camera.home().k") for one in (first, second)]
    assert zooms[0] / homes[0] == pytest.approx(zooms[1] / homes[1], rel=0.02)
    assert zooms[0] > 1.5 * homes[0]

    cell = page.locator("[data-cell=second]")
    count = int(cell.locator("b").inner_text().replace(",", ""))
    assert count > 0
    cell.click()
    for one in (first, second):
        expect(one).to_have_attribute("data-selected", str(count))
    expect(page.locator(".sheet .headline").first).to_contain_text(f"{count:,} selected")
    page.locator(".sheet .thumb").first.click()
    pinned = page.locator(".inspector").nth(1)
    expect(pinned).to_have_attribute("data-neighbors", "10")
    for one in (first, second):
        expect(one).to_have_attribute("data-pinned", pinned.get_attribute("data-subject"))

    # Two maps of one run: they share what is pinned.
    person.pick("Second run", "The same run, another map")
    expect(page).to_have_url(re.compile("view_a=tsne&view_b=umap"))
    for one, method in ((first, "tsne"), (second, "umap")):
        expect(one).to_have_attribute("data-run", other)
        expect(one).to_have_attribute("data-view", ProjectionConfig(method=method).id)
    expect(page.locator("tr", has_text="Distance correlation").locator("td", has_text="–")).to_have_count(0)
    page.go_back()
    expect(second).to_have_attribute("data-run", digits_run.id)

    page.get_by_role("button", name="Change one setting").click()
    menu = page.get_by_test_id("stPopoverBody")
    person.pick("Value", "Contrastive")
    menu.get_by_role("button", name="Train").click()
    expect(menu).to_be_hidden()  # it would lie on the map that is to be tracked
    expect(second).not_to_have_attribute("data-run", digits_run.id)
    expect(second).to_have_attribute("data-state", "finished")
    expect(first).to_have_attribute("data-run", other)
    changed = Runs(runs).get(second.get_attribute("data-run")).config
    assert changed == Runs(runs).get(other).config.replace(loss="contrastive")


def test_losses_race_from_one_start_and_one_player_moves_all_maps(person, runs, digits_run):
    page = person.page
    page.goto(f"{person.url}/compare?a={digits_run.id}&b={digits_run.id}")
    page.get_by_role("button", name="Race", exact=True).click()
    for _ in range(3):  # half of those that are there
        page.get_by_role("combobox", name="Losses", exact=True).press("Backspace")
    page.get_by_role("button", name="Race these losses").click()
    chart, maps = page.locator(".score-chart"), page.locator(".map[data-ready=true]")
    expect(maps).to_have_count(4)  # three losses and the untrained net
    expect(chart.get_by_role("slider")).to_have_attribute("aria-valuenow", str(digits_run.config.steps))
    *raced, untrained = [maps.nth(nth) for nth in range(4)]
    configs = [Runs(runs).get(one.get_attribute("data-run")).config for one in raced]
    assert len({config.loss for config in configs}) == len(raced)
    assert {(config.dataset, config.seed, config.steps) for config in configs} == {("digits", 0, 60)}
    for one in raced:
        expect(one).to_have_attribute("data-step", "60")
    expect(chart.locator("path[d]")).to_have_count(len(raced) + 1)  # and the button's sign
    expect(untrained).to_have_attribute("data-step", "0")
    chart.get_by_role("slider").press("Home")
    for one in raced:
        expect(one).to_have_attribute("data-step", "0")
