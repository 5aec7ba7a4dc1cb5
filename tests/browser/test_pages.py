"""Every page opens by its address, misses no file, and can be used by keyboard and screen reader.

axe-core checks the last, in both themes, and where everything is twice as large.
"""

import re
from importlib.resources import files

import pytest
from playwright.sync_api import Request, Response, expect

pytestmark = pytest.mark.browser

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
LOOK = """async (colorsOnly) => {
  const practices = ["empty-table-header", "heading-order"]; // of all best practices
  const all = {
    runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] },
    rules: Object.fromEntries(practices.map((name) => [name, { enabled: true }])),
  };
  const rules = colorsOnly ? { runOnly: { type: "rule", values: ["color-contrast"] } } : all;
  const { violations } = await axe.run(document, { ...rules, resultTypes: ["violations"] });
  const where = ({ target, any }) => `${target.join(" ")} (${any[0]?.message ?? ""})`;
  return violations.map(({ id, help, nodes }) =>
    `${id}: ${help}: ${nodes.slice(0, 5).map(where).join("; ")}`);
}"""
PAGES = {  # with what is there when they are ready
    "": ".inspector button.row",
    "compare": ".compare-scores .agreement .share",
    "runs": ".run-list .run",
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
        page.remove_listener("response", note)
        page.remove_listener("requestfailed", note_failure)
        violations[name or "explore"] = accessibility_violations(page)

    search = page.get_by_placeholder(re.compile("Search"))
    search.fill("Schroff triplet")
    search.press("Enter")
    page.get_by_role("link", name=re.compile("^Triplet The positive")).click()
    page.locator(".force-playground[data-ready=true]").wait_for()
    page.locator(".lossplot[data-ready=true]").wait_for()
    violations["an entry of learn"] = accessibility_violations(page)
    person.open_lab("margins")
    page.get_by_role("heading", name="Keep", exact=True).wait_for()
    violations["a lab"] = accessibility_violations(page)
    sentences = [f"{name}: {sentence}" for name, several in violations.items() for sentence in several]
    assert not sentences, "\n".join(sentences)


def accessibility_violations(page) -> list[str]:
    """What axe-core finds in either theme, and at 200 %, a sentence each."""
    page.evaluate(AXE)
    sentences = []
    for theme, ground in (("dark", "rgb(20, 22, 27)"), ("light", "rgb(255, 255, 255)")):
        page.emulate_media(color_scheme=theme)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
        page.wait_for_timeout(300)  # colors fade from one theme to the other
        for _ in range(10):  # which takes a busy machine longer
            if not (violations := page.evaluate(LOOK, theme == "dark")):  # the themes differ in colors only
                break
            page.wait_for_timeout(1000)
        sentences += [f"{theme}: {sentence}" for sentence in violations]
    size = page.viewport_size
    page.set_viewport_size({name: length // 2 for name, length in size.items()})  # as a browser's zoom does
    page.wait_for_timeout(500)
    sentences += [f"at 200 %: {sentence}" for sentence in page.evaluate(LOOK, False)]
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        sentences.append("at 200 %: the page scrolls sideways")
    page.set_viewport_size(size)
    return sentences
