"""The sidebar: Explore's settings, or the outline of a lesson.

Every page draws the settings, though only Explore shows them: what all pages have in common stays in the browser, and
making these fields anew was a third of the time that the way back to Explore took.
"""

import streamlit as st

from app.panels import account, settings, task
from app.runtime.services import session_services
from app.state import explore
from app.state.current_view import PageContext, page_context
from app.state.task_progress import TaskProgress

_CONTEXT_KEY = "explored"


def last_explored() -> tuple[PageContext, TaskProgress | None]:
    """Page context of Explore and progress of the active lesson task, as its sidebar resolved them in this rerun."""
    context_and_progress: tuple[PageContext, TaskProgress | None] = st.session_state[_CONTEXT_KEY]
    return context_and_progress


def explore_sidebar() -> None:
    """Render the sidebar of Explore."""
    context = page_context()
    progress = task.active_lesson(context)
    st.session_state[_CONTEXT_KEY] = context, progress
    with st.sidebar:
        if progress is None:
            settings.settings(context.ui, context.services, context.run_view)
        else:
            task.lesson_outline(context, progress)
        account.account(context.services)


def other_page_sidebar() -> None:
    """Render the settings in the state in which Explore was left; hidden on other pages."""
    ui = explore.saved_state()
    if ui.lesson is None:
        with st.sidebar:
            settings.settings(ui, session_services(), None)
