"""The page Clean: choose a run, review what it found in its training data, train again, see before and after."""

import streamlit as st

from app.panels import navigation
from app.payloads.protocol.common import ROUTES
from app.runtime import url_state
from app.runtime.event_stream import LIVE_PHASES
from app.runtime.services import Services
from app.state.clean import CleanState, corrected_config, may_correct, scores_before_and_after, usable_runs
from app.widgets.components import mount
from app.widgets.markdown import escape_markdown
from app.widgets.parameters import bound_widget
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.metrics import metric_title
from dmlviz.data.corrections import Corrections, load_corrections
from dmlviz.errors import UserError
from dmlviz.runs.run import Run

SHEET = "review"
REFRESH_S = 2.0


def clean_view(ui: CleanState, services: Services) -> None:
    """Render the page."""
    st.markdown(
        "### Clean the training data\n:small[A net that has learned from all images disagrees with a few. Look at "
        "them: decisions are kept beside the data set, which stays as it is.]"
    )
    runs = {run.id: run for run in usable_runs(services)}
    if not runs:
        st.caption("No finished run of a data set that is on disk. Train one in Explore, then come back.")
        return
    ui.run = ui.run if ui.run in runs else next(iter(runs))
    bound_widget(
        st.selectbox,
        "Found by the run",
        "clean.run",
        ui.run,
        lambda run: setattr(ui, "run", run),
        options=list(runs),
        format_func=lambda run: _title(runs[run]),
    )
    run = runs[ui.run]
    if ui.note:
        st.caption(f":orange[{escape_markdown(ui.note)}]")
    corrections = load_corrections(services.data, run.config.dataset)
    sheet, side = st.columns([7, 3], gap="large")
    with sheet:
        mount(
            "review_sheet",
            key=SHEET,
            data={
                "run": run.id,
                "url": f"{ROUTES}/runs/{run.id}/cleaning.json",
                "classes": list(DATASETS[run.config.dataset].classes),
                "decisions": {str(image): one.model_dump() for image, one in corrections.images.items()},
                "received": ui.received,
                "read_only": not may_correct(services),
            },
            on_actions_change=lambda: ui.decide(st.session_state[SHEET].get("actions") or [], run, services),
        )
    with side:
        changed = corrected_config(run.config, corrections)
        training = changed is not None and services.jobs.status(changed.id).phase in LIVE_PHASES
        st.fragment(_again, run_every=REFRESH_S if training else None)(ui, services, run, corrections, training)


def _title(run: Run) -> str:
    return f"{run.title} · {DATASETS[run.config.dataset].title} · {run.created:%Y-%m-%d %H:%M}"


def _again(ui: CleanState, services: Services, run: Run, corrections: Corrections, training: bool) -> None:
    """Render what was decided, the training with it, and the scores before and after; `training` while it is on."""
    actions = [one.action for one in corrections.images.values()]
    counts = {
        "relabeled": actions.count("relabel"),
        "excluded": actions.count("exclude"),
        "confirmed": actions.count("confirm"),
    }
    st.markdown(
        f"**{DATASETS[run.config.dataset].title}**: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    )
    changed = corrected_config(run.config, corrections)
    if changed is None:
        st.caption("Relabel or exclude an image, and train again with that.")
        return
    status = services.jobs.status(changed.id)
    if training != (status.phase in LIVE_PHASES):
        url_state.rerun()  # the whole page, which says anew whether this part is drawn again and again
    before, after = scores_before_and_after(run, changed, services)
    if not after and status.phase not in LIVE_PHASES:
        st.button(
            "Train again with these corrections",
            key="clean.train",
            type="primary",
            on_click=_train,
            args=(ui, services, run),
        )
    elif not after or any(value is None for value in after.values()):
        st.caption(f"Training with these corrections: {status.phase}. Look at it in Explore.")
    rows = {metric_title(key): [value, after.get(key)] for key, value in before.items()}
    st.table(
        {
            "": list(rows),
            "before": [_number(one) for one, _ in rows.values()],
            "after": [_number(other) for _, other in rows.values()],
        }
    )
    st.caption("Scores of the test images, whose labels no correction changes.")
    if after:
        navigation.link("compare", "Compare both runs", {"a": run.id, "b": changed.id}, icon=":material/compare:")
    navigation.link(
        "explore",
        "Look at the run with the corrections" if after else "Look at the run",
        {"run": changed.id if after else run.id},
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _train(ui: CleanState, services: Services, run: Run) -> None:
    """Train with the corrections of now: the button may have been drawn before the last decision."""
    ui.note = ""
    corrections = load_corrections(services.data, run.config.dataset)
    config = corrected_config(run.config, corrections)
    if config is None:  # the last correction was just taken back
        return
    try:
        corrections.freeze(services.data)
        services.jobs.submit(config)
        services.enforce_quota()
    except UserError as error:
        ui.note = str(error)
