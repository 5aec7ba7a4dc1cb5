"""The page Clean: choose a run, review its findings, train again, compare before and after."""

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import with_terms
from dmlviz.catalog.metrics import metric_title
from dmlviz.data.class_names import short_names
from dmlviz.data.corrections import Corrections, load_corrections
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz_app.clean import CORRECT
from dmlviz_app.clean.protocol import ReviewSheetProps
from dmlviz_app.clean.state import (
    CHOSEN_BY,
    CleanState,
    corrected_config,
    has_own_vectors,
    scores_before_and_after,
    usable_runs,
    validation_score,
    why_not,
)
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.forms.view_state import KEY, UIState
from dmlviz_app.server.housekeeping import enforce_quota
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.widgets import navigation, url_state
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown

REFRESH_S = 2.0


def clean_view(ui: CleanState, services: Services) -> None:
    """Render the page."""
    st.markdown(
        "### Clean the data\n:small[A net that has learned from the data disagrees with a few of them; some of your "
        "own vectors disagree with their neighbors. Look at them: the data stay as they are.]"
    )
    run = _choice(ui, services)
    ui.messages.show("run")
    if run is None:
        return
    corrections = load_corrections(services.data, run.config.dataset)
    sheet, side = st.columns([7, 3], gap="large")
    with sheet, error_boundary("The review sheet"):
        mount(
            "review_sheet",
            key="review",
            data=ReviewSheetProps(
                run=run.id,
                url=f"{ROUTES}/runs/{run.id}/cleaning",
                items="vectors" if has_own_vectors(run) else run.config.dataset_spec.said("training images"),
                classes=list(short_names(DATASETS[run.config.dataset].classes)),
                read_only=not services.person.may(CORRECT),
            ),
            reruns=True,  # for what stands beside it
        )
    if has_own_vectors(run):
        with side, error_boundary("The decisions"):
            _decisions(run, corrections)
        return
    with side, error_boundary("Train again"):
        changed = corrected_config(run.config, corrections)
        training = changed is not None and services.jobs.status(changed.id).is_live
        st.fragment(_again, run_every=REFRESH_S if training else None)(ui, services, run, corrections, training)


def _choice(ui: CleanState, services: Services) -> Run | None:
    """Render the choice of a data set and of a run, and which run it is; None where there is none."""
    by_dataset = usable_runs(services)
    if ui.run is not None and ui.run not in {run.id for runs in by_dataset.values() for run in runs}:
        try:
            reason = why_not(services.runs.get(ui.run), services)
        except UserError as error:
            reason = str(error)
        ui.messages.say("run", reason or "This run has just changed; choose it again.")
        ui.run = None
    if not by_dataset:
        st.caption(
            "No finished run with a net whose images are on disk, and no own vectors. Train one in Explore, or add "
            "vectors there, then come back."
        )
        return None
    named = next((name for name, runs in by_dataset.items() if ui.run in [run.id for run in runs]), ui.dataset)
    explored = url_state.peek(UIState, KEY)
    if named is None and explored is not None:
        named = explored.settings.get("dataset")
    dataset = named if named in by_dataset else next(iter(by_dataset))
    runs = {run.id: run for run in by_dataset[dataset]}
    best = next(iter(runs))
    left, right = st.columns([3, 7])
    with left:
        bound_widget(
            st.selectbox,
            "Data set",
            "clean.dataset",
            dataset,
            ui.select,
            options=list(by_dataset),
            format_func=lambda name: DATASETS[name].title,
        )
    with right:
        bound_widget(
            st.selectbox,
            "Run whose vectors are looked through" if has_own_vectors(runs[best]) else "Run whose nets look through it",
            "clean.run",
            ui.run or best,
            lambda run: ui.select(dataset, run),
            options=list(runs),
            format_func=lambda run: _title(runs[run]),
        )
    run = runs[ui.run or best]
    st.caption(with_terms(escape_markdown(_why(run, [*runs.values()]))))
    return run


def _title(run: Run) -> str:
    score = validation_score(run)
    scored = "" if score is None else f" · {metric_title(CHOSEN_BY)} {score:.1%}"
    return f"{run.title} · {run.created:%Y-%m-%d %H:%M}{scored}"


def _why(run: Run, runs: list[Run]) -> str:
    """Return which run of a data set this is, in a sentence."""
    spec, score = run.config.dataset_spec, validation_score(run)
    title, scored = spec.title, spec.said("validation images")
    if has_own_vectors(run):
        return f"{title} has vectors of its own: they are compared with each other, and no net is needed."
    if len(runs) == 1:
        return f"The only run of {title} that can be used: it has finished and has a net."
    if run is not runs[0]:
        return f"Chosen by you. The best of the {len(runs)} runs of {title} is {_title(runs[0])}."
    if score is None:
        return f"The newest of the {len(runs)} runs of {title}: none has a score of {scored}."
    return f"The best of the {len(runs)} runs of {title}: {metric_title(CHOSEN_BY)} of {scored} is {score:.1%}."


def _decisions(run: Run, corrections: Corrections) -> None:
    """Render what was decided about own vectors, and the way to take it along."""
    _counts(run, corrections)
    st.caption("No net here learns from them. Take what was found and decided along, and correct your own file.")
    st.link_button("Findings and decisions (CSV)", f"{ROUTES}/runs/{run.id}/cleaning.csv")
    navigation.link("explore", "Look at the run", {"run": run.id})


def _counts(run: Run, corrections: Corrections) -> None:
    actions = [one.action for one in corrections.images.values()]
    counts = {
        "relabeled": actions.count("relabel"),
        "excluded": actions.count("exclude"),
        "confirmed": actions.count("confirm"),
    }
    st.markdown(
        f"**{DATASETS[run.config.dataset].title}**: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    )


@error_boundary("Train again")
def _again(ui: CleanState, services: Services, run: Run, corrections: Corrections, training: bool) -> None:
    """Render what was decided, the training with it, and the scores before and after; `training` while it is on."""
    _counts(run, corrections)
    changed = corrected_config(run.config, corrections)
    if changed is None:
        st.caption(run.config.dataset_spec.said("Relabel or exclude an image, and train again with that."))
        return
    status = services.jobs.status(changed.id)
    if training != status.is_live:
        url_state.rerun()  # the whole page, which says anew whether this part is drawn again and again
    before, after = scores_before_and_after(run, changed, services)
    if not after and not status.is_live:
        button(
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
            "Score": list(rows),
            "before": [_number(one) for one, _ in rows.values()],
            "after": [_number(other) for _, other in rows.values()],
        }
    )
    st.caption(run.config.dataset_spec.said("Scores of the test images, whose labels no correction changes."))
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
    corrections = load_corrections(services.data, run.config.dataset)
    config = corrected_config(run.config, corrections)
    if config is None:  # the last correction was just taken back
        return
    corrections.freeze(services.data)
    services.jobs.train(config)
    enforce_quota(services)
