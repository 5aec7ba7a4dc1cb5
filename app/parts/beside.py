"""The parts of the Compare page: which two runs, how far the one that learns is, their maps, what tells them apart."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app import compare, feed
from app.compare import CompareState, Pair
from app.components import mount
from app.parameters import controlled
from app.parts import stage
from app.services import Services
from app.shown import Shown
from dmlviz.data.declared import DATASETS
from dmlviz.errors import UserError
from dmlviz.record import Run

SIDES = ("a", "b")
WORDS = {
    "a": "Click a point: its nearest test images in both runs appear here and beside. Click a number in the table, or "
    "select on a map: those images appear here.",
    "b": "The same image, with its nearest test images in the second run.",
}


def chosen(ui: CompareState, services: Services, pair: Pair) -> None:
    """A select box for each side, and how the settings differ."""
    runs = {run.id: run for run in services.runs.list()}
    left, right = st.columns(2)
    for column, side, label in ((left, "a", "First run"), (right, "b", "Second run")):

        def choose(run: str, side: str = side) -> None:
            ui.notes.clear()
            ui.choose(*((run, ui.b) if side == "a" else (ui.a, run)))

        with column:
            controlled(
                st.selectbox,
                label,
                f"compare.{side}",
                getattr(ui, side),
                choose,
                options=list(runs),
                format_func=lambda run: _named(runs[run]) if run in runs else "–",
                label_visibility="collapsed",
                placeholder="Choose a run",
            )
    st.caption(_told(pair))


def _named(run: Run) -> str:
    score = run.score("precision_at_1")
    facts = [run.title, f"{run.config.embedding_dim}-d", f"{run.config.steps:,} steps"]
    return " · ".join([*facts, *([] if score is None else [f"P@1 {score:.3f}"])])


def _told(pair: Pair) -> str:
    """How the two differ, or why they cannot be compared, in a sentence."""
    if pair.b is None:
        data = DATASETS[pair.a.run.config.dataset].title
        return f"There is no other run of {data} yet: train one, with One thing changed or in Explore."
    if not pair.alike:
        one, other = (DATASETS[shown.run.config.dataset].title for shown in (pair.a, pair.b))
        return (
            f":orange[The first run is of {one}, the second of {other}: neither their images nor their scores can be "
            "set side by side. Choose two runs of the same data.]"
        )
    a, b = pair.a.run.config, pair.b.run.config
    parts = [f"{name} {one} → {other}" for name, one, other in compare.differences(a, b)]
    differ = "Same settings" if not parts else f"From first to second: {', '.join(parts)}"
    if a.steps == b.steps:
        return f"{differ}. Maps go step by step together."
    return (
        f"{differ}. Their lengths differ, so maps go together by the share of the training: step {a.steps // 2:,} of "
        f"{a.steps:,} beside step {b.steps // 2:,} of {b.steps:,}."
    )


def progress(ui: CompareState, services: Services, pair: Pair, routes: bool) -> None:
    """How far the run is that learns."""
    live = compare.live_side(pair)
    if live is not None:
        stage.progress(compare.as_explored(live, ui), services, live, routes)


def maps(ui: CompareState, services: Services, seen: Pair, routes: bool) -> None:
    """Both maps, and below them scores, disagreements and neighbours."""
    here = compare.found(ui, services, None)
    if here is None or standing(here) != standing(seen):
        st.rerun()
    columns = st.columns(2)
    for column, side, one in zip(columns, SIDES, (here.a, here.b), strict=True):
        if one is None:
            continue
        with column:
            mount(
                "map",
                key=f"map.{side}",
                data=compare.map_data(one, ui, here.alike, routes),
                on_pinned_change=_from(ui, f"map.{side}", "pinned"),
                on_selected_change=lambda: None,
                on_ended_change=lambda: None,
                on_routes_change=lambda: None,
            )
    if not here.alike:
        return
    table, *panels = st.columns([4, 3, 3])
    with table:
        mount("versus", key="versus", data=compare.versus_data(here, routes))
    for column, side, one in zip(panels, SIDES, (here.a, here.b), strict=True):
        if one is not None:
            with column:
                data = _neighbours(ui, one, side, routes)
                mount(
                    "inspector", key=f"inspector.{side}", data=data, on_pin_change=_from(ui, f"inspector.{side}", "pin")
                )


def standing(pair: Pair) -> list[tuple[Any, ...] | None]:
    """What the parts of the page have in common."""
    return [None if one is None else (one.run.id, one.live, one.complete, feed.begun(one)) for one in (pair.a, pair.b)]


def _neighbours(ui: CompareState, one: Shown, side: str, routes: bool) -> dict[str, Any]:
    try:
        if ui.pinned is not None:
            near = one.run.neighbours(ui.pinned, 10)
            data = feed.pinned_data(one, compare.as_explored(one, ui), ui.pinned, near, routes)
            return data | {"metric": "", "sheet": side == "a"}
    except UserError:  # not embedded at this step
        pass
    return {"placeholder": WORDS[side], "sheet": side == "a"}


def _from(ui: CompareState, key: str, name: str) -> Callable[[], None]:
    def changed() -> None:
        ui.pinned = st.session_state[key].get(name)

    return changed
