"""Every page can be opened by its address, and nothing that it asks for is missing."""

import pytest
from playwright.sync_api import Request, Response

pytestmark = pytest.mark.browser

PAGES = {
    "": ".map[data-ready=true]",
    "compare": ".compare-scores[data-ready=true]",
    "runs": ".run-list .run",
    "learn": ".st-key-learn",
}


def test_no_request_of_a_page_fails(visit, digits_run):
    person = visit()  # who complains of every error in the console
    failures: list[str] = []

    def note(answer: Response) -> None:
        if answer.status >= 400:
            failures.append(f"{answer.status} {answer.url}")

    def note_failure(request: Request) -> None:
        ended = request.failure == "net::ERR_ABORTED" and request.url.endswith("/events")
        if not ended:  # the page leaves a stream itself when it has heard the run's last event
            failures.append(f"{request.failure} {request.url}")

    for name, ready in PAGES.items():
        page = person.tab()
        page.on("response", note)
        page.on("requestfailed", note_failure)
        page.goto(f"{person.url}/{name}?run={digits_run.id}")
        page.locator(ready).first.wait_for()
        page.wait_for_load_state("networkidle")
        page.remove_listener("response", note)
        assert failures == [], name
