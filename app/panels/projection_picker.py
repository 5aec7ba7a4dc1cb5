"""Projection picker: method, engine and parameters of the map."""

from typing import Any

import streamlit as st

from app.runtime.services import Services
from app.state.current_view import RunView
from app.state.explore import OURS, PROJECTION_VIEWS, UIState
from app.widgets.parameters import bound_widget, form_fields, form_values
from dmlviz.catalog.projection_engines import Engine, declaration
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.catalog.reference_projections import REFERENCES
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection import clamp_parameter
from dmlviz.runs.projection_run import epoch_steps
from dmlviz.runs.run import LIVE, Run

POPOVER = 340  # pixels
ASKED = "view.engine.asked"  # (run and map that the form is about, the engine picked for the next one)
END, ALL_EPOCHS = "end", "all_epochs"  # what else than a step may be drawn
SLOW_IN_3D = 3000  # points, from which on three dimensions take minutes


def projection_picker(ui: UIState, services: Services, shown: RunView) -> None:
    """Render the projection methods and the parameters of the selected one."""
    native = shown.run.default_view
    offered = [name for name in PROJECTION_VIEWS if name != native and not (native == "plane" and name == "pca")]
    names = {LIVE: PROJECTIONS[native].title} | {name: PROJECTIONS[name].title for name in offered}

    def chosen(view: str) -> None:
        ui.messages.clear()
        ui.set_view(view)
        start_projection(ui, services, shown, resume=True)

    bound_widget(
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
    menu = st.popover("About" if ui.view == LIVE else "Parameters", type="tertiary", key="view-menu", on_change="rerun")
    if menu.open:
        with menu, st.container(width=POPOVER):
            declared = PROJECTIONS[native if ui.view == LIVE else ui.view]
            st.caption(declared.summary)
            if ui.view == LIVE:
                st.caption(declared.caution)
            else:
                _form(ui, services, shown)


def start_projection(ui: UIState, services: Services, shown: RunView, *, resume: bool = False) -> None:
    """Start or resume the selected projection; on failure note the message and restore the previous view."""
    try:
        wanted = ui.projection()
        if wanted is not None:
            services.jobs.project(shown.run.id, wanted, resume=resume)
    except UserError as error:
        ui.messages.append(str(error))
        ui.drop_projection(ui.view)
        ui.restore_view()


def _form(ui: UIState, services: Services, shown: RunView) -> None:
    wanted, run = ui.projection(), shown.run
    if wanted is None:
        return
    engine = _engine(ui, wanted, run) if ui.view in REFERENCES else wanted.engine
    declared, values = declaration(ui.view, engine), ui.params_with(engine)
    if engine != OURS:
        st.caption(declared.summary)
    n, dimension = run.embeddings_at(run.embedded_steps[0] if wanted.all_epochs else wanted.step)[0].shape

    def send() -> None:
        ui.messages.clear()
        form_values(ui, "view", declared)
        epoch = st.session_state["view.epoch"]
        more: dict[str, Any] = {
            "engine": engine,
            "dims": st.session_state["view.dims"],
            "all_epochs": epoch == ALL_EPOCHS,
        }
        more["step"] = epoch if isinstance(epoch, int) else None
        more["seed"] = st.session_state.get("view.seed", wanted.seed)
        try:
            ui.set_projection(**more)
            _ = ui.projection()  # its parameters may not go together
        except UserError as error:
            ui.messages.append(str(error))
            ui.drop_projection(ui.view)
        start_projection(ui, services, shown)

    with st.form(f"view.{declared.name}", border=False):
        parameters = [clamp_parameter(parameter, n, dimension) for parameter in declared.parameters]
        form_fields("view", declared, [one for one in parameters if one.name != "z" or wanted.dims == 3], values)
        left, right = st.columns(2)
        with left:
            _dimensions(wanted, engine, n)
        if "iterations" in wanted.params:
            with right:
                help = "random seed; try another to see what depends on chance"
                bound_widget(st.number_input, "Seed", "view.seed", wanted.seed, None, min_value=0, step=1, help=help)
        _epoch_fields(wanted, run)
        st.form_submit_button("Draw", on_click=send, width="stretch")


def _engine(ui: UIState, wanted: ProjectionConfig, run: Run) -> Engine:
    """Render the engine selector; it changes only the form below until that is submitted."""
    about = run.id, wanted.id
    asked = st.session_state.get(ASKED)
    value: Engine = asked[1] if asked and asked[0] == about else wanted.engine

    def chosen(engine: Engine) -> None:
        st.session_state[ASKED] = about, engine

    names = {OURS: "dmlviz", "reference": REFERENCES[ui.view].name}
    bound_widget(
        st.segmented_control,
        "Engine",
        "view.engine",
        value,
        chosen,
        options=list(names),
        format_func=names.__getitem__,
        required=True,
        help="implementation: dmlviz shows the map while it forms; the reference library shows only the result",
    )
    return value


def _dimensions(wanted: ProjectionConfig, engine: Engine, n: int) -> None:
    help = "3-D maps can be rotated"
    if n > SLOW_IN_3D and wanted.method == "tsne" and engine == OURS:
        help += f"; t-SNE of {n:,} points in 3-D takes minutes (one epoch of the tracked images: seconds)"
    bound_widget(
        st.segmented_control,
        "Dimensions",
        "view.dims",
        wanted.dims,
        None,
        options=[2, 3],
        format_func=lambda dims: f"{dims}-D",
        required=True,
        help=help,
    )


def _epoch_fields(wanted: ProjectionConfig, run: Run) -> None:
    """Render the epoch selector: final, one epoch, or all epochs."""
    labels, tracked = run.labels, run.tracked_indices
    counts = [0 if some is None else len(some) for some in (labels, tracked)]
    steps = run.embedded_steps
    num_maps = len(epoch_steps(run, wanted))
    words = {
        END: f"Final: all {counts[0]:,} test images",
        ALL_EPOCHS: f"All epochs ({num_maps} of {len(steps)}): {counts[1]:,} tracked images",
    } | {step: f"Step {step:,}: {counts[1]:,} tracked images" for step in steps}
    chosen: str | int = ALL_EPOCHS if wanted.all_epochs else END if wanted.step not in steps else int(wanted.step or 0)
    bound_widget(
        st.selectbox,
        "Epoch",
        "view.epoch",
        chosen,
        None,
        options=list(words),
        format_func=words.__getitem__,
        help="each epoch shows the same tracked images; in all epochs, each map starts from the previous one, aligned "
        "to it, so that they play as an animation",
    )
