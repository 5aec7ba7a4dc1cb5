"""Ten pairs of pictures: one identity or two? Then the visitor's own cross on the ROC, and a threshold to move."""

import io
from base64 import b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import streamlit as st
from PIL import Image

from dmlviz.labs.identity_nets import by_net
from dmlviz.labs.kept_arrays import find_images
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.trial import TrialResult
from dmlviz_app.labs.protocol import ThresholdNet, ThresholdPair, ThresholdProps
from dmlviz_app.labs.state import LabView
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.pictures import picture
from dmlviz_app.workbench.curves_panel import PLOTLY_CONFIG

KEPT = "guessed.npz"  # the pairs that a trial kept, with its distances
SHOWN = 8  # pairs of each kind
PIXELS = "raw pixels"


def threshold_props(
    nets: Mapping[str, TrialResult],
    images: np.ndarray | None,
    hidden: Collection[int] = (),
    you: tuple[float, float] | None = None,
) -> ThresholdProps:
    """Return what the page needs to move a threshold.

    Args:
        nets: A result with kept pairs for each net, by its title.
        images: The test images (uint8, n × h × w); None where they are not on disk: then no pairs are shown.
        hidden: Numbers of the pairs that the visitor is being asked about.
        you: The visitor's own false positive rate and recall.
    """
    arrays = {title: _arrays(result) for title, result in nets.items()}
    first = next(iter(arrays.values()))
    rows = np.zeros(0, np.int64)
    if images is not None:
        free = ~np.isin(np.arange(len(first["same"])), list(hidden))
        rows = np.concatenate([np.flatnonzero(free & (first["same"] == kind))[:SHOWN] for kind in (True, False)])
    pixels = arrays[PIXELS]["distance"] if PIXELS in arrays else None
    pairs: list[ThresholdPair] = [
        {
            "images": [] if images is None else [_png(images[first[side][row]]) for side in ("first", "second")],
            "same": bool(first["same"][row]),
            "pixels": None if pixels is None else round(float(pixels[row]), 2),
        }
        for row in rows
    ]
    return {
        "best": max(nets, key=lambda title: float(nets[title].values["accuracy_10_fold"])),
        "nets": [_net(title, result, arrays[title]["distance"][rows]) for title, result in nets.items()],
        "pairs": pairs,
        "you": None if you is None else list(you),
    }


def _arrays(result: TrialResult) -> dict[str, np.ndarray]:
    assert result.folder is not None
    return dict(read_arrays(result.folder / KEPT))


def _net(title: str, result: TrialResult, distances: np.ndarray) -> ThresholdNet:
    values = result.values
    return {
        "title": title,
        "edges": values["histogram"]["edges"],
        "same": values["histogram"]["same"],
        "different": values["histogram"]["different"],
        "threshold": values["threshold"],
        "folds": values["folds"],
        "distances": [round(float(distance), 4) for distance in distances],
    }


def _png(image: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"


ROUNDS = 10  # half of them of one identity


@dataclass
class PairGame:
    """A game: its pairs, and the answers so far.

    Attributes:
        same: Whether each pair of the list is of one identity.
        order: Numbers of the pairs asked about.
        answers: Answers so far: True for "the same".
    """

    same: np.ndarray
    order: list[int]
    answers: list[bool] = field(default_factory=list)

    @classmethod
    def new(cls, same: np.ndarray, seed: int, rounds: int = ROUNDS) -> "PairGame":
        """Draw as many pairs of one identity as of two, in random order."""
        rng = np.random.default_rng(seed)
        kinds = (np.flatnonzero(same), np.flatnonzero(~same))
        pairs = np.concatenate([rng.choice(kind, rounds // 2, replace=False) for kind in kinds])
        return cls(np.asarray(same), rng.permutation(pairs).tolist())

    @property
    def current(self) -> int | None:
        """Number of the pair that is asked about now; None at the end."""
        return self.order[len(self.answers)] if len(self.answers) < len(self.order) else None

    def answer(self, number: int, answer: bool) -> None:
        """Answer question `number`, from 0; an answer that comes twice counts once."""
        if len(self.answers) == number:
            self.answers.append(answer)

    @property
    def right(self) -> int:
        """The number of right answers."""
        return sum(answer == self.same[pair] for pair, answer in zip(self.order, self.answers, strict=False))

    @property
    def operating_point(self) -> tuple[float, float]:
        """False positive rate and recall of the answers so far; 0 where nothing of the kind was asked."""
        pairs = [(bool(self.same[pair]), own) for pair, own in zip(self.order, self.answers, strict=False)]
        rates = []
        for kind in (False, True):
            own = [answer for same, answer in pairs if same == kind]
            rates.append(sum(own) / len(own) if own else 0.0)
        return rates[0], rates[1]

    def right_of(self, distances: np.ndarray, threshold: float) -> int:
        """Return the number of asked pairs that a threshold on the distance of each pair of the list gets right."""
        return int(np.sum((distances[self.order] < threshold) == self.same[self.order]))


KEY = "lab.pair_game"
ZOOM = 5  # screen pixels for each pixel of a picture
LEAST_RATE = 1e-4  # where a rate of 0 is drawn on a logarithmic axis


def pair_game(services: Services, view: LabView) -> None:
    """Render the game with the pairs that a study kept; a fragment, so that an answer draws only the next pair."""

    @st.fragment
    def game() -> None:
        with error_boundary("The game"):
            _game(view)

    game()


def _game(view: LabView) -> None:
    results = view.study.results() if view.study is not None else []
    nets = {title: group[0] for title, group in by_net(results).items() if _path(group[0]) is not None}
    st.markdown("#### Your own eyes")
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
    st.markdown("#### Move the threshold")
    you = game.operating_point if game is not None and game.current is None else None
    props = threshold_props(nets, images, [] if game is None else game.order, you)
    mount("threshold", key="lab.threshold", data={**props})


def _path(result: TrialResult) -> Path | None:
    path = None if result.folder is None else result.folder / KEPT
    return path if path is not None and path.exists() else None


def _question(game: PairGame, first: np.ndarray, second: np.ndarray) -> None:
    st.markdown(f"Pair {len(game.answers) + 1} of {len(game.order)}: one identity on two cameras, or two identities?")
    with st.container(horizontal=True, gap="small", key="pair-game"):
        for image in (first, second):
            picture(image, alt="one of the two pictures", width=ZOOM * image.shape[1])
    with st.container(horizontal=True, gap="small"):
        button("The same", key=f"{KEY}.same", on_click=game.answer, args=(len(game.answers), True))
        button("Two different ones", key=f"{KEY}.different", on_click=game.answer, args=(len(game.answers), False))


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
    button("Ten other pairs", key=f"{KEY}.again", on_click=_again, args=(game,))


def _again(game: PairGame) -> None:
    seed = st.session_state.get(f"{KEY}.seed", 0) + 1
    st.session_state[f"{KEY}.seed"] = seed
    st.session_state[KEY] = PairGame.new(game.same, seed)
