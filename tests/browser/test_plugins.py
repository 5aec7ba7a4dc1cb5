"""Somebody brings a loss of their own in one file, the one that CONTRIBUTING.md walks through, and works with it."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
LOSS = ROOT / "examples" / "margin_ratio_loss.py"
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
OTHERS = [code for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if code != LOSS.read_text()]
SLOW = 60_000  # milliseconds; two busy cores


@pytest.fixture(scope="module")
def plugin_runs(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("plugin-runs")


@pytest.fixture(scope="module")
def plugin_server(plugin_runs, serve, tmp_path_factory):
    """The app with the loss of the examples, and with everything else that CONTRIBUTING.md shows in one more file."""
    others = tmp_path_factory.mktemp("plugins") / "shown_in_contributing.py"
    others.write_text("\n".join(OTHERS))
    return serve("--runs", plugin_runs, "--plugin", LOSS, "--plugin", others)


@pytest.fixture
def person(visit, plugin_server):
    return visit(at=plugin_server)


def choose(person, label, option):
    """Pick an option of a menu in the sidebar."""
    menu = person.page.get_by_label(label, exact=True)
    menu.click()
    menu.fill(option.partition(" · ")[0])
    person.page.get_by_role("option", name=option, exact=True).click()
    expect(menu).to_have_value(option)


def train(person):
    person.press("Train")
    expect(person.page).to_have_url(re.compile("run=[0-9a-f]{16}"))
    run = person.page.url.partition("run=")[2][:16]
    person.map_has("run", run)
    person.map_has("state", "finished")
    return run


def test_a_loss_in_one_file_trains_is_explained_and_leaves_with_the_run(person, plugin_runs, chromium, tmp_path):
    person.open("?dataset=digits&net=mlp&steps=60")
    page = person.page
    choose(person, "Loss", "Margin ratio · plug-ins")
    expect(page.get_by_label("Ratio", exact=True)).to_have_value("0.5")
    page.get_by_label("Ratio", exact=True).fill("0.4")
    page.get_by_label("Ratio", exact=True).press("Enter")
    expect(page).to_have_url(re.compile(r"loss\.ratio=0\.4"))
    run = train(person)
    config = json.loads((plugin_runs / run / "run.json").read_text())["config"]
    assert config["loss"] == "margin_ratio"
    assert config["loss_params"] == {"ratio": 0.4, "distance": "euclidean", "reduction": "mean"}
    assert float(person.score("precision_at_1")) > 0.8
    page.screenshot(path="/tmp/pluginstory-shots/1-trained.png")

    page.locator(".lossview .bar").get_by_role("button", name="What the loss sees").click()
    batch = page.locator(".lossview .batch")
    expect(batch.locator(".sentence")).to_contain_text("negative gradient", timeout=SLOW)
    page.wait_for_timeout(1500)
    batch.scroll_into_view_if_needed()
    page.screenshot(path="/tmp/pluginstory-shots/2-batch.png")
    print(batch.inner_text())

    page.get_by_role("link", name="Learn", exact=True).click()
    page.get_by_placeholder(re.compile("Search")).fill("Margin ratio")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Margin ratio · loss", exact=True).click()
    plot = page.locator(".lossplot")
    expect(plot).to_have_attribute("data-ready", "true")
    plane = page.locator(".plane")
    expect(plane).to_have_attribute("data-ready", "true")
    page.screenshot(path="/tmp/pluginstory-shots/3-learn.png")
    plane.scroll_into_view_if_needed()
    page.wait_for_timeout(1000)
    page.screenshot(path="/tmp/pluginstory-shots/4-forces.png")
    print(plot.inner_text(), {**plot.evaluate("e => ({...e.dataset})")})
    print(plane.inner_text(), {**plane.evaluate("e => ({...e.dataset})")})

    page.go_back()
    person.open(f"?run={run}")
    person.press("Export")
    with page.expect_download() as download:
        page.locator(".export").get_by_role("link", name="Page to pass on").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    alone = chromium.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    exported, said = alone.new_page(), []
    exported.on("console", lambda message: said.append(message.text))
    exported.on("pageerror", lambda error: said.append(str(error)))
    exported.goto(file.as_uri())
    expect(exported.locator(".map")).to_have_attribute("data-ready", "true", timeout=SLOW)
    exported.wait_for_timeout(1000)
    exported.screenshot(path="/tmp/pluginstory-shots/5-export.png")
    print(exported.locator("header").inner_text(), said)
    alone.close()
