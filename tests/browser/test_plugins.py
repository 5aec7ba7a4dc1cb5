"""Somebody brings a loss of their own in one file, the one that docs/EXTENDING.md walks through, and works with it."""

import json
import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def choose(person, label, option, query):
    """Pick an option of a menu in the sidebar, and see it there and in the address: other menus may depend on it."""
    person.pick(label, option)
    expect(person.page.get_by_label(label, exact=True)).to_have_value(option)
    expect(person.page).to_have_url(re.compile(query))


def drawn(canvas):
    """Whether a canvas shows more than one color."""
    return canvas.evaluate(
        "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size > 1"
    )


def train(person):
    """Train to the end; the map never takes the end of the run before for that of the new one."""
    person.map.evaluate(
        """root => {
            root.states = [];
            const note = () => root.states.push([root.dataset.run, root.dataset.state]);
            new MutationObserver(note).observe(root, {attributeFilter: ["data-run", "data-state"]});
        }"""
    )
    person.press("Train")
    expect(person.page).to_have_url(re.compile("run=[0-9a-f]{16}"))
    run = person.page.url.partition("run=")[2][:16]
    person.map_has("run", run)
    person.map_has("state", "finished")
    states = [state for seen, state in person.map.evaluate("root => root.states") if seen == run]
    assert states.count("finished") == 1, states
    assert states[-1] == "finished", states
    return run


def test_a_plug_in_loss_is_chosen_trains_and_shows_what_it_sees(person, runs):
    person.open("?dataset=digits&net=mlp&steps=20&num_snapshots=5")
    page = person.page
    choose(person, "Loss", "Margin ratio · plug-ins", "loss=margin_ratio")
    expect(page.get_by_label("Ratio", exact=True)).to_have_value("0.5")
    page.get_by_label("Ratio", exact=True).fill("0.4")
    page.get_by_label("Ratio", exact=True).press("Enter")
    expect(page).to_have_url(re.compile(r"loss\.ratio=0\.4"))
    run = train(person)
    config = json.loads((runs / run / "run.json").read_text())["config"]
    assert (config["loss"], config["loss_params"]["ratio"]) == ("margin_ratio", 0.4)
    expect(page.locator("[data-score=precision_at_1] .value")).to_have_text(re.compile(r"0\.[89]"))

    page.locator(".lossview .bar").get_by_role("button", name="What the loss sees").click()
    batch = page.locator(".lossview .batch")
    expect(batch.locator(".sentence")).to_contain_text(re.compile(r"longest is 0\.0*[1-9]"))
    expect(batch.locator(".term")).to_contain_text("positive")
    expect(batch.locator(".formulas")).to_contain_text("ρ")
    assert drawn(batch.locator("canvas").first), "no point of the batch is drawn"


def test_plug_ins_of_the_other_kinds_are_trained_with_and_drawn(person, runs):
    person.open("?loss=triplet&steps=20&num_snapshots=5&sampler=with_replacement&batch_size=32")
    page = person.page
    choose(person, "Data", "Stripes", "dataset=stripes")
    page.locator("[data-testid=stSidebar]").get_by_text("More", exact=True).click()
    choose(person, "Net", "Linear", "net=linear")
    choose(person, "Miner", "First negative", "miner=first_negative")
    config = json.loads((runs / train(person) / "run.json").read_text())["config"]
    names = [config[field] for field in ("dataset", "net", "miner", "sampler")]
    assert names == ["stripes", "linear", "first_negative", "with_replacement"]
    expect(person.map.locator(".class .name")).to_have_text(["across", "along"])
    expect(page.locator("[data-score=precision_at_1] .value")).to_have_text("1.000")

    page.get_by_label("More projections").select_option(label="Random plane")
    person.map_has("view", re.compile("[0-9a-f]{16}"))
    person.map_has("state", "finished")
    person.map_has("points", "20")
    expect(page.locator(".map")).to_contain_text("Points that lie together here may be far apart")


def test_a_feature_in_a_package_brings_a_page_a_route_work_and_a_command(package, person, digits_run):
    person.open()
    person.page.get_by_role("link", name="Class sizes", exact=True).click()
    expect(person.page).to_have_url(re.compile("/class-sizes"))
    link = person.page.locator(f"a[href*='runs/{digits_run.id}/']")
    with person.page.context.expect_page() as opened:  # Streamlit opens links in a new tab
        link.click()
    sizes = json.loads(opened.value.inner_text("body"))
    opened.value.close()
    assert list(sizes) == [str(digit) for digit in range(10)]
    assert sum(sizes.values()) == 596

    def said(*words):
        command, environment = [sys.executable, "-m", "dmlviz", *words], os.environ | {"PYTHONPATH": str(package)}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60).stdout

    counted = said("class-sizes", digits_run.id, "--runs", str(digits_run.path.parent))
    assert counted == "".join(f"{name}: {sizes[name]}\n" for name in sizes)
    assert "Count the test images of each class of a run." in said("--help")
