"""Several people on one server: they come by the link of their role, and share what they want to share."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import School

pytestmark = pytest.mark.browser


@pytest.fixture
def arrive(come, school: School):
    """`arrive("teacher")`: a browser of their own, let in by that link; `arrive("")`: one without a link."""

    def somebody(role: str, settings: str = "") -> Page:
        page = come(1280, 800)
        page.goto(f"{school.url}/?token={school.tokens[role]}{settings}" if role else school.url)
        if role:
            expect(page.get_by_test_id("stSidebar")).to_contain_text(f"· {role}")
            assert "token" not in page.url
        return page

    return somebody


def train(page: Page) -> str:
    page.locator(".st-key-train-top").get_by_role("button").click()  # the drawer is closed on a first visit
    expect(page).to_have_url(re.compile("run=[0-9a-f]{16}"))
    run = re.search("run=([0-9a-f]{16})", page.url)
    assert run
    expect(page.locator(f".map[data-run='{run[1]}'][data-state=finished]")).to_be_attached()
    return run[1]


def open_runs(page: Page) -> None:
    """Go from Explore to Runs."""
    page.get_by_test_id("stPageLink-NavLink").filter(has_text=re.compile("^Runs$")).click()
    expect(page.locator(".run-list")).to_have_attribute("data-ready", "true")


def card(page: Page, run: str):
    return page.locator(f".run[data-run='{run}']")


def fetch_status(page: Page, path: str) -> int:
    return page.evaluate("path => fetch(path).then((answer) => answer.status)", path)


def test_a_run_is_private_until_it_is_shared_by_link(arrive, school):
    """What a person may do with another's run is shown by tests/app/people; here they come by links."""
    ada, grace, stranger = arrive("member", "&dataset=digits&net=mlp&steps=1&seed=3"), arrive("teacher"), arrive("")
    run = train(ada)
    address = f"{school.url}/dmlviz/runs/{run}/tracked_items.json"
    assert [fetch_status(page, address) for page in (ada, grace, stranger)] == [200, 404, 401]
    expect(stranger.get_by_role("heading")).to_have_text("This server asks for its access token")

    open_runs(ada)
    card(ada, run).get_by_role("button", name="Who sees it").click()
    card(ada, run).get_by_role("button", name="Everyone with the link").click()
    link = card(ada, run).get_by_role("textbox", name="Link")
    expect(link).to_have_value(re.compile("share="))
    assert card(ada, run).get_by_role("button", name="Everyone", exact=True).count() == 0  # she is no teacher

    grace.goto(link.input_value())
    expect(grace.locator(f".map[data-run='{run}']")).to_have_attribute("data-ready", "true")
    expect(grace).not_to_have_url(re.compile("share="))
    open_runs(grace)
    grace.get_by_role("button", name="Shared with me").click()
    expect(card(grace, run)).to_contain_text("Visitor")
    expect(card(grace, run).get_by_role("button", name="Rename")).to_have_count(0)

    # Taken back, it is gone for her, and nothing of it is said.
    card(ada, run).get_by_role("button", name="Only me").click()
    expect(link).to_have_count(0)
    assert fetch_status(grace, address) == 404
    grace.goto(f"{school.url}/?run={run}")
    expect(grace.get_by_text("Run not found")).to_be_visible()
