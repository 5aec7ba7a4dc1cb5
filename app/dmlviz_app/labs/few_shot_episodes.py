"""Episodes of the lab *From one example*, one after the other: a map of each, and the accuracy so far."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.labs.few_shot import EMBEDDED, NETS
from dmlviz.labs.statistics import t_interval
from dmlviz.metrics.few_shot import episode_accuracies
from dmlviz.storage.arrays import read_arrays
from dmlviz_app.labs.state import LabView
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import warn
from dmlviz_app.workbench.curves_panel import PLOTLY_CONFIG

KEY = "lab.episodes"
QUERIES = 5  # of each class: more would hide each other
MOST = 600  # episodes, as the papers score
HEIGHT = 400  # pixels


def few_shot_episodes(services: Services, view: LabView) -> None:
    """Render sliders for the test, an episode, and buttons for more."""
    st.markdown("#### Episode by episode")
    results = view.study.results() if view.study is not None else []
    folders = {
        result.trial.settings["net"]: result.folder
        for result in reversed(results)  # of several seeds the first
        if result.folder is not None and (result.folder / EMBEDDED).exists()
    }
    if view.study is None or not folders:
        st.caption("Run the lab: these results keep no embeddings.")
        return
    names = DATASETS[view.study.info["dataset"]].classes

    @st.fragment
    def episodes() -> None:
        with error_boundary("The episodes"):
            _episodes({net: folders[net] for net in NETS if net in folders}, names)

    episodes()


def _episodes(folders: dict[str, Path], names: tuple[str, ...]) -> None:
    left, right = st.columns([4, 7], gap="medium")
    with left:
        nets = list(folders)
        net = st.selectbox(
            "Training", nets, len(nets) - 1, key=f"{KEY}.net", format_func=lambda net: f"{NETS[net][0]}{_shots(net)}"
        )
        ways = st.slider("Ways in the test", 2, 20, 5, key=f"{KEY}.ways")
        shots = st.slider("Shots in the test", 1, 10, 1, key=f"{KEY}.shots")
        task = net, ways, shots
        if st.session_state.get(f"{KEY}.task") != task:  # another task begins at its first episode
            st.session_state[f"{KEY}.task"], st.session_state[f"{KEY}.count"] = task, 1
        count = st.session_state[f"{KEY}.count"]
        with st.container(horizontal=True, gap="small"):
            for more, label in ((1, "Next episode"), (50, "50 more")):
                button(label, key=f"{KEY}.more.{more}", on_click=_go_on, args=(count + more,), disabled=count >= MOST)
    path = str(folders[net] / EMBEDDED)
    try:
        accuracies = _accuracies(path, ways, shots, count)
        with left:
            st.markdown(_in_words(accuracies))
        with right:
            _map(path, ways, shots, count - 1, names)
    except UserError as error:
        warn(error)


def _shots(net: str) -> str:
    support = NETS[net][1].get("loss_params", {}).get("support")
    return f", {support} shot" if support == 1 else ""  # more of them stand in the title


def _go_on(count: int) -> None:
    st.session_state[f"{KEY}.count"] = min(MOST, count)


def _in_words(accuracies: np.ndarray) -> str:
    this = f"Episode {len(accuracies)}: **{accuracies[-1]:.0%}** of the queries are right."
    if len(accuracies) == 1:
        return f"{this} One episode has no interval."
    mean, low, high = t_interval(accuracies.tolist())
    return (
        f"{this} All {len(accuracies)} so far: **{mean:.1%}**, 95% t-interval over the episodes {low:.1%} to "
        f"{min(high, 1):.1%}."
    )


def _map(path: str, ways: int, shots: int, number: int, names: tuple[str, ...]) -> None:
    from dmlviz.labs.few_shot.episode_map import draw_episode, episode_map

    arrays = _arrays(path)
    episode = episode_map(arrays["embeddings"], arrays["labels"], ways, shots, QUERIES, number)
    plot = draw_episode(
        episode, [names[label] for label in episode.episode.classes], dark=st.context.theme.type == "dark"
    )
    about = plot.layout.meta["about"]
    plot.update_layout(title=None, margin={"l": 8, "r": 8, "t": 8, "b": 40}, height=HEIGHT)
    st.plotly_chart(plot, theme="streamlit", config=PLOTLY_CONFIG, key=f"{KEY}.map", alt=about)
    st.caption(about)


@lru_cache(maxsize=8)
def _arrays(path: str) -> dict[str, np.ndarray]:
    return dict(read_arrays(Path(path)))


@lru_cache(maxsize=64)
def _accuracies(path: str, ways: int, shots: int, count: int) -> np.ndarray:
    """Return the accuracy of each of the first episodes."""
    arrays = _arrays(path)
    return episode_accuracies(arrays["embeddings"], arrays["labels"], ways, shots, QUERIES, count)
