"""Above the map: which run, and how it is drawn."""

from datetime import UTC, datetime

import streamlit as st

from app.identity import owner
from app.parameters import controlled, parameter_form
from app.parts import keep
from app.services import Services
from app.shown import Shown
from app.state import LIVE, VIEWS, UIState
from dmlviz.bases import native_view
from dmlviz.data.declared import DATASETS
from dmlviz.errors import UserError
from dmlviz.projection.declared import PROJECTIONS

RUNS_LISTED = 12
POPOVER = 320  # pixels


def toolbar(ui: UIState, services: Services, shown: Shown, routes: bool) -> None:
    """Which run, how it is drawn, and how to keep it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _views(ui, services, shown)
        with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
            keep.keep(shown, routes)
            _runs(ui, services, shown)


def _views(ui: UIState, services: Services, shown: Shown) -> None:
    config = shown.run.config
    native = native_view(config.embedding_dim, len(DATASETS[config.dataset].classes))
    offered = [name for name in VIEWS if name != native and not (native == "plane" and PROJECTIONS[name].linear)]
    names = {LIVE: PROJECTIONS[native].title} | {name: PROJECTIONS[name].title for name in offered}

    def chosen(view: str) -> None:
        ui.notes.clear()
        ui.view = view

    def again() -> None:
        wanted = ui.projection()
        if wanted is not None:
            try:  # one that was stopped is on disk already, and would not start by itself
                services.jobs.project(shown.run.id, wanted, owner())
            except UserError as error:
                ui.notes.append(str(error))

    controlled(
        st.segmented_control,
        "Projection",
        "view",
        ui.view if ui.view in names else LIVE,
        chosen,
        options=list(names),
        format_func=names.__getitem__,
        label_visibility="collapsed",
        required=True,
        help=None,
    )
    declared = PROJECTIONS[native if ui.view == LIVE else ui.view]
    with st.popover("About" if ui.view == LIVE else "Parameters", type="tertiary"), st.container(width=POPOVER):
        st.caption(f"{declared.summary} {declared.caution}")
        wanted = ui.projection()
        if wanted is not None and declared.parameters:
            parameter_form(ui, "view", declared, wanted.params, "Draw again", again)


def _runs(ui: UIState, services: Services, shown: Shown) -> None:
    menu = st.popover(shown.run.title, type="tertiary", key="runs", on_change="rerun")
    if not menu.open:
        return
    with menu, st.container(key="runs-list", width=POPOVER):
        st.caption("Runs on this machine")
        for run in services.runs.list()[:RUNS_LISTED]:
            config = run.config
            score = run.metrics.get("precision_at_1")
            when = "ready-made" if services.runs.comes_with_the_program(run) else _ago(run.created)
            facts = [DATASETS[config.dataset].title, f"{config.embedding_dim}-d", when]
            facts += [] if score is None else [f"P@1 {score:.3f}"]
            st.button(
                f"{run.title}  \n:small[{' · '.join(facts)}]",
                key=f"open.{run.id}",
                type="tertiary",
                width="stretch",
                disabled=run.id == shown.run.id,
                on_click=ui.show,
                args=(run.id,),
            )


def _ago(moment: datetime) -> str:
    minutes = (datetime.now(UTC) - moment).total_seconds() / 60
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes:.0f} min ago"
    return f"{minutes / 60:.0f} h ago" if minutes < 48 * 60 else f"{moment:%Y-%m-%d}"
