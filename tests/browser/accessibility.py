"""What axe-core finds on a page."""

from importlib.resources import files

from playwright.sync_api import Page, expect

GROUNDS = {"dark": "rgb(20, 22, 27)", "light": "rgb(255, 255, 255)"}
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
LOOK = """async ([colors, part]) => {
  const practices = ["empty-table-header", "heading-order"]; // of all best practices
  const others = {
    runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] },
    rules: {
      "color-contrast": { enabled: false },
      ...Object.fromEntries(practices.map((name) => [name, { enabled: true }])),
    },
  };
  const rules = colors ? { runOnly: { type: "rule", values: ["color-contrast"] } } : others;
  const { violations } = await axe.run(part, { ...rules, resultTypes: ["violations"] });
  const where = ({ target, any }) => `${target.join(" ")} (${any[0]?.message ?? ""})`;
  return violations.map(({ id, help, nodes }) =>
    `${id}: ${help}: ${nodes.slice(0, 5).map(where).join("; ")}`);
}"""

# What is wider than its frame: the page, its main part, the sidebar.
WIDE = """["html", "#stMain", "[data-testid=stSidebarContent]"].filter((name) => {
  const { scrollWidth = 0, clientWidth = 0 } = document.querySelector(name) ?? {};
  return scrollWidth > clientWidth + 1;
})"""


def color_violations(page: Page, themes: tuple[str, ...] = ("dark", "light"), part: str = "html") -> list[str]:
    """Texts of a part that are too pale in one of the themes, a sentence each; nine tenths of what axe-core does."""
    page.evaluate(AXE)
    sentences = []
    shown = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
    for theme in sorted(themes, key=shown.__ne__):  # that of now first: with another one all is drawn anew
        page.emulate_media(color_scheme=theme)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS[theme])
        page.wait_for_timeout(300)  # colors fade from one theme to the other
        for _ in range(10):  # which takes a busy machine longer
            if not (violations := page.evaluate(LOOK, [True, part])):
                break
            page.wait_for_timeout(1000)
        sentences += [f"{theme}: {sentence}" for sentence in violations]
    return sentences


def accessibility_violations(page: Page, part: str = "#stMain") -> list[str]:
    """What axe-core finds in a part: colors in either theme, all else in one, also at 200%; a sentence each.

    What lies around the main part is the same on all pages, and half of what axe-core does.
    """
    sentences = color_violations(page, part=part)
    sentences += page.evaluate(LOOK, [False, part])
    size = page.viewport_size
    page.set_viewport_size({name: length // 2 for name, length in size.items()})  # as a browser's zoom does
    page.wait_for_timeout(500)
    sentences += [f"at 200%: {sentence}" for sentence in page.evaluate(LOOK, [False, part])]
    if wide := page.evaluate(WIDE):
        sentences.append(f"at 200%: these scroll sideways: {wide}")
    page.set_viewport_size(size)
    return sentences
