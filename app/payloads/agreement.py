"""Which test images two runs get right and wrong, by their nearest neighbors."""

from base64 import b64encode
from typing import Any

import numpy as np

from app.payloads.nearest_neighbors import nearest_neighbor_bytes
from dmlviz.errors import UserError
from dmlviz.runs.run import Run

# Which of the two have the nearest image of their own class: the first, the second.
AGREEMENT_CELLS = {"both": (True, True), "first": (True, False), "second": (False, True), "neither": (False, False)}


def agreement_table(a: Run, b: Run) -> dict[str, Any]:
    """By cell how many test images, and which: {name: {"count", "bits"}}, bits as in frontend/src/lib/bitmask.ts.

    Raise UserError where the two are not of the same images, or have not come to their end.
    """
    if a.config.dataset != b.config.dataset:
        raise UserError("The runs use different data sets. Choose two runs of the same data set.")
    first, second = is_correct(a), is_correct(b)
    if len(first) != len(second):
        raise UserError("The two runs do not have the same test images; choose two that were trained on the same data.")
    cells = {}
    for name, (first_correct, second_correct) in AGREEMENT_CELLS.items():
        mask = (first == first_correct) & (second == second_correct)
        bits = np.packbits(mask, bitorder="little").tobytes()
        cells[name] = {"count": int(mask.sum()), "bits": b64encode(bits).decode()}
    return cells


def is_correct(run: Run) -> np.ndarray:
    """Whether the nearest test image of each is of its own class (n, bool).

    Raise UserError before the end, and while the neighbors of very many images are being computed.
    """
    content, labels = nearest_neighbor_bytes(run), run.labels
    if content is None:
        raise UserError(f"The nearest neighbors of {run.title} are being computed: open this page again in a minute.")
    assert labels is not None  # there are embeddings
    items = np.frombuffer(content, "<i4", count=len(labels))
    labels = np.asarray(labels)
    correct: np.ndarray = labels[items] == labels
    return correct
