"""Below the curves: the templates of a net that is one matrix of the pixels."""

import numpy as np
import streamlit as st

from app.payloads.templates import colored, templates
from app.runtime.url_state import note_event
from app.state.current_view import RunView
from app.widgets.pictures import picture
from dmlviz.catalog.datasets import DATASETS

WIDTH = 84  # pixels of a picture
MOST = 40  # pictures of a kind


def templates_panel(run_view: RunView) -> None:
    """Render an expander with the templates; nothing for a run whose net has none."""
    pictures = templates(run_view.run) if run_view.complete else None
    if pictures is None:
        return
    expander = st.expander("Templates", key="templates", on_change=note_event)
    if not expander.open:
        return
    config = run_view.run.config
    names = DATASETS[config.dataset].classes
    with expander:
        if pictures.classes is not None:
            per_class = max(1, len(pictures.classes) // len(config.train_classes))
            captions = [names[config.train_classes[row // per_class]] for row in range(len(pictures.classes))]
            st.markdown("**Classes.** The score of a class is the sum of its template times the image (and a bias).")
            _pictures(pictures.classes, captions)
        st.markdown("**Rows of W.** Each is what one dimension of the embedding looks for.")
        _pictures(pictures.rows, [str(row + 1) for row in range(len(pictures.rows))])
        st.caption("Red: ink there raises the value. Blue: ink there lowers it. Each picture has its own scale.")


def _pictures(pictures: np.ndarray, captions: list[str]) -> None:
    with st.container(horizontal=True, gap="xsmall"):
        for values, caption in zip(pictures[:MOST], captions, strict=False):
            picture(colored(values), alt=f"template {caption}", width=WIDTH, caption=caption)
    if len(pictures) > MOST:
        st.caption(f"The first {MOST} of {len(pictures)}.")
