"""The sidebar: Explore's settings, the outline of a lesson, or the card of a run that was not trained here.

Every page draws the settings, though only Explore shows them: what all pages have in common stays in the browser, and
making these fields anew was a third of the time that the way back to Explore took.
"""

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import UNLABELED
from dmlviz.storage.text import counted
from dmlviz_app.explore import settings, task, upload_dialog
from dmlviz_app.explore.task import TaskProgress
from dmlviz_app.forms import view_state as explore
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.services import Services, session_services
from dmlviz_app.widgets import account
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.workbench import component_props
from dmlviz_app.workbench.current_view import PageContext, RunView, page_context

_EXPLORED = "explored"
_HEAD = "explored.head"  # the container of sentences that found no other place
_FORM = "card.form"  # the run beside which the settings are wanted all the same


def resolve() -> tuple[PageContext, TaskProgress | None] | None:
    """Resolve the page context of Explore and the progress of the active lesson task, before the page is drawn.

    Returns None where that failed, which the page says.
    """
    st.session_state[_EXPLORED] = None
    st.session_state[_HEAD] = st.container()
    with error_boundary("The shown run"):
        context = page_context()
        st.session_state[_EXPLORED] = context, task.active_lesson(context)
    explore.saved_state().messages.begin()
    explored: tuple[PageContext, TaskProgress | None] | None = st.session_state[_EXPLORED]
    return explored


def sidebar(is_explore: bool) -> None:
    """Render it on Explore, after what `resolve` found, or on another page."""
    if is_explore:
        explore_sidebar()
    else:
        other_page_sidebar()


def explore_sidebar() -> None:
    """Render the sidebar of Explore, then above the page what was said and found no place."""
    explored: tuple[PageContext, TaskProgress | None] | None = st.session_state[_EXPLORED]
    ui = explore.saved_state()
    with st.sidebar:
        with error_boundary("The sidebar"):
            if explored is None:
                settings.settings(ui, session_services(), None)
            else:
                _content(*explored)
        with error_boundary("The account"):
            account.account(session_services())
    explore.publish(ui)
    with st.session_state[_HEAD], error_boundary("The notes"):
        ui.messages.show_rest()


def _content(context: PageContext, progress: TaskProgress | None) -> None:
    if progress is not None:
        task.lesson_outline(context, progress)
    elif context.run_view is not None and has_card(context.run_view):
        run_card(context.ui, context.services, context.run_view)
    else:
        settings.settings(context.ui, context.services, context.run_view)


def other_page_sidebar() -> None:
    """Render the settings in the state in which Explore was left; hidden on other pages."""
    with st.sidebar, error_boundary("The sidebar"):
        ui = explore.saved_state()
        if ui.lesson is None:
            settings.settings(ui, session_services(), None)


def has_card(run_view: RunView) -> bool:
    """Return whether the run was imported or recorded, so that it has no net, and no settings are wanted beside it."""
    return not has_net(run_view) and st.session_state.get(_FORM) != run_view.run.id


def has_net(run_view: RunView) -> bool:
    """Return whether new images can be embedded: whether the run was trained here, not imported or recorded."""
    return DATASETS[run_view.run.config.dataset].trainable


def run_card(ui: UIState, services: Services, run_view: RunView) -> None:
    """Render what the run is, where it comes from, when, how many images it has, and what can be done with it."""
    run = run_view.run
    data, noun = DATASETS[run.config.dataset], component_props.noun_props(run_view).get("noun", "image")
    with st.container(border=True, key="run-card"):
        st.markdown(f"**{escape_markdown(run.title)}**")
        came = "Recorded from another program" if run.recorded else "Imported"
        st.caption(f"{came}, {run.created:%Y-%m-%d %H:%M} {run.created:%Z}")
        labels = run.labels
        size = f"{run.config.embedding_dim} dimensions, {'length 1' if run.config.normalize else 'any length'}"
        classes = [name for name in data.classes if name != UNLABELED]
        facts = {
            "Data": data.title,
            "Embeddings": f"{counted(0 if labels is None else len(labels), noun)}, {size}",
            "Classes": f"{len(classes):,}" if len(data.classes) > 1 else "no labels",
        }
        if run.recorded:
            facts["Training"] = f"{counted(run.steps, 'step')} so far" if run_view.live else counted(run.steps, "step")
        for name, fact in facts.items():
            st.markdown(f":small[{name}: **{escape_markdown(fact)}**]")
        st.caption(
            f"Click {'an' if noun == 'image' else 'a'} {noun} to see its neighbors, draw other maps, open *Curves*, "
            "compare it with another run of the same data, or export it. *Upload* beside the map lays other rows of "
            f"numbers over it{'' if noun == 'row' else '; its net is not here, so no new images can be embedded'}."
        )
        if run_view.live:
            st.caption("The other program trains it, and only that can stop it.")
    upload_dialog.upload_button()
    with error_boundary("Upload"):
        upload_dialog.upload_panel(ui, services)
    button("Set up a training", key="card.train", width="stretch", on_click=_want_form, args=(run.id,))


def _want_form(run: str) -> None:
    st.session_state[_FORM] = run
