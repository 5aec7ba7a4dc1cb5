"""Every page opens by its address, misses no file, and can be used by keyboard and screen reader.

axe-core checks the last, in both themes, and where everything is twice as large; entries of Learn and labs in their own
stories.
"""

import pytest
from playwright.sync_api import Request, Response, expect

from tests.browser.accessibility import accessibility_violations

pytestmark = pytest.mark.browser

PAGES = {  # with what is there when they are ready
    "": ".inspector button.row",
    "compare": ".compare-scores .agreement .share",
    "runs": ".run-list .run",
    "class": "code:text('dmlviz serve --shared')",  # on a server for one person: how to start a shared one
    "learn": ".st-key-learn",
}


def test_every_page_opens_by_its_address_with_all_its_files_and_is_accessible(visit, digits_run):
    person = visit()  # who complains of every error in the console
    page = person.page
    failures: list[str] = []

    def note(answer: Response) -> None:
        if answer.status >= 400:
            failures.append(f"{answer.status} {answer.url}")

    def note_failure(request: Request) -> None:
        ended = request.failure == "net::ERR_ABORTED" and request.url.endswith("/events")
        if not ended:  # the page leaves a stream itself when it has heard the run's last event
            failures.append(f"{request.failure} {request.url}")

    violations = {}
    for name, ready in PAGES.items():
        page.goto("about:blank")  # what a page leaves unfinished is no failure
        page.on("response", note)
        page.on("requestfailed", note_failure)
        page.goto(f"{person.url}/{name}?run={digits_run.id}&pin=10")
        page.locator(ready).first.wait_for()
        page.wait_for_load_state("networkidle")
        assert failures == [], name
        expect(page.locator(".opening")).to_be_hidden(timeout=2000)  # what is seen until the page's styles are there
        page.remove_listener("response", note)
        page.remove_listener("requestfailed", note_failure)
        violations[name or "explore"] = accessibility_violations(page)
    sentences = [f"{name}: {sentence}" for name, several in violations.items() for sentence in several]
    assert not sentences, "\n".join(sentences)
