"""The app's pages without a browser, as Streamlit's AppTest runs them."""

import re
from pathlib import Path

import dmlviz_app
from streamlit.testing.v1 import AppTest

MAIN = Path(dmlviz_app.__file__).parent / "page.py"


def run(page: AppTest) -> AppTest:
    """Run a page, and see that nothing goes wrong."""
    page.run()
    assert not page.exception
    assert not any("details in the log" in caption.value for caption in page.caption)
    return page


def open_page(name: str = "", **query: object) -> AppTest:
    """Open a page by its address; the first one without a name."""
    page = AppTest.from_file(str(MAIN), default_timeout=120)
    if name:
        page.run().switch_page(str(MAIN.parent / name / "page.py"))
        page.query_params.clear()
    page.query_params.update({field: str(value) for field, value in query.items()})
    return run(page)


def without_terms(text: str) -> str:
    """Return a Markdown text without its links to the glossary."""
    return re.sub(r"\[([^\]]+)\]\(learn\?topic=glossary#[^)]+\)", r"\1", text)


class Page:
    """A page that is open."""

    def __init__(self, **query: object) -> None:
        self.test = open_page(**query)

    def run(self) -> "Page":
        run(self.test)
        return self
