"""A training on another machine, as a person sees it: where it runs, what happens when that machine dies, the end."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_training_goes_on_elsewhere_when_its_machine_is_killed(fleet, visit):
    server, machines = fleet
    person = visit(at=server)
    person.train("dataset=digits&net=lenet&steps=20000")
    expect(person.words).to_contain_text(re.compile(r"Step \d.*on gpu-[12]$"))
    shot(person, "fleet-training")
    first = re.search(r"on (gpu-[12])", person.words.inner_text())[1]
    second = ({"gpu-1", "gpu-2"} - {first}).pop()
    machines[first].kill()
    expect(person.words).to_contain_text(f"{first} was lost. Begun again on {second}.")
    expect(person.words).to_contain_text(re.compile(r"Step \d\d"))
    shot(person, "fleet-begun-again")
    person.page.locator(".progress").get_by_role("button", name="Stop").click()
    person.map_has("state", "stopped")
    expect(person.map).to_have_attribute("data-ready", "true")
    shot(person, "fleet-stopped")
    person.page.get_by_role("link", name="Runs").click()
    expect(person.page.locator(".run-list")).to_contain_text(f"on {second}")
    shot(person, "fleet-runs")
    # Asked for at the moment in which the run was emptied; what it would draw is left out.
    person.errors[:] = [error for error in person.errors if "pixels.json" not in error]


def shot(person, name):
    """Keep a picture where one is asked for."""
    if folder := os.environ.get("DMLVIZ_SCREENSHOTS"):
        person.page.screenshot(path=str(Path(folder) / f"{name}.png"))
