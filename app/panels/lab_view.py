"""One lab: the guess, the run, the figure, the pictures behind a point, the literature, what to keep."""

import streamlit as st

from app.panels import lab_activity, lab_figure, lab_keep, lab_run, navigation
from app.runtime import url_state
from app.runtime.services import Services, session_services
from app.state.labs import NO_GUESS, LabsState, LabView, view_lab, view_rows
from app.widgets.error_boundary import error_boundary
from app.widgets.markdown import escape_markdown

REFRESH_S = 1.0  # seconds between two looks at a study that runs
FIRST_REFRESH_S = 0.4  # as long as its figure has no point


def lab_view(ui: LabsState, services: Services) -> None:
    """Render the lab that the state names."""
    view = view_lab(ui, services)
    navigation.link("labs", "All labs", {}, icon=":material/arrow_back:")
    st.markdown(f"### {view.lab.title}\n{view.lab.question}")
    running, guessed = view.own is not None and view.own.state == "running", bool(ui.guess)
    waiting = running and not view_rows(view)

    @st.fragment(run_every=(FIRST_REFRESH_S if waiting else REFRESH_S) if running else None)
    def experiment() -> None:
        """The part that changes while the study runs, and when a point is clicked."""
        with error_boundary():
            now = view_lab(ui, session_services())
            is_running = now.own is not None and now.own.state == "running"
            if (is_running, bool(ui.guess)) != (running, guessed):
                url_state.rerun()
            _experiment(ui, session_services(), now)
            url_state.write_url(ui)
            if waiting and view_rows(now):
                url_state.rerun()  # the first point is drawn: from here on less often

    experiment()
    lab_activity.lab_activity(services, view, guessed)
    if guessed and (view.lab.literature or view.lab.literature_note):  # it would give the answer away
        st.markdown("##### What the literature found")
        lab_figure.literature(view.lab)
    lab_keep.keep(ui, view)
    if view.lab.reference:
        st.caption(f"Reference: {view.lab.reference}")


def _experiment(ui: LabsState, services: Services, view: LabView) -> None:
    side, middle = st.columns([3, 8], gap="medium")
    with side:
        _guess(ui, view)
        lab_run.run_panel(ui, services, view)
    with middle:
        lab_figure.results(ui, view)


def _guess(ui: LabsState, view: LabView) -> None:
    guess = view.lab.guess
    with st.container(border=True, key="lab-guess", gap="small"):
        st.markdown(f"**Guess first.** {guess.question}")
        if not ui.guess:
            for number, option in enumerate(guess.options, 1):
                st.button(option, key=f"lab.guess.{number}", on_click=_set_guess, args=(ui, number), width="stretch")
            st.button(
                "Show the answer without a guess",
                key="lab.guess.none",
                type="tertiary",
                on_click=_set_guess,
                args=(ui, NO_GUESS),
            )
            return
        if ui.guess != NO_GUESS:
            st.markdown(f"You guessed: {guess.options[ui.guess - 1]}.")
        if view.study is not None and view.study.state == "finished":
            st.markdown(guess.answer(view.study.results()))
        else:
            st.caption("The answer comes when the study has finished.")
        st.button("Guess again", key="lab.guess.again", type="tertiary", on_click=_set_guess, args=(ui, 0))
    if ui.note:
        st.caption(f":orange[{escape_markdown(ui.note)}]")


def _set_guess(ui: LabsState, number: int) -> None:
    ui.guess = number
