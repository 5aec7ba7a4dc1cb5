"""Workbench of Explore: the map of the shown run, or one projection by two engines; inspector, scores, loss curve."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import MOVING, programs
from dmlviz.data.class_names import UNLABELED
from dmlviz.errors import UserError
from dmlviz.runs.run import LIVE
from dmlviz.training.suggestions import SUGGESTIONS, suggestions
from dmlviz_app.explore import settings, sidebar
from dmlviz_app.forms import view_state
from dmlviz_app.forms.selection import Selection
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.services import Services
from dmlviz_app.workbench import component_props
from dmlviz_app.workbench.component_props import view_props, workbench
from dmlviz_app.workbench.current_view import RunView, followed, resolve_view, view_titles
from dmlviz_app.workbench.progress_panel import progress_panel
from dmlviz_app.workbench.projection_picker import start_projection
from dmlviz_app.workbench.protocol import InspectorProps, Link, MapHeading, MapProps, WorkbenchProps

KEY = "workbench"
OF_MAP = ("view", "previous_view", "subset", "whole_view", "params", "projection_overrides")  # fields of the state
LAST = "workbench.last"  # run that was shown last, and with which props
SECOND_PROGRESS = "progress.second"  # of the other engine's map
LINK: Link = {"link": "engines", "links_views": False}  # of different maps, places and iterations cannot be compared


def maps(ui: UIState, services: Services, run_view: RunView, *, shows_scores: bool, follows: bool) -> None:
    """Render the workbench.

    Args:
        ui: State of the page.
        services: The session's services.
        run_view: The run.
        shows_scores: Whether scores and loss curve are below the map.
        follows: Whether the page shows something of what a person looks at, so that it is to hear of changes.
    """

    def trigger(name: str) -> Any:
        return st.session_state[KEY].get(name)

    def on_remedy() -> None:
        remedy = trigger("remedy") or {}
        choices = suggestions(remedy["alarm"], run_view.run.config) if remedy.get("alarm") in SUGGESTIONS else []
        if isinstance(remedy.get("index"), int) and 0 <= remedy["index"] < len(choices):
            ui.load(run_view.run.config.replace(**choices[remedy["index"]].changes), run_view.run.id)

    def on_subset() -> None:
        subset = trigger("subset")
        if subset is not None:
            _change_map(ui, services, run_view, lambda: _show_subset(ui, run_view, subset["bits"]))

    def on_view() -> None:
        view = trigger("view")
        if view is not None:
            _change_map(ui, services, run_view, lambda: _show_view(ui, run_view, view["view"]))

    def on_settings() -> None:
        asked = trigger("settings")
        shown = "" if run_view.projection is None else run_view.projection.id
        if asked is not None:
            _change_map(ui, services, run_view, lambda: _set_parameters(ui, run_view, asked), instead=shown)

    second = run_view.second
    if second is not None and second.projection_live:
        progress_panel(ui, services, second, SECOND_PROGRESS, lambda: setattr(ui, "beside", False))
    props = WorkbenchProps(
        view=view_props(view_state.PAGE, [run_view], ui.seen, follows=follows),
        maps=[_map_props(ui, run_view) | {"replays": st.session_state.get(settings.REPLAYS, 0)}],
        inspectors=[_inspector_props(run_view)],
    )
    if ui.lesson is None:
        has_net, is_of_points = sidebar.has_net(run_view), run_view.run.config.dataset_spec.of_points
        props["welcome"] = {
            "trains": not sidebar.has_card(run_view),
            "draws": has_net,
            "vectors": not has_net or is_of_points,
        }
    if second is not None:
        props["headings"] = [_heading(run_view), _heading(second, run_view)]
        props["maps"].append(component_props.map_data(second))
        for one in props["maps"]:
            one.update(LINK)
    if shows_scores:
        _add_scores(props, run_view)
    st.session_state[LAST] = run_view.run.id, props
    workbench(
        KEY,
        props,
        lambda seen: setattr(view_state.saved_state(), "seen", seen),
        on_remedy_change=on_remedy,
        on_subset_change=on_subset,
        on_view_change=on_view,
        on_settings_change=on_settings,
    )


def last_layout(ui: UIState) -> bool:
    """Render the map of a run that was deleted while somebody looked at it; return False if there is none."""
    run, props = st.session_state.get(LAST, (None, None))
    if props is None or run != ui.run:
        return False
    ui.messages.take("map")
    workbench(KEY, props | {"maps": [one | {"gone": True, "notices": []} for one in props["maps"]]}, lambda seen: None)
    return True


def map_of_view(services: Services, run: str, view: str, query: Mapping[str, str]) -> MapProps | None:
    """Begin another map of a run, and return how the page shows it; None where only the whole page can say that.

    Args:
        services: Those of the person.
        run: ID of the run.
        view: "live", or the name of a projection.
        query: The address of the page.

    Raises:
        UserError: If there is no such run.
    """
    ui = UIState.from_query(query)
    ui.run = ui.opened = services.runs.get(run).id
    before = resolve_view(ui, services)
    if before is None or view not in view_titles(before.run, subset=ui.subset is not None):
        return None
    ui.set_view(view)
    start_projection(ui, services, before, resume=True)
    now = resolve_view(ui, services)
    return None if ui.view != view or now is None or now.second is not None else _map_props(ui, now)


def _map_props(ui: UIState, run_view: RunView) -> MapProps:
    props = component_props.map_data(run_view)
    props["projects"] = run_view.complete
    props["notices"] = ui.messages.take("map")
    if run_view.awaited is not None and run_view.awaited.projection is not None:
        props["awaits"] = run_view.awaited.projection.id
        if run_view.awaited.follows:
            props["queued"] = run_view.awaited.projection.config.declared.title
    moving = component_props.layout_settings(run_view) if run_view.second is None else []
    if isinstance(moving, str):
        props["still"] = moving
    elif moving:
        props["settings"] = moving
    if run_view.projection is not None and run_view.projection.config.subset is not None and ui.subset is not None:
        props["subset"] = {"bits": ui.subset.bits}
    return props


def _inspector_props(run_view: RunView) -> InspectorProps:
    props = component_props.inspector_data(run_view)
    if sidebar.has_net(run_view):
        props["query"] = component_props.query_source(run_view)
    elif run_view.complete:
        props["map"] = component_props.map_source(run_view)
    return props


def _add_scores(props: WorkbenchProps, run_view: RunView) -> None:
    """Add the scores, and the loss curve of a run that has a loss; or say why there are no scores."""
    run = run_view.run
    spec = DATASETS[run.config.dataset]
    notes = [run.config.views_note]
    if run_view.complete and not spec.trainable and not run.recorded and not run.metrics:
        if spec.classes == (UNLABELED,):
            reason = "they have no labels"
        else:
            reason = "they are all of one class" if len(spec.classes) < 2 else "there are too many to compare all"
        notes.append(f"No scores of these embeddings: {reason}.")
    else:
        props["scores"] = component_props.run_source(replace(run_view, projection=None))
        props["has_loss"] = bool(run.steps) or run_view.live  # embeddings that were given ready have none
    props["note"] = " ".join(filter(None, notes))


def _heading(run_view: RunView, beside: RunView | None = None) -> MapHeading:
    """Say by which program and how a map is drawn, and which value of the map `beside` it could not take over."""
    assert run_view.projection is not None
    config = run_view.projection.config
    parameters = ", ".join(f"{name.replace('_', ' ')} {_brief(value)}" for name, value in config.params.items())
    return {
        "title": programs(config.method)[config.engine],
        "text": f" · {parameters}, seed {config.seed}",
        "missing": _not_shared(run_view, beside),
    }


def _not_shared(run_view: RunView, beside: RunView | None) -> str:
    if beside is None or beside.projection is None or run_view.projection is None:
        return ""
    ours, theirs = run_view.projection.config, beside.projection.config
    values = {name: theirs.params[name] for name in ours.params if name in theirs.params and name != "iterations"}
    lacking = [f"{name} {_brief(value)}" for name, value in values.items() if value != ours.params[name]]
    return "".join(f" · no {each} here: drawn with the default" for each in lacking)


def _brief(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value}".removesuffix(".0")


def _show_subset(ui: UIState, run_view: RunView, bits: str | None) -> None:
    """Project these test images alone, or all again."""
    if bits is None:
        ui.show_whole()
    else:
        ui.project_subset(Selection(run_view.run.config.dataset, bits))


def _show_view(ui: UIState, run_view: RunView, view: str) -> None:
    """Show a view by the name that the map knows it by: "live", or the ID of a projection."""
    config = None if view == LIVE else run_view.run.projection(view).config
    ui.show_projection(config, run_view.run.config.dataset)


def _set_parameters(ui: UIState, run_view: RunView, asked: dict[str, Any]) -> None:
    """Draw the shown projection, of its step, with other values of the settings that the page moves."""
    assert run_view.projection is not None
    config, run = run_view.projection.config, run_view.run
    if config.follow:
        is_earlier = not run_view.live and asked["step"] in run.snapshot_steps and asked["step"] != run.end_step
        config = config.replace(follow=False, step=asked["step"] if is_earlier else None)
    ui.show_projection(config, run.config.dataset)
    for parameter in config.declared.parameters:
        if parameter.name in asked["values"] and parameter.name in MOVING:
            value = parameter.check(config.method, asked["values"][parameter.name])
            ui.set_param("view", config.declared, parameter, value)


def _change_map(
    ui: UIState, services: Services, run_view: RunView, change: Callable[[], None], instead: str = ""
) -> None:
    """Show another projection; where that is not possible, say why and change nothing."""
    ui.messages.forget("map")
    before = {name: deepcopy(getattr(ui, name)) for name in OF_MAP}
    try:
        change()
        config = ui.projection()
        if config is not None:
            services.jobs.project(run_view.run.id, followed(run_view, config), resume=True, instead=instead)
    except UserError as error:
        vars(ui).update(before)
        ui.messages.say("map", error)
