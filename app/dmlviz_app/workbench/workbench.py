"""The workbench: maps, inspectors and scores of the shown run, and the link to what a person looks at.

The browser owns what is looked at; see frontend/src/workbench.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from dmlviz_app.forms.selection import SeenView, command
from dmlviz_app.widgets.components import mount
from dmlviz_app.workbench import component_props
from dmlviz_app.workbench.current_view import RunView
from dmlviz_app.workbench.protocol import ViewProps, WorkbenchProps


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
        "n": component_props.sprite_props(run_views[0])["n"],
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
