"""The page Labs: all labs, and one that is run to its figure."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dmlviz.labs.registry import LABS
from tests.browser.accessibility import accessibility_violations

pytestmark = pytest.mark.browser


def test_a_lab_is_found_run_to_its_figure_and_kept(person):
    page = person.page
    page.goto(f"{person.url}/labs")
    for lab in LABS.values():
        expect(page.get_by_role("link", name=f"{lab.title} {lab.question}")).to_be_visible()
    page.get_by_role("link", name="Counting How large").click()
    expect(page).to_have_url(re.compile("lab=counting"))
    expect(page.get_by_role("heading", name="Keep")).to_be_visible()  # the page's last part
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Done: 3 trials.")).to_be_visible()
    page.get_by_role("button", name="no", exact=True).click()
    expect(page.get_by_text("It is.", exact=True)).to_be_visible()
    expect(page.locator(".st-key-lab-open .main-svg").first).to_be_visible()
    expect(page.locator(".st-key-lab-open .points path.point")).to_have_count(3)
    assert accessibility_violations(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="Numbers (CSV)").click()
    lines = sorted(Path(download.value.path()).read_text().splitlines())
    assert lines[-1] == "squares,measured,2,4.0,,,1"
    page.reload()
    expect(page.get_by_text("You guessed: no.")).to_be_visible()
