"""Figures to move on Learn's pages."""

from collections.abc import Iterable
from typing import Any

from dmlviz.lessons.figure_specs import FIGURES, FigureSpec
from dmlviz_app.learn.protocol import SmallFigure, SmallFiguresProps
from dmlviz_app.widgets.components import mount


def figures_of(kind: str, name: str) -> list[FigureSpec]:
    """Return the figures of an entry."""
    return [spec for spec in FIGURES.values() if f"{kind}/{name}" in spec.pages]


def show_figures(specs: Iterable[FigureSpec]) -> None:
    """Render figures."""
    mount("small_figures", key="small_figures", data=SmallFiguresProps(figures=[_told(spec) for spec in specs]))


def _told(spec: FigureSpec) -> SmallFigure:
    sliders: list[Any] = [dict(slider) for slider in spec.sliders]
    return SmallFigure(name=spec.name, title=spec.title, see=spec.see, x=spec.x, y=spec.y, sliders=sliders)
