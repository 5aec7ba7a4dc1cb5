"""Props of the page Compare: the maps, and the scores and inspectors beside and below them."""

from dataclasses import replace

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.runs.run import LIVE
from dmlviz_app.compare import state as compare
from dmlviz_app.compare.state import LINK, SIDES, Compared, CompareState
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.workbench import component_props
from dmlviz_app.workbench.component_props import view_props
from dmlviz_app.workbench.current_view import RunView, view_titles
from dmlviz_app.workbench.protocol import (
    ComparedSide,
    CompareProps,
    InspectorProps,
    MapProps,
    MapQuality,
    WorkbenchProps,
)

# Pixels of a map; below a projection stand its figures and what not to read from it.
HEIGHT, HEIGHT_WITH_NOTES = 430, 540
HINT = "Click a point to see its nearest neighbors in the embedding, or select on a map to list them here."
HINT_OF_MANY = "Point at one to see where it lies on every map. Click it to see its nearest neighbors in the first run."
HINTS = (
    "Click a point to see its nearest neighbors in both runs. Click a number in the table, or select on a map, to list "
    "them here.",
    "The same one and its nearest neighbors in the second run.",
)
QUALITY = {
    "trustworthiness": "Trustworthiness",
    "continuity": "Continuity",
    "neighbors_kept": "Neighbors kept",
    "distance_correlation": "Distance correlation",
}
QUALITY_NOTE = (
    "1 is a perfect map. The first three say whether near images stay near; the last, Pearson's correlation of all "
    "distances, says whether far ones stay far: the global structure."
)


def workbench_props(ui: CompareState, pair: Compared) -> WorkbenchProps:
    """Return the props of linked maps with what is below them; of different data sets, of maps alone."""
    many = len(pair.views) > 2
    maps = [
        map_data(run_view, pair) | {"notices": ui.messages.take(f"view_{side}")}
        for run_view, side in zip(pair.views, SIDES, strict=False)
    ]
    props = WorkbenchProps(
        view=view_props(compare.PAGE, pair.views, ui.seen, follows=ui.curves is not None), maps=maps, inspectors=[]
    )
    if not pair.same_dataset:
        return props
    if many:
        for nth, (data, title) in enumerate(zip(maps, short_titles(pair), strict=True)):
            data["small_map"] = {"title": title, "nth": nth}
        if pair.a.projection is None:
            maps.append(maps[0] | {"notices": [], "small_map": {"title": "Untrained net", "nth": None}})
    if pair.same_run or many:  # one list of neighbors
        props["inspectors"] = [_inspector_props(pair.a, HINT_OF_MANY if many else HINT, lists_selection=True)]
    else:
        props["inspectors"] = [
            _inspector_props(run_view, hint, lists_selection=run_view is pair.a)
            for run_view, hint in zip(pair.views, HINTS, strict=False)
        ]
    if not pair.same_run or not pair.same_view:
        props["compare"] = compare_props(pair)
    return props


def short_titles(pair: Compared) -> list[str]:
    """Return the losses of runs that differ by their loss alone, or else their titles."""
    losses = [LOSSES[view.run.config.loss].title for view in pair.views]
    is_race = len({*losses}) == len(losses) and DATASETS[pair.a.run.config.dataset].trainable
    return losses if is_race else [view.run.title for view in pair.views]


def map_data(run_view: RunView, pair: Compared) -> MapProps:
    """Return the props of one map among others: at its last frame, linked to them."""
    data = component_props.map_data(run_view)
    data.pop("autoplay", None)
    data["running"] = run_view.live if run_view.projection is None else run_view.projection_live
    data["link"], data["links_views"] = LINK if pair.same_dataset else None, pair.same_view
    data["height"] = HEIGHT if all(view.projection is None for view in pair.views) else HEIGHT_WITH_NOTES
    if len(pair.views) > 2:
        data["height"] = "fill"
    if (turn := pair.turn(run_view)) is not None:
        data["turn"] = turn.ravel().tolist()
    return data


def _inspector_props(run_view: RunView, hint: str, *, lists_selection: bool) -> InspectorProps:
    data = component_props.inspector_data(run_view)
    data.update({"metrics": False, "comparable": False, "sheet": lists_selection})
    data.update({"example": False, "placeholder": hint})
    return data


def compare_props(pair: Compared) -> CompareProps:
    """Return the props of the tables: scores and, once both runs have finished, agreement; what different maps keep."""
    own_views = [replace(run_view, projection=None) for run_view in pair.views]  # a projection's events have no scores
    titles = short_titles(pair) if len(pair.views) > 2 else [view.run.title for view in pair.views]
    sides = [
        ComparedSide(**component_props.run_source(run_view), title=title, steps=run_view.run.steps)
        for run_view, title in zip(own_views, titles, strict=True)
    ]
    data = CompareProps(sides=[] if pair.same_run else sides, status=_status(pair))
    if any(view.projection is not None for view in pair.views):
        data["quality"] = _quality(pair.views)
    if pair.b is not None and pair.complete and not pair.same_run:
        # Thousands of neighbors take a moment, for which nothing else on the page need wait.
        version = f"{component_props.run_version(pair.a)}-{component_props.run_version(pair.b)}"
        data["cells_url"] = f"{ROUTES}/agreement/{pair.a.run.id}/{pair.b.run.id}.json?{version}"
    return data


def _status(pair: Compared) -> str:
    """Return what the table of agreement waits for, or why there will be none."""
    if pair.b is None:
        return ""
    for run_view in pair.views:
        if not run_view.live and not run_view.complete:
            return f"{run_view.run.title} ended before its test images were embedded: the runs cannot be compared."
    return "Comparing predictions …" if pair.complete else "Available when both runs have finished."


def _quality(run_views: tuple[RunView, ...]) -> MapQuality:
    """Return how well each map keeps the distances of the embeddings, where it has been measured."""
    qualities = [_quality_of(run_view) for run_view in run_views]
    titles = [
        view_titles(run_view.run)[LIVE if run_view.projection is None else run_view.projection.config.method]
        for run_view in run_views
    ]
    rows = [(title, [values.get(name) for values in qualities]) for name, title in QUALITY.items()]
    return {"titles": titles, "rows": rows, "note": QUALITY_NOTE}


def _quality_of(run_view: RunView) -> dict[str, float | None]:
    """Return the measured values by name; none before a map's end."""
    if run_view.projection is None and PROJECTIONS[run_view.run.default_view].identity:
        return dict.fromkeys(QUALITY, 1.0)  # the embedding itself
    return (run_view.run if run_view.projection is None else run_view.projection).faithfulness
