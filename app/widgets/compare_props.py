"""Props of the two maps of the page Compare, and of the scores below them."""

from typing import Any

from app.payloads.protocol.common import ROUTES
from app.state.compare import LINK, CompareState, Pair, to_explore_state
from app.state.current_view import RunView
from app.widgets import component_props
from dmlviz.errors import UserError

HEIGHT, HEIGHT_WITH_NOTES = (
    430,
    540,
)  # pixels of a map; below a projection stand its figures and what not to read from it


def map_data(run_view: RunView, ui: CompareState, pair: Pair) -> dict[str, Any]:
    """Props of one map of a pair: at its last frame, linked to the other."""
    try:
        neighbors = [] if ui.pinned is None else run_view.run.neighbors(ui.pinned, 10)
    except UserError:  # not embedded at this step
        neighbors = []
    data = component_props.map_data(run_view, to_explore_state(run_view, ui), neighbors, None)
    data.pop("autoplay", None)
    running = run_view.live if run_view.drawing is None else run_view.drawing_live
    link = {"link": LINK if pair.same_dataset else None, "links_views": pair.same_view}
    return data | {"running": running, **link, "height": HEIGHT if pair.same_view else HEIGHT_WITH_NOTES}


def versus_data(pair: Pair) -> dict[str, Any]:
    """Props of the score table; the agreement table once both runs have finished."""
    assert pair.b is not None
    sides = [
        component_props.run_source(run_view) | {"title": run_view.run.title, "steps": run_view.run.steps}
        for run_view in (pair.a, pair.b)
    ]
    data: dict[str, Any] = {"sides": sides, "complete": pair.complete}
    if pair.complete:
        # Thousands of neighbors take a moment, for which nothing else on the page need wait.
        version = f"{component_props.run_version(pair.a)}-{component_props.run_version(pair.b)}"
        data["cells_url"] = f"{ROUTES}/agreement/{pair.a.run.id}/{pair.b.run.id}.json?{version}"
    return data
