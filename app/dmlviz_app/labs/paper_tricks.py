"""A biased comparison: a favorite loss, a switch for each trick, and the gain that the comparison then shows."""

import streamlit as st

from dmlviz.labs.reality_check.claims import (
    BASELINE_TRICKS,
    FAVOR_WORDS,
    OWN_TRICKS,
    Claim,
    Trick,
    claim,
    favors_of,
)
from dmlviz.labs.reality_check.plan import BY_KEY, CONTRASTIVE, FAVORS, Contestant
from dmlviz.studies.trial import TrialResult
from dmlviz_app.labs.state import LabView
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.workbench.curves_panel import PLOTLY_CONFIG

KEY = "lab.tricks"
HEIGHT = 210  # pixels


def paper_tricks(services: Services, view: LabView) -> None:
    """Render the switches, and the comparison that they make of the results."""
    st.markdown("#### Be the author")
    results = view.study.results() if view.study is not None else []
    fair = {key: claim(results, contestant) for key, contestant in BY_KEY.items()}
    favorites = {key: one for key, one in fair.items() if one is not None}
    if not favorites:
        st.caption("Run the lab: the switches need its final runs.")
        return
    # The best on the level field first; last the contrastive loss, which beats itself by tricks alone.
    options = sorted(favorites, key=lambda key: (key == CONTRASTIVE.key, -favorites[key].own))

    @st.fragment
    def switches() -> None:
        with error_boundary("The comparison"):
            _switches(results, favorites, options)

    switches()


def _switches(results: list[TrialResult], fair: dict[str, Claim], options: list[str]) -> None:
    left, right = st.columns([4, 7], gap="medium")
    with left:
        key = st.selectbox(
            "Your favorite loss",
            options,
            key=f"{KEY}.favorite",
            format_func=lambda key: f"{BY_KEY[key].title} ({BY_KEY[key].year})",
        )
        tricks = _toggles("What you do to the contrastive loss of 2006", BASELINE_TRICKS)
        tricks |= _toggles("What you do for your favorite", OWN_TRICKS)
        favor = ""
        if ways := favors_of(results, BY_KEY[key]):
            favor = st.selectbox(
                "How you train it", ["", *ways], key=f"{KEY}.favor.{key}", format_func=FAVOR_WORDS.__getitem__
            )
    with right:
        _claim(results, BY_KEY[key], tricks, favor, fair[key])


def _toggles(title: str, tricks: dict[Trick, str]) -> set[Trick]:
    st.markdown(f"**{title}**")
    # The best step was looked for with single nets.
    unknown: set[Trick] = {"best_step"} if st.session_state.get(f"{KEY}.four_nets") else set()
    return {
        trick
        for trick, text in tricks.items()
        if st.toggle(text, key=f"{KEY}.{trick}", disabled=trick in unknown) and trick not in unknown
    }


def _claim(results: list[TrialResult], contestant: Contestant, tricks: set[Trick], favor: str, fair: Claim) -> None:
    paper = claim(results, contestant, tricks, favor)
    if paper is None:
        st.caption("These results have no runs with this choice of tricks: try another, or run the lab.")
        return
    name = contestant.title
    st.markdown(f"### “{name} {_in_words(paper.gain)} the contrastive loss.”")
    used = len(tricks) + (len(FAVORS) - 1 if favor == "all" else bool(favor))
    count = "No trick" if not used else "1 trick" if used == 1 else f"{used} tricks"
    st.markdown(f"{count} in use. On the level field {name} {_in_words(fair.gain)} it.")
    from dmlviz.labs.reality_check.claims import draw_claim

    figure = draw_claim(name, paper, fair, dark=st.context.theme.type == "dark")
    about = figure.layout.meta["about"]
    figure.update_layout(title=None, margin={"l": 16, "r": 16, "t": 8, "b": 48}, height=HEIGHT)
    st.plotly_chart(figure, theme="streamlit", config=PLOTLY_CONFIG, key=f"{KEY}.chart", alt=about)
    st.caption(about)


def _in_words(gain: float) -> str:
    if abs(gain) < 0.5:
        return "is as good as"
    return f"is {abs(gain):.0f}% {'better' if gain > 0 else 'worse'} than"
