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

_EXPLORED = "explored"


def last_explored() -> tuple[PageContext, TaskProgress | None]:
    """Page context of Explore and progress of the active lesson task, as its sidebar resolved them in this rerun."""
    resolved: tuple[PageContext, TaskProgress | None] = st.session_state[_EXPLORED]
    return resolved


def explore_sidebar() -> None:
    """Render the sidebar of Explore."""
    now = page_context()
    progress = task.active_lesson(now)
    st.session_state[_EXPLORED] = now, progress
    with st.sidebar:
        if progress is None:
            settings.settings(now.ui, now.services, now.shown)
        else:
            task.lesson_outline(now, progress)
        account.account(now.services)


def other_page_sidebar() -> None:
    """Render the settings in the state in which Explore was left; hidden on other pages."""
    ui = explore.saved_state()
    if ui.lesson is None:
        with st.sidebar:
            settings.settings(ui, session_services(), None)
