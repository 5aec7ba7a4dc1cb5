"""An episode on a map: examples, prototypes and queries in the plane in which they spread most."""

from dataclasses import dataclass
from itertools import islice

import numpy as np
import plotly.graph_objects as go

from dmlviz.figures.palette import DIFFERENT, class_colors
from dmlviz.figures.style import MUTED, figure, theme_of
from dmlviz.metrics.few_shot import Episode, episodes, nearest_prototype


@dataclass(frozen=True)
class EpisodeMap:
    """An episode and where everything lies.

    Attributes:
        episode: The classes and images.
        answers: The way whose prototype is nearest to each query in the whole space (w × queries).
        support: Places of the examples (w × shots × 2).
        prototypes: Places of their means (w × 2).
        queries: Places of the queries (w × queries × 2).
    """

    episode: Episode
    answers: np.ndarray
    support: np.ndarray
    prototypes: np.ndarray
    queries: np.ndarray

    @property
    def accuracy(self) -> float:
        """The share of the queries that are answered rightly."""
        return float(np.mean(self.answers == np.arange(len(self.answers))[:, None]))


def episode_map(
    embeddings: np.ndarray, labels: np.ndarray, ways: int, shots: int, queries: int, number: int, seed: int = 0
) -> EpisodeMap:
    """Return an episode, projected by PCA: the mean of the examples is then also the mean on the map.

    Args:
        embeddings: Embeddings (n × d).
        labels: Class IDs (n).
        ways: Classes in an episode.
        shots: Examples of each class.
        queries: Queries of each class.
        number: Number of the episode, from 0, that `dmlviz.metrics.few_shot.episodes` draws.
        seed: Seed of the draws.

    Raises:
        UserError: If there are not enough classes, or too few images in one of them.
    """
    episode = next(islice(episodes(labels, ways, shots, queries, number + 1, seed), number, None))
    points = np.asarray(embeddings, np.float64)
    used = np.concatenate([episode.support.ravel(), episode.queries.ravel()])
    center = points[used].mean(axis=0)
    axes = np.linalg.svd(points[used] - center, full_matrices=False)[2][:2].T
    support = (points[episode.support] - center) @ axes
    return EpisodeMap(
        episode=episode,
        answers=nearest_prototype(np.asarray(embeddings, np.float32), episode),
        support=support,
        prototypes=support.mean(axis=1),
        queries=(points[episode.queries] - center) @ axes,
    )


def draw_episode(episode_map: EpisodeMap, names: list[str], dark: bool = False) -> go.Figure:
    """Draw examples as stars, prototypes as crosses, and from each query a line to its nearest prototype.

    Args:
        episode_map: The episode.
        names: Name of each way.
        dark: Use the dark theme.
    """
    theme, ways = theme_of(dark), np.arange(len(names))
    colors = class_colors(len(names), theme)
    traces: list[go.Scatter] = []
    for is_right, color in ((True, MUTED[theme]), (False, DIFFERENT[theme])):
        lines = np.nonzero((episode_map.answers == ways[:, None]) == is_right)
        ends = np.stack([episode_map.queries[lines], episode_map.prototypes[episode_map.answers[lines]]], axis=1)
        gaps = np.concatenate([ends, np.full((len(ends), 1, 2), np.nan)], axis=1).reshape(-1, 2)
        title = f"{'right' if is_right else 'wrong'}: {len(ends)}"
        traces.append(
            go.Scatter(x=gaps[:, 0], y=gaps[:, 1], mode="lines", line={"color": color, "width": 1}, name=title)
        )
    for way, (name, color) in enumerate(zip(names, colors, strict=True)):
        for places, words, marker in (
            (episode_map.queries[way], f"a query of {name}", {"symbol": "circle", "size": 7}),
            (episode_map.support[way], f"an example of {name}", {"symbol": "star", "size": 13}),
            (episode_map.prototypes[way : way + 1], f"prototype of {name}", {"symbol": "cross", "size": 13}),
        ):
            traces.append(
                go.Scatter(
                    x=places[:, 0],
                    y=places[:, 1],
                    mode="markers",
                    marker={"color": color, "line": {"width": 1, "color": MUTED[theme]}, **marker},
                    name=words,
                    hovertemplate=f"{words}<extra></extra>",
                    showlegend=False,
                )
            )
    traces[0].hoverinfo = traces[1].hoverinfo = "skip"
    about = (
        "Stars are examples, crosses their means, the prototypes; from each query a line leads to the nearest "
        "prototype in the whole space. The map is the PCA of this episode."
    )
    bare = {"showticklabels": False, "showgrid": False, "zeroline": False}
    return figure(
        traces, "An episode", about, theme, xaxis=bare, yaxis={**bare, "scaleanchor": "x"}, hovermode="closest"
    )
