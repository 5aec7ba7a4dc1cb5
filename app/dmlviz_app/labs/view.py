"""One lab: the guess, the run, the figure, the activity of the visitor, the literature, the downloads."""

from collections.abc import Callable
from urllib.parse import urlencode

import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz.labs.lab import Lab
from dmlviz.labs.lab_study import as_command, cost_in_words, ready_made, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.labs.thumbnail import thumbnail
from dmlviz_app.labs import few_shot_episodes, gallery_size, own_gallery, pair_game, paper_tricks
from dmlviz_app.labs import figure as lab_figure
from dmlviz_app.labs import playground as lab_playground
from dmlviz_app.labs import run as lab_run
from dmlviz_app.labs.state import NO_GUESS, LabsState, LabView, default_dataset, view_lab, view_rows
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services, session_services
from dmlviz_app.widgets import navigation, url_state
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import Messages
from dmlviz_app.widgets.protocol import Card, CardIndexProps, CardSection

REFRESH_S = 1.0  # seconds between two looks at a study that runs
FIRST_REFRESH_S = 0.4  # as long as its figure has no point


def lab_view(ui: LabsState, services: Services) -> None:
    """Render the lab that the state names."""
    view = view_lab(ui, services)
    navigation.link("labs", "All labs", {}, icon=":material/arrow_back:")
    st.markdown(f"### {view.lab.title}\n{with_terms(view.lab.question)}")
    running, has_guess = view.own is not None and view.own.state == "running", bool(ui.guess)
    waiting = running and not view_rows(view)

    @st.fragment(run_every=(FIRST_REFRESH_S if waiting else REFRESH_S) if running else None)
    def experiment() -> None:
        """Render the part that changes while the study runs, and when a point is clicked."""
        with error_boundary("The experiment"):
            now = view_lab(ui, session_services())
            is_running = now.own is not None and now.own.state == "running"
            if (is_running, bool(ui.guess)) != (running, has_guess):
                url_state.rerun()
            _experiment(ui, session_services(), now)
            url_state.write_url(ui)
            if waiting and view_rows(now):
                url_state.rerun()  # the first point is drawn: from here on less often

    experiment()
    with error_boundary("The activity"):
        _activity(services, view, has_guess)
    with error_boundary("The literature"):
        if has_guess and (view.lab.literature or view.lab.literature_note):  # it would give the answer away
            st.markdown("#### What the literature found")
            lab_figure.literature(view.lab)
    with error_boundary("Keep"):
        _keep(ui, view)
    if view.lab.reference:
        st.caption(f"Reference: {view.lab.reference}")


def _experiment(ui: LabsState, services: Services, view: LabView) -> None:
    side, middle = st.columns([3, 8], gap="medium")
    with side:
        with error_boundary("The guess"):
            _guess(ui, view)
        with error_boundary("Run"):
            lab_run.run_panel(ui, services, view)
    with middle, error_boundary("The figure"):
        lab_figure.results(ui, view)


def _guess(ui: LabsState, view: LabView) -> None:
    guess = view.lab.guess
    with st.container(border=True, key="lab-guess", gap="small"):
        st.markdown(f"**Guess first.** {guess.question}")
        if not ui.guess:
            for number, option in enumerate(guess.options, 1):
                button(option, key=f"lab.guess.{number}", on_click=_set_guess, args=(ui, number), width="stretch")
            button(
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
        button("Guess again", key="lab.guess.again", type="tertiary", on_click=_set_guess, args=(ui, 0))


def _set_guess(ui: LabsState, number: int) -> None:
    ui.guess = number


def _keep(ui: LabsState, view: LabView) -> None:
    """Render the downloads of the study shown, or of the one that the settings name."""
    info = None if view.study is None else view.study.info
    size, dataset = (ui.size, view.dataset) if info is None else (info["size"], info["dataset"])
    # Relative, as the app may lie below a path.
    routes = f"{ROUTES}/labs/{view.lab.name}/{dataset}"
    st.markdown("#### Keep")
    with st.container(horizontal=True, gap="small"):
        if view.study is not None:
            source = "ready-made" if view.study is view.ready_made else size
            query = urlencode(
                {"figure": ui.figure or view.lab.figures[0].name, "dark": int(st.context.theme.type == "dark")}
            )
            st.link_button("Figure (HTML)", f"{routes}/{source}/figure.html?{query}")
            st.link_button("Numbers (CSV)", f"{routes}/{source}/numbers.csv")
        st.link_button("Script (Python)", f"{routes}/{size}/script.py")
    st.code(as_command(view.lab.name, size, dataset), language="bash", wrap_lines=True)


PANELS: dict[str, Callable[[Services, LabView], None]] = {
    "pairs": pair_game.pair_game,
    "gallery": own_gallery.own_gallery,
    "places": lab_playground.places,
    "planes": lab_playground.planes,
    "sketch": lab_playground.sketch,
    "video": lab_playground.video,
    "metric": lab_playground.metric_playground,
    "tricks": paper_tricks.paper_tricks,
    "episode map": few_shot_episodes.few_shot_episodes,
    "gallery size": gallery_size.gallery_size,
}
ANSWERING = ("planes", "tricks", "episode map", "gallery size")  # these show the answer, and wait for the guess


def _activity(services: Services, view: LabView, has_guess: bool) -> None:
    """Render the activity of a lab, if it has one; one that shows the answer only after the guess."""
    if view.lab.activity and (has_guess or view.lab.activity not in ANSWERING):
        PANELS[view.lab.activity](services, view)


TEXT = (
    "Experiments of the field, on small images. Each asks a question: guess, then look at the answer, or run the "
    "experiment on this machine."
)


def lab_cards(services: Services, messages: Messages) -> None:
    """Render a card for each lab; above them, that the address names one that does not exist."""
    messages.show("lab")
    cards = [_card(lab, services) for lab in LABS.values()]
    section = CardSection(title="Labs", text=TEXT, heading=3, form="large", cards=cards)
    mount("card_index", key="labs.cards", data=CardIndexProps(sections=[section], pictures=""))
    st.link_button("All printed numbers beside ours", f"{ROUTES}/labs/printed-and-measured.html")


def _card(lab: Lab, services: Services) -> Card:
    dataset = default_dataset(lab, services)
    card = Card(
        address=f"labs?lab={lab.name}",
        title=lab.title,
        text=lab.question,
        note=f"On this machine: {cost_in_words(lab, 'quick', dataset)} for the quick run.",
        picture="",
    )
    study = ready_made(lab.name) or services.studies.get(lab.name, "quick", dataset)
    if study is not None:
        card["chart"] = thumbnail(lab.figures[0], study_rows(study), st.context.theme.type == "dark")
    return card
