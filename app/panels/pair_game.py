"""Ten pairs of pictures: one identity or two? Then the visitor's own cross on the ROC, and a threshold to move."""

from pathlib import Path

import numpy as np
import streamlit as st

from app.panels.curves import PLOTLY_CONFIG
from app.payloads.threshold import KEPT, threshold_props
from app.runtime.services import Services
from app.state.labs import LabView
from app.state.pair_game import PairGame
from app.widgets.components import mount
from app.widgets.pictures import picture
from dmlviz.labs.identity_rows import by_net
from dmlviz.labs.shown_images import find_images
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.trial import TrialResult

KEY = "lab.pair_game"
ZOOM = 5  # screen pixels for each pixel of a picture
LEAST_RATE = 1e-4  # where a rate of 0 is drawn on a logarithmic axis


def pair_game(services: Services, view: LabView) -> None:
    """Render the game with the pairs that a study kept."""
    results = view.study.results() if view.study is not None else []
    nets = {title: group[0] for title, group in by_net(results).items() if _path(group[0]) is not None}
    st.markdown("##### Your own eyes")
    if not nets:
        st.caption("Run the lab, and you can try the same pairs as the nets.")
        return
    first = next(iter(nets.values()))
    images = find_images(first.trial.dataset, first.values["images"])
    game = None
    if images is None:
        st.caption("The pictures are not on this machine: run the lab here to try its pairs.")
    else:
        pairs = read_arrays(_path(first) or Path())
        game = st.session_state.setdefault(KEY, PairGame.new(pairs["same"], seed=0))
        if game.current is None:
            _end(game, nets, view)
        else:
            _question(game, images[pairs["first"][game.current]], images[pairs["second"][game.current]])
    st.markdown("##### Move the threshold")
    you = game.operating_point if game is not None and game.current is None else None
    props = threshold_props(nets, images, [] if game is None else game.order, you)
    mount("threshold", key="lab.threshold", data={**props})


def _path(result: TrialResult) -> Path | None:
    path = None if result.folder is None else result.folder / KEPT
    return path if path is not None and path.exists() else None


def _question(game: PairGame, first: np.ndarray, second: np.ndarray) -> None:
    st.markdown(f"Pair {len(game.said) + 1} of {len(game.order)}: one identity on two cameras, or two identities?")
    with st.container(horizontal=True, gap="small", key="pair-game"):
        for image in (first, second):
            picture(image, alt="one of the two pictures", width=ZOOM * image.shape[1])
    with st.container(horizontal=True, gap="small"):
        st.button("The same", key=f"{KEY}.same", on_click=game.answer, args=(len(game.said), True))
        st.button("Two different ones", key=f"{KEY}.different", on_click=game.answer, args=(len(game.said), False))


def _end(game: PairGame, nets: dict[str, TrialResult], view: LabView) -> None:
    from dmlviz.labs.drawing import draw

    false_alarms, recall = game.operating_point
    scores = []
    for title, result in nets.items():
        distances = read_arrays(_path(result) or Path())["distance"]
        scores.append(f"{title} {game.right_of(distances, result.values['threshold'])}")
    st.markdown(
        f"You were right for **{game.right} of {len(game.order)}** pairs: you recognized {recall:.0%} of those of one "
        f"identity, and {false_alarms:.0%} of those of two seemed the same to you. The same ten pairs, each net with "
        f"its threshold: {', '.join(scores)}."
    )
    spec = next(figure for figure in view.lab.figures if figure.name == "roc")
    rows = [row for row in view.lab.rows([*nets.values()]) if row.figure == spec.name]
    figure = draw(spec, rows, bool(st.context.theme.type == "dark"))
    figure.add_scatter(
        x=[max(false_alarms, LEAST_RATE)],
        y=[recall],
        mode="markers+text",
        marker={"symbol": "x-thin", "size": 16, "line": {"width": 4, "color": "#d1495b"}},
        text=["you"],
        textposition="bottom center",
        name="you, 10 pairs",
        hovertemplate=f"you: false positive rate {false_alarms:.1f}, recall {recall:.1f}<extra></extra>",
    )
    figure.update_layout(title=None, margin={"l": 64, "r": 16, "t": 12, "b": 92}, height=360)
    st.plotly_chart(figure, theme="streamlit", config=PLOTLY_CONFIG, key=f"{KEY}.roc")
    st.caption("Ten pairs are few: another ten may put your cross elsewhere. No false alarm is drawn at the left edge.")
    st.button("Ten other pairs", key=f"{KEY}.again", on_click=_again, args=(game,))


def _again(game: PairGame) -> None:
    seed = st.session_state.get(f"{KEY}.seed", 0) + 1
    st.session_state[f"{KEY}.seed"] = seed
    st.session_state[KEY] = PairGame.new(game.same, seed)
