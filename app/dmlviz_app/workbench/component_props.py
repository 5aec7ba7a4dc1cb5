"""The workbench of a page, and its props: small JSON, mostly URLs; positions and images go by HTTP."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from dmlviz.catalog import projections
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.projections import PROJECTIONS, LayoutSetting
from dmlviz.config.fields import space_note
from dmlviz.config.learned_space import learned_space
from dmlviz.data.class_names import short_names, whole_names
from dmlviz.runs.point_values import point_measures
from dmlviz.runs.run import LIVE, LOSS_WEIGHTS, Run
from dmlviz_app.answers.protocol import ImageProps
from dmlviz_app.answers.query import SAMPLES
from dmlviz_app.forms.selection import SeenView, command
from dmlviz_app.forms.view_query import OURS
from dmlviz_app.server.protocol import ROUTES, Nouns, Source, SpriteSheets
from dmlviz_app.widgets.components import mount
from dmlviz_app.workbench.current_view import RunView
from dmlviz_app.workbench.protocol import (
    InspectorProps,
    Kept,
    MapProps,
    MapSource,
    PictureInfo,
    QuerySource,
    ViewProps,
    WorkbenchProps,
)

HINT = "Click a point to see its nearest neighbors in the embedding."
NO_COLORS = "This data set is in color: upload an image instead."
_NO_SPRITES: SpriteSheets = {"urls": [], "tile": 28}


def run_source(run_view: RunView) -> Source:
    """Run, view and URL of their events, for every component that subscribes to them."""
    run, projection = run_view.run, run_view.projection
    view = projection.id if projection is not None else LIVE
    path = f"projections/{projection.id}/events" if projection is not None else "events"
    return {"run": run.id, "view": view, "begun": run_version(run_view), "events_url": f"{ROUTES}/runs/{run.id}/{path}"}


def run_version(run_view: RunView) -> str:
    """Start time as a hex string, so that a repeated run has another stream."""
    if run_view.projection is not None:
        return f"{(run_view.projection.path / 'projection.json').stat().st_mtime_ns // 1_000_000:x}"
    return f"{int(run_view.run.created.timestamp() * 1000):x}"


def sprite_props(run_view: RunView) -> ImageProps:
    """Classes, labels and sprite sheets of the test images."""
    run = run_view.run
    if run_view.pictures is not None:
        return run_view.pictures.describe()
    url = f"{ROUTES}/runs/{run.id}/labels.u16?{run_version(replace(run_view, projection=None))}"
    classes = DATASETS[run.config.dataset].classes
    return {
        "classes": list(short_names(classes)),
        "whole_names": whole_names(classes),
        "n": _num_test_images(run),
        "labels_url": url,
        "sprites": _NO_SPRITES,
    }


def map_data(run_view: RunView) -> MapProps:
    """Props of the map: sources of frames, labels and tiles."""
    subset = None if run_view.projection is None else run_view.projection.config.subset
    available: dict[Kept, bool] = {
        "tracked": subset is None,
        "items": subset is not None,
        "nearest": run_view.complete,
        "columns": run_view.columns,
    }
    data = MapProps(
        **run_source(run_view),
        **sprite_props(run_view),
        **noun_props(run_view),
        title=run_view.run.title,
        kept=[name for name, is_available in available.items() if is_available],  # the map knows the addresses
        measures=list(point_measures(run_view.run, run_view.projection)),
        picture=_picture(run_view),
    )
    if run_view.projection is not None and run_view.projection.config.follow:
        data["follows"] = True
    if run_view.live or run_view.projection is not None:
        data["running"] = run_view.projection_live if run_view.projection is not None else run_view.live
    else:
        data["autoplay"] = True
    return data


def layout_settings(run_view: RunView) -> list[LayoutSetting] | str:
    """Return the settings that move the layout on the page, or why none does; empty where the map has none."""
    projection = run_view.projection
    if projection is None:
        return []
    config, spec = projection.config, PROJECTIONS[projection.config.method]
    if not spec.in_page and (not spec.resumable or config.dims == 3 or config.subset is not None):
        return []
    if config.engine != OURS:
        return "Another program draws this map: its settings are under Parameters."
    if config.dims == 3:
        return "A map of three dimensions does not move: its settings are under Parameters."
    if config.subset is not None or config.prefix is not None or config.params.get("supervised"):
        return "Such a map does not move: its settings are under Parameters."
    return projections.layout_settings(config.method, config.params)


def noun_props(run_view: RunView) -> Nouns:
    """Return the name of an item that is no test image, and whether the embeddings were imported."""
    spec = run_view.run.config.dataset_spec
    nouns: Nouns = {"noun": spec.noun} if spec.of_points or not spec.trainable else {}
    if not spec.trainable and not run_view.run.recorded:
        nouns["given"] = True
    return nouns


def _picture(run_view: RunView) -> PictureInfo:
    """Return the kind of picture that the map shows."""
    run, projection = run_view.run, run_view.projection
    method = run.default_view if projection is None else projection.config.declared.name
    picture = PictureInfo(method=method)
    if projection is not None:
        is_of_end = run_view.complete and projection.config.step is None and not projection.config.follow
        notes = projection.config.note(run.config.embedding_dim), run.last_alarm if is_of_end else ""
        if note := " ".join(filter(None, notes)):
            picture["note"] = note
    if note := space_note(run.config, method, projection is None):
        picture["note"] = f"{note} {picture.get('note', '')}".strip()
    if projection is not None and projection.config.prefix is not None:
        picture["whole"] = run.config.embedding_dim
    if projection is not None and projection.config.axes:
        picture["axes"] = [*projection.config.axes]
    if projection is None and PROJECTIONS[method].identity:
        picture["space"] = learned_space(run.config)
    return picture


def inspector_data(run_view: RunView) -> InspectorProps:
    """Props of the inspector, which asks for the neighbors of a pinned test image by itself."""
    nouns = noun_props(run_view)
    props = InspectorProps(
        **nouns,
        placeholder=HINT,
        example=run_view.complete,
        run=run_view.run.id,
        sprites=sprite_props(run_view)["sprites"],
        metrics=True,
        curved=run_view.run.config.ball > 0,
        history="given" not in nouns,
        among=_num_test_images(run_view.run) if run_view.complete else None,
        comparable=run_view.complete,
        columns=run_view.columns,
    )
    if _has_class_scores(run_view):
        props["logits"] = list(short_names(DATASETS[run_view.run.config.dataset].classes))
    return props


def _has_class_scores(run_view: RunView) -> bool:
    """Return whether the loss has class weights that the run keeps."""
    config = run_view.run.config
    specs = [LOSSES[name] for name, _ in config.class_losses.values()]
    has_weights = any(spec.needs_classes for spec in specs or [LOSSES[config.loss]])
    return has_weights and run_view.complete and (run_view.run.path / LOSS_WEIGHTS).exists()


def map_source(run_view: RunView) -> MapSource:
    """Return the map that is shown, over which other items may be laid."""
    projection, live = run_view.projection, run_view.projection_live
    view = LIVE if projection is None else "" if live else projection.id
    return {"run": run_view.run.id, "view": view, "live": run_view.live}


def query_source(run_view: RunView) -> QuerySource:
    """Return where the page asks about a person's own picture; of a run with a net."""
    run, data = run_view.run, DATASETS[run_view.run.config.dataset]
    source: QuerySource = {
        **map_source(run_view),
        "url": f"{ROUTES}/runs/{run.id}/query?{run_version(replace(run_view, projection=None))}",
        "sprites": sprite_props(run_view)["sprites"],
        "samples": {} if data.of_points else SAMPLES,
        "names": list(data.classes),
    }
    if data.channels == 3:
        source["undrawn"] = NO_COLORS
    if data.of_points:
        source["point"] = True
    return source


def _num_test_images(run: Run) -> int:

    labels = run.labels
    return 0 if labels is None else len(labels)


def view_props(page: str, run_views: Sequence[RunView], seen: SeenView, *, follows: bool) -> ViewProps:
    """Return which run the page shows, and what it knows of the view.

    Args:
        page: Name of the page.
        run_views: The run whose images are on the maps; of Compare, both.
        seen: What the page knows of the view.
        follows: Whether the page shows something of the view, so that it is to hear of changes.
    """
    return {
        "page": page,
        "run": " ".join(run_view.run.id for run_view in run_views),
        "dataset": run_views[0].run.config.dataset,
        "n": sprite_props(run_views[0])["n"],
        "follows": follows,
        "known": seen.to_query() if follows else {},
        "command": command(page),
    }


def workbench(
    key: str, props: WorkbenchProps, on_seen: Callable[[SeenView], None], **callbacks: Callable[[], None]
) -> None:
    """Render the workbench.

    Args:
        key: Streamlit's key.
        props: The runs that it shows.
        on_seen: Takes a newer view, where the page follows it; the page is run again then.
        **callbacks: Streamlit's `on_<trigger>_change`.
    """

    def on_snapshot() -> None:
        on_seen(SeenView.from_query(st.session_state[key].get("snapshot") or {}))

    mount(
        "workbench",
        key=key,
        data=props,
        on_snapshot_change=on_snapshot,
        reruns=True,  # where a run that was running has ended
        **callbacks,  # type: ignore[arg-type]  # by their names, none is another argument
    )
