"""The run of a lab: its size and data, what it costs, the button, the progress."""

from datetime import UTC, datetime

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.labs.lab_study import cost_in_words, format_seconds, study_progress
from dmlviz.labs.registry import LABS
from dmlviz.studies.study import Study
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.labs.state import OWN, READY_MADE, SIZES, LabsState, LabView, view_lab
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.messages import warn

SIZE_TITLES = {"quick": "Quick", "full": "Full size"}
SOURCE_TITLES = {READY_MADE: "Ready-made", OWN: "Your own"}


def run_panel(ui: LabsState, services: Services, view: LabView) -> None:
    """Render the settings of the study, its button and its progress."""
    with st.container(border=True, key="lab-run", gap="small"):
        st.markdown("**Run it yourself**")
        running = view.own is not None and view.own.state == "running"
        bound_widget(
            st.segmented_control,
            "Size",
            "lab.size",
            ui.size,
            lambda size: _choose(ui, size=size),
            options=list(SIZES),
            format_func=lambda size: SIZE_TITLES[size],
            required=True,
            label_visibility="collapsed",
        )
        if len(view.lab.datasets) > 1:
            bound_widget(
                st.selectbox,
                "Data",
                "lab.dataset",
                view.dataset,
                lambda dataset: _choose(ui, dataset=dataset),
                options=list(view.lab.datasets),
                format_func=lambda name: DATASETS[name].title,
            )
        ui.messages.show("data")
        if running and view.own is not None:
            _progress(ui, services, view.own)
        else:
            _button(ui, services, view)


def _choose(ui: LabsState, **changes: str) -> None:
    for name, value in changes.items():
        setattr(ui, name, value)
    ui.source, ui.point = "", None


def _button(ui: LabsState, services: Services, view: LabView) -> None:
    own = view.own
    cost = cost_in_words(view.lab, ui.size, view.dataset, services.scheduler.all_slots)
    if own is None:
        st.caption(f"About {cost} on this machine.")
        button("Run", key="lab.run", type="primary", on_click=_start, args=(ui, services), width="stretch")
        return
    state, now = own.state, study_progress(own)
    if state == "finished":
        failures = f", {now.failed} of them without a result" if now.failed else ""
        st.caption(f"Done: {now.done} trials{failures}.")
        button(
            "Run again",
            key="lab.again",
            on_click=_start,
            args=(ui, services),
            width="stretch",
            help=f"About {cost}.",
        )
        return
    if state == "failed":
        warn(own.info["reason"])
        button(
            "Run anew",
            key="lab.anew",
            type="primary",
            on_click=_start,
            args=(ui, services),
            width="stretch",
        )
        return
    st.caption(
        f"{state.capitalize()} after {now.done} of {now.total} trials; about {format_seconds(now.seconds_left)} left."
    )
    button("Go on", key="lab.resume", type="primary", on_click=_start, args=(ui, services), width="stretch")


def _start(ui: LabsState, services: Services) -> None:
    """Run the study of now, one that has ended from its beginning: its button may be older than the last choice."""
    ui.source, ui.point = OWN, None
    view = view_lab(ui, services)
    afresh = view.own is not None and view.own.state in ("finished", "failed")
    services.studies.start(view.lab.name, ui.size, view.dataset, afresh=afresh)


def _progress(ui: LabsState, services: Services, study: Study) -> None:
    now = study_progress(study)
    st.progress(now.share, f"{now.done} of {now.total} trials, about {format_seconds(now.seconds_left)} left")
    if services.studies.may_stop(study):
        button("Stop", key="lab.stop", on_click=services.studies.stop, args=(study,), width="stretch")


def describe(study: Study, ready_made: bool) -> str:
    """Return where results come from, in one line: size, data, when, how many trials, on which machine."""
    info, now = study.info, study_progress(study)
    day = datetime.fromtimestamp(info["created"], UTC).strftime("%Y-%m-%d")
    trials = f"{now.done} of {now.total} trials" if now.done < now.total else f"{now.done} trials"
    return (
        f"{'Ready-made' if ready_made else 'Your own'} results: {info['size']} size on "
        f"{LABS[info['lab']].data_title(info['dataset'])}, {trials}, {day}, on {info['machine']}."
    )
