"""Some random test images with their nearest neighbors: what a retrieval score means, in pictures."""

import numpy as np
import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz.figures.data import Images
from dmlviz.labs.pictures import picture_grid
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz_app.answers.sprites import ImageTiles
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.pictures import picture

QUERIES, NEIGHBORS = 8, 10
SEED = "curves.queries.seed"
WIDTH = 40  # pixels of an image on the page


def random_queries(points: Images, tiles: ImageTiles) -> None:
    """Render random queries, a row each: the query, then its nearest neighbors, framed by whether they are right.

    Args:
        points: Embeddings of a run.
        tiles: The test images.
    """
    seed = st.session_state.setdefault(SEED, 0)
    rows, nearest = rank(points, seed)
    items = np.arange(len(points.labels)) if points.items is None else points.items
    labels = np.asarray(points.labels)
    hits = labels[nearest] == labels[rows, None]
    left, right = st.columns([7, 3])
    with left, st.container(key="random-queries", gap="small"):
        for row, neighbors, is_hit in zip(rows, nearest, hits, strict=True):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                name = points.classes[labels[row]] if points.classes else str(labels[row])
                words = f"{name}: {is_hit.sum()} of {len(is_hit)}"
                width = WIDTH * (1 + len(neighbors))
                image = picture_grid(
                    tiles.images[items[row]], tiles.images[items[neighbors]], is_hit, 1 + len(neighbors)
                )
                picture(image, alt=f"Test image {items[row]:,}, then its nearest neighbors. {words}", width=width)
                st.caption(words, width="content")
    with right:
        st.markdown(f"**{len(rows)} queries at random**")
        st.caption(
            with_terms(
                f"{points.about}. First the query, in a blue frame, then its {nearest.shape[1]} nearest neighbors by "
                f"Euclidean distance: green of the query's class, red of another. {hits.mean():.0%} of these are right."
            )
        )
        button("Shuffle", key="curves.queries.shuffle", icon=":material/shuffle:", on_click=_shuffle)


def rank(points: Images, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows of the embeddings (q), and the rows of the nearest others of each (q × k), nearest first."""
    count = len(points.labels)
    rows = np.random.default_rng(seed).permutation(count)[:QUERIES]
    return rows, NearestNeighbors(points.embeddings).others(NEIGHBORS, rows)[1]


def _shuffle() -> None:
    st.session_state[SEED] += 1
