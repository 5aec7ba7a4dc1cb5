"""Every page is accessible by keyboard and screen reader: axe-core checks it in both themes."""

import re
from importlib.resources import files

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
LOOK = """async () => {
  const rules = { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21aa"] }, resultTypes: ["violations"] };
  const { violations } = await axe.run(document, rules);
  const where = ({ target, any }) => `${target.join(" ")} (${any[0]?.message ?? ""})`;
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, help, nodes }) =>
    `${id}: ${help}: ${nodes.slice(0, 5).map(where).join("; ")}`);
}"""
GO = ("Compare", "Runs", "Learn")


def test_no_page_has_a_serious_accessibility_problem(visit, digits_run):
    person = visit()
    person.open(f"?run={digits_run.id}&pin=10")
    expect(person.page.locator(".inspector button.row")).to_have_count(10)
    found = {"Explore": findings(person.page)}
    for page in GO:
        person.page.get_by_test_id("stPageLink-NavLink").filter(has_text=re.compile(f"^{page}$")).click()
        ready = {"Compare": ".compare-scores[data-ready=true]", "Runs": ".run-list .run", "Learn": ".st-key-learn"}[
            page
        ]
        person.page.locator(ready).first.wait_for()
        found[page] = findings(person.page)
    person.page.get_by_placeholder(re.compile("Search")).fill("Schroff triplet")
    person.page.keyboard.press("Enter")
    person.page.get_by_role("link", name="Triplet · loss", exact=True).click()
    person.page.locator(".force-playground[data-ready=true]").wait_for()
    person.page.locator(".lossplot[data-ready=true]").wait_for()
    found["an entry of Learn"] = findings(person.page)
    said = [f"{page}: {finding}" for page, several in found.items() for finding in several]
    assert not said, "\n".join(said)


def findings(page):
    """What axe-core finds in either theme that is serious or critical, a sentence each."""
    page.evaluate(AXE)
    said = []
    for theme, ground in (("dark", "rgb(20, 22, 27)"), ("light", "rgb(255, 255, 255)")):
        page.emulate_media(color_scheme=theme)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
        page.wait_for_timeout(300)  # colors fade from one theme to the other
        said += [f"{theme}: {finding}" for finding in page.evaluate(LOOK)]
    return said
