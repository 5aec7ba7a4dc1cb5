"""The page Labs: all labs with their ready-made results, and one that is run to its figure."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.registry import LABS

pytestmark = pytest.mark.browser

# Most labs have stories of their own, which begin with the guess.
OTHERS = ("test_lab_activities.py", "test_lab_playgrounds.py", "test_pages.py")
STORIES = "".join((Path(__file__).parent / name).read_text() for name in OTHERS)
GUESSED_ELSEWHERE = set(re.findall(r'(?:open_lab|guess)\("([a-z-]+)"', STORIES))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [name for name in LABS if ready_made(name) and name not in GUESSED_ELSEWHERE])
def test_a_lab_shows_its_ready_made_figure_after_a_guess(person, name):
    person.open_lab(name)


def test_a_lab_is_found_run_to_its_figure_and_kept(person):
    page = person.page
    page.goto(f"{person.url}/labs")
    for lab in LABS.values():
        expect(page.get_by_role("link", name=f"{lab.title} {lab.question}")).to_be_visible()
    page.get_by_role("link", name="Counting How large").click()
    expect(page).to_have_url(re.compile("lab=counting"))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Done: 3 trials.")).to_be_visible()
    page.get_by_role("button", name="no", exact=True).click()
    expect(page.get_by_text("It is.", exact=True)).to_be_visible()
    expect(page.locator(".st-key-lab-open .main-svg").first).to_be_visible()
    expect(page.locator(".st-key-lab-open .points path.point")).to_have_count(3)
    with page.expect_download() as download:
        page.get_by_role("link", name="Numbers (CSV)").click()
    lines = sorted(Path(download.value.path()).read_text().splitlines())
    assert lines[-1] == "squares,measured,2,4.0,,,1"
    page.reload()
    expect(page.get_by_text("You guessed: no.")).to_be_visible()
