"""Code on Learn's pages, of an entry and the library's own file, and figures to move."""

from collections.abc import Iterable
from html import escape
from typing import Any

from dmlviz.lessons.examples import PACKAGE, example, loop
from dmlviz.lessons.figure_specs import FIGURES, FigureSpec
from dmlviz_app.forms import view_state as explore
from dmlviz_app.learn.protocol import CodeTabProps, SmallFigure, SmallFiguresProps
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets.components import mount
from dmlviz_app.workbench.current_view import shown_run

_SOURCE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 13px/1.5 ui-monospace, monospace; white-space: pre }}
span::before {{ content: attr(id); display: inline-block; width: 4em; opacity: .5 }}
:target {{ background: color-mix(in srgb, Highlight 30%, Canvas) }}</style>{lines}</html>"""


def show_code(kind: str, name: str) -> None:
    """Render the code of an entry; it can be stepped through with images of the run that Explore shows."""
    shown, ui = example(kind, name), explore.saved_state()
    run = shown_run(ui, session_services()) if ui.run else None
    run = run if run is not None and run.embedded_steps else None
    entry = f"code/{kind}/{name}"
    props = CodeTabProps(
        code=shown.code,
        start=shown.start,
        about=shown.about,
        use=shown.use,
        loop=loop(kind, name),
        source=f"{shown.source}, line {shown.line}",
        source_url=f"{ROUTES}/{entry}/source.html#{shown.line}",
        steps_url=f"{ROUTES}/runs/{run.id}/{entry}/steps.json" if run else f"{ROUTES}/{entry}/steps.json",
        run=run.title if run else "",
    )
    mount("code_tab", key="code_tab", data=props)


def source_page(path: str) -> str:
    """Return a file of the library as a page whose lines are named by their numbers."""
    text = (PACKAGE.parent / path).read_text(encoding="utf-8")
    lines = [f'<span id="{number}">{escape(line)}</span>' for number, line in enumerate(text.splitlines(), 1)]
    return _SOURCE.format(title=escape(path), lines="\n".join(lines))


def figures_of(kind: str, name: str) -> list[FigureSpec]:
    """Return the figures of an entry."""
    return [spec for spec in FIGURES.values() if f"{kind}/{name}" in spec.pages]


def show_figures(specs: Iterable[FigureSpec]) -> None:
    """Render figures."""
    mount("small_figures", key="small_figures", data=SmallFiguresProps(figures=[_told(spec) for spec in specs]))


def _told(spec: FigureSpec) -> SmallFigure:
    sliders: list[Any] = [dict(slider) for slider in spec.sliders]
    return SmallFigure(name=spec.name, title=spec.title, see=spec.see, x=spec.x, y=spec.y, sliders=sliders)
