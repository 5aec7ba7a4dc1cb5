"""Several people on one server: they log in at a real OIDC provider, and share what they want to share."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from dmlviz_app.server.logs import pseudonym
from playwright.sync_api import Browser, Page, expect

from tests.browser.server_process import Server
from tests.processes import free_port
from tests.waiting import until

pytestmark = pytest.mark.browser

SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{app}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "dmlviz"
client_secret = "secret"
server_metadata_url = "http://127.0.0.1:{provider}/.well-known/openid-configuration"
"""
PEOPLE = """
[roles]
"grace@example.org" = "teacher"
"""


@contextmanager
def oidc_provider(port: int) -> Iterator[None]:
    """An OIDC provider that lets anybody in as Ada, Bob or Grace."""
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    for name in ("ada", "bob", "grace"):
        claims = {"sub": name, "email": f"{name}@example.org", "name": name.title()}
        command += ["--user-claims", json.dumps(claims)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a login; who does not log in is a guest."""
    home, port, provider = tmp_path_factory.mktemp("home"), free_port(), free_port()
    secrets = home / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir()
    secrets.write_text(SECRETS.format(app=port, provider=provider))
    (home / "people.toml").write_text(PEOPLE)
    command = [sys.executable, "-m", "dmlviz", "serve", "--no-browser", "--port", str(port)]
    command += ["--runs", str(home / "runs"), "--data", str(home / "data"), "--people", str(home / "people.toml")]
    with oidc_provider(provider):
        server = Server(command, {"HOME": str(home), "NUMBA_DISABLE_JIT": "1"})
        yield server
        server.close()
        assert "Traceback" not in server.log, server.log


@pytest.fixture
def arrive(chromium: Browser, school: Server):
    """`arrive("ada")`: a browser of her own, logged in; `arrive()`: one that is not."""
    contexts, errors = [], []

    def come(name: str = "") -> Page:
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(school.url)
        if name:
            page.get_by_role("button", name="Log in").click()
            page.get_by_role("button", name=name, exact=True).click()
            expect(page.get_by_test_id("stSidebar")).to_contain_text(name.title())
        return page

    yield come
    for context in contexts:
        context.close()
    assert errors == []


def train(page: Page, school: Server, settings: str) -> str:
    page.goto(f"{school.url}/?{settings}")
    page.locator(".st-key-train").get_by_role("button").click()
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


def test_a_run_is_private_until_it_is_shared_by_link_or_put_on_the_shelf(arrive, school):
    """What a person may do with another's run is shown by tests/app/people; here they log in, and follow links."""
    ada, grace = arrive("ada"), arrive()
    run = train(ada, school, "dataset=digits&net=mlp&steps=40&seed=3")
    address = f"/dmlviz/runs/{run}/tracked_items.json"
    assert [fetch_status(page, address) for page in (ada, grace)] == [200, 404]

    open_runs(ada)
    card(ada, run).get_by_role("button", name="Who sees it").click()
    card(ada, run).get_by_role("button", name="Everyone with the link").click()
    link = card(ada, run).get_by_role("textbox", name="Link")
    expect(link).to_have_value(re.compile("share="))
    assert card(ada, run).get_by_role("button", name="Everyone, on the shelf").count() == 0  # she is no teacher

    # Who opens it before the login sees it after the login: the way through the provider does not lose it.
    grace.goto(link.input_value())
    expect(grace.locator(f".map[data-run='{run}']")).to_have_attribute("data-ready", "true")
    expect(grace).not_to_have_url(re.compile("share="))
    grace.get_by_role("button", name="Log in").click()
    grace.get_by_role("button", name="grace", exact=True).click()
    expect(grace.locator(f".map[data-run='{run}']")).to_have_attribute("data-ready", "true")
    expect(grace.get_by_test_id("stSidebar")).to_contain_text("Grace")
    open_runs(grace)
    grace.get_by_role("button", name="Shared with me").click()
    expect(card(grace, run)).to_contain_text("Ada")
    expect(card(grace, run).get_by_role("button", name="Rename")).to_have_count(0)

    # Taken back, it is gone for her, and nothing of it is said.
    card(ada, run).get_by_role("button", name="Only me").click()
    expect(link).to_have_count(0)
    assert fetch_status(grace, address) == 404
    grace.goto(f"{school.url}/?run={run}")
    expect(grace.get_by_test_id("stSidebar")).to_contain_text("Run not found")

    # What a teacher puts on the shelf everybody sees, a guest too.
    lesson = train(grace, school, "dataset=digits&net=mlp&steps=40&seed=4")
    open_runs(grace)
    expect(grace.get_by_text("Queue: nothing under way.")).to_be_visible()
    grace.get_by_text("Limits: disk, jobs and uploads of each person").click()
    expect(grace.get_by_role("spinbutton", name="Guest: disk (GB)")).to_be_visible()
    grace.get_by_text("Limits: disk, jobs and uploads of each person").click()
    card(grace, lesson).get_by_role("button", name="Who sees it").click()
    card(grace, lesson).get_by_role("button", name="Everyone, on the shelf").click()
    expect(card(grace, lesson).locator("[aria-pressed=true][data-visibility=shelf]")).to_have_count(1)

    # Logged out, Ada is a guest, in this tab and for the routes.
    ada.goto(school.url)
    ada.get_by_role("button", name="Log out").click()
    ada.get_by_role("button", name="End session").click()  # at the provider
    expect(ada.get_by_role("button", name="Log in")).to_be_visible()
    assert fetch_status(ada, address) == 404

    open_runs(ada)
    ada.get_by_role("button", name="Shelf", exact=True).click()
    expect(card(ada, lesson)).to_contain_text("Grace")
    expect(card(ada, run)).to_have_count(0)

    # Logged in again, she has what she had.
    ada.goto(school.url)
    ada.get_by_role("button", name="Log in").click()
    ada.get_by_role("button", name="ada", exact=True).click()
    expect(ada.get_by_test_id("stSidebar")).to_contain_text("Ada")
    assert fetch_status(ada, address) == 200

    # The log names nobody, and tells them apart all the same.
    for name, role, logins in (("ada", "member", 2), ("grace", "teacher", 1)):
        line = f"login person={pseudonym(f'login:{name}@example.org')} role={role} method=oidc"
        until(lambda line=line, logins=logins: school.log.count(line) == logins)
    assert f"job kind=train run={run} owner={pseudonym('login:ada@example.org')} state=finished" in school.log
    assert "@example.org" not in school.log
