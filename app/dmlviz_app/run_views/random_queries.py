"""Some random test images with their nearest neighbors: what a retrieval score means, in pictures."""

import numpy as np
import streamlit as st

from dmlviz.catalog.glossary import with_terms
from dmlviz.figures.data import Images
from dmlviz.labs.picture_grid import picture_grid
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz_app.run_views.sprites import ImageTiles
from dmlviz_app.widgets.pictures import picture

QUERIES, NEIGHBORS = 8, 10
SEED = "curves.queries.seed"
WIDTH = 40  # pixels of an image on the page


def random_queries(selected: Images, tiles: ImageTiles) -> None:
    """Render random queries, a row each: the query, then its nearest neighbors, framed by whether they are right.

    Args:
        selected: Embeddings of a run.
        tiles: The test images.
    """
    seed = st.session_state.setdefault(SEED, 0)
    rows, found = ranked(selected, seed)
    items = np.arange(len(selected.labels)) if selected.items is None else selected.items
    labels = np.asarray(selected.labels)
    hits = labels[found] == labels[rows, None]
    left, right = st.columns([7, 3])
    with left, st.container(key="random-queries", gap="small"):
        for row, neighbors, is_hit in zip(rows, found, hits, strict=True):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                name = selected.classes[labels[row]] if selected.classes else str(labels[row])
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
                f"{selected.about}. First the query, in a blue frame, then its {found.shape[1]} nearest neighbors by "
                f"Euclidean distance: green of the query's class, red of another. {hits.mean():.0%} of these are right."
            )
        )
        st.button("Shuffle", key="curves.queries.shuffle", icon=":material/shuffle:", on_click=_shuffle)


def ranked(selected: Images, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows of the embeddings (q), and the rows of the nearest others of each (q × k), nearest first."""
    count = len(selected.labels)
    rows = np.random.default_rng(seed).permutation(count)[:QUERIES]
    return rows, NearestNeighbors(selected.embeddings).others(NEIGHBORS, rows)[1]


def _shuffle() -> None:
    st.session_state[SEED] += 1
