"""Projection picker: method, engine and parameters of the map."""

from importlib.util import find_spec

import numpy as np
import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz.catalog.parameters import Fields
from dmlviz.catalog.projections import PROJECTIONS, REFERENCES, Engine, ProjectionSpec, declaration, programs
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection import clamp_parameter, lowered
from dmlviz.runs.projection_run import projected_embeddings
from dmlviz.runs.run import LIVE, Run
from dmlviz_app.forms.parameters import bound_widget, form_fields, form_values
from dmlviz_app.forms.view_query import OURS
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.url_state import note_event
from dmlviz_app.workbench import component_props
from dmlviz_app.workbench.current_view import RunView, followed, view_titles
from dmlviz_app.workbench.protocol import ViewPickerProps

PICKER_KEY = "view-picker"
POPOVER = 340  # pixels
ENGINE_KEY = "view.engine.asked"  # (run and map that the form is about, the engine picked for the next one)
END, ALL_EPOCHS = "end", "follow"  # what else than a step may be drawn


def projection_picker(ui: UIState, services: Services, run_view: RunView) -> None:
    """Render the projection methods and the parameters of the selected one."""
    names = view_titles(run_view.run, subset=ui.subset is not None)
    if ui.subset is not None:
        names[LIVE] = "All images"

    def on_view() -> None:
        view = st.session_state[PICKER_KEY].get("view")
        if view in names:
            choose_view(ui, services, run_view, view)

    mount(
        "view_picker",
        key=PICKER_KEY,
        data=ViewPickerProps(
            run=run_view.run.id,
            view=ui.view if ui.view in names else LIVE,
            views=names,
        ),
        width="content",
        on_view_change=on_view,
    )
    title = "About" if ui.view == LIVE else "Parameters"
    menu = st.popover(title, type="tertiary", key="view-menu", on_change=note_event)
    if menu.open:
        with menu, st.container(width=POPOVER):
            spec = PROJECTIONS[run_view.run.default_view if ui.view == LIVE else ui.view]
            st.caption(with_terms(spec.summary))
            if ui.view == LIVE:
                st.caption(with_terms(spec.caution))
            else:
                _form(ui, services, run_view)


def choose_view(ui: UIState, services: Services, run_view: RunView, view: str) -> None:
    """Show another map of the run, or of the one that was begun since the page was drawn."""
    ui.set_view(view)
    if ui.run in (None, run_view.run.id):
        start_projection(ui, services, run_view, resume=True)


def start_projection(ui: UIState, services: Services, run_view: RunView, *, resume: bool = False) -> None:
    """Start or resume the selected projection; on failure note the message and restore the previous view."""
    shown = "" if run_view.projection is None else run_view.projection.id
    try:
        config, run = ui.projection(), run_view.run
        if config is not None and config.whole and not run_view.live and not run_view.complete and run.snapshot_steps:
            ui.set_projection(**ui.projection_overrides | {"step": run.snapshot_steps[-1]})
            ui.messages.say("map.step", f"{run.lacks('embeddings of all test images')} The map is of that step.")
            config = ui.projection()
        if config is not None:
            services.jobs.project(run_view.run.id, followed(run_view, config), resume=resume, instead=shown)
    except UserError as error:
        ui.drop_projection(ui.view)
        ui.restore_view()
        ui.messages.say("map", error)


def _form(ui: UIState, services: Services, run_view: RunView) -> None:
    config, run = ui.projection(), run_view.run
    if config is None:
        return
    engine = _engine(ui, config, run) if ui.view in REFERENCES else config.engine
    if ui.view in REFERENCES:
        _both_engines(ui, config.engine)
    spec, values = declaration(ui.view, engine), ui.params_with(engine)
    if engine != OURS:
        st.caption(with_terms(spec.summary))
    if run_view.live and not run.embedded_steps:
        st.caption("Its parameters are here once the training has begun.")
        return
    step = run.embedded_steps[0] if followed(run_view, config).follow else config.step
    whole = run.embeddings_at(step)[0].shape[1]
    n, dimension = projected_embeddings(run, config, step)[0].shape
    if note := lowered(config, n, dimension)[1]:
        st.caption(note)

    def send() -> None:
        ui.messages.forget("map")
        form_values(ui, "view", spec)
        epoch = st.session_state.get("view.epoch", END)
        fields: Fields = {
            "engine": engine,
            "dims": st.session_state["view.dims"],
            "follow": epoch == ALL_EPOCHS,
            "prefix": st.session_state.get("view.prefix"),
        }
        if fields["prefix"] == whole:
            fields["prefix"] = None
        fields["step"] = epoch if isinstance(epoch, int) else None
        fields["seed"] = st.session_state.get("view.seed", config.seed)
        try:
            ui.set_projection(**fields)
            _ = ui.projection()  # its parameters may not go together
        except UserError as error:
            ui.drop_projection(ui.view)
            ui.messages.say("map.form", error)
        start_projection(ui, services, run_view, resume=True)  # the same map goes on, as one whose worker was killed

    with st.form(f"view.{spec.name}", border=False):
        parameters = [clamp_parameter(spec, parameter, n, dimension) for parameter in spec.parameters]
        values |= {
            field.name: min(values[field.name], type(values[field.name])(field.maximum))
            for field in parameters
            if field.maximum is not None and isinstance(values.get(field.name), int | float)
        }
        form_fields("view", spec, [field for field in parameters if field.name != "z" or config.dims == 3], values)
        left, right = st.columns(2)
        with left:
            _dimensions(config, spec, n)
        if spec.iterative:
            with right:
                help = "random seed; try another to see what depends on chance"
                bound_widget(st.number_input, "Seed", "view.seed", config.seed, None, min_value=0, step=1, help=help)
        if whole > 2:
            help = "the map of the first dimensions alone, as if the embedding were cut there"
            bound_widget(
                st.slider,
                "First dimensions",
                "view.prefix",
                config.prefix or whole,
                None,
                min_value=2,
                max_value=whole,
                help=help,
            )
        nouns = component_props.noun_props(run_view)
        if not nouns.get("given"):  # imported vectors are of no epoch
            _epoch_fields(followed(run_view, config), run, nouns.get("noun"))
        button("Draw", key="view.draw", on_click=send, width="stretch", render=st.form_submit_button)


def _engine(ui: UIState, config: ProjectionConfig, run: Run) -> Engine:
    """Render the engine selector; it changes only the form below until that is submitted."""
    form_id = run.id, config.id
    choice = st.session_state.get(ENGINE_KEY)
    value: Engine = choice[1] if choice and choice[0] == form_id else config.engine

    def on_engine(engine: Engine) -> None:
        st.session_state[ENGINE_KEY] = form_id, engine

    names = programs(ui.view)
    if value != "torchdr" and not find_spec("torchdr"):
        del names["torchdr"]
    bound_widget(
        st.segmented_control,
        "Engine",
        "view.engine",
        value,
        on_engine,
        options=list(names),
        format_func=names.__getitem__,
        required=True,
        help="implementation: dmlviz shows the map while it forms; the others show only the result",
    )
    return value


def _both_engines(ui: UIState, engine: Engine) -> None:
    """Render the switch that shows the maps of dmlviz and of another engine side by side."""

    def on_beside(beside: bool) -> None:
        ui.beside = beside

    bound_widget(
        st.toggle,
        f"dmlviz and {programs(ui.view)['reference' if engine == OURS else engine]} side by side",
        "view.beside",
        ui.beside,
        on_beside,
        help="a second opinion: the same embeddings, seed and shared parameters, drawn by both programs",
    )


def _dimensions(config: ProjectionConfig, spec: ProjectionSpec, n: int) -> None:
    help = "3-D maps can be rotated"
    if spec.slow_in_3d is not None and n > spec.slow_in_3d:
        help += f"; {spec.title} of {n:,} points in 3-D takes minutes (one epoch of the tracked images: seconds)"
    bound_widget(
        st.segmented_control,
        "Dimensions",
        "view.dims",
        config.dims,
        None,
        options=[2, 3],
        format_func=lambda dims: f"{dims}-D",
        required=True,
        help=help,
    )


def _epoch_fields(config: ProjectionConfig, run: Run, noun: str | None) -> None:
    """Render the epoch selector: final, one epoch, or all epochs; `noun` is that of items that are no test images."""
    steps = run.embedded_steps
    labels, indices = run.labels, run.tracked_indices
    item_sets = [np.arange(len(labels)) if labels is not None else (), indices if indices is not None else ()]
    counts = [len(items) if config.items is None else np.isin(items, config.items).sum() for items in item_sets]
    which = "selected " if config.subset is not None else "" if noun else "test "
    what = f"{noun or 'image'}s"
    titles = {
        END: f"Final: all {counts[0]:,} {which}{what}",
        ALL_EPOCHS: f"All epochs ({len(steps):,}): {counts[1]:,} tracked {what}",
    } | {step: f"Step {step:,}: {counts[1]:,} tracked {what}" for step in steps}
    if not run.embedded:
        del titles[END]
    option: str | int = ALL_EPOCHS if config.follow else END if config.step not in steps else int(config.step or 0)
    bound_widget(
        st.selectbox,
        "Epoch",
        "view.epoch",
        option,
        None,
        options=list(titles),
        format_func=titles.__getitem__,
        help=f"each epoch shows the same tracked {what}; in all epochs, each map starts from the previous one, aligned "
        "to it, so that they play as an animation",
    )
