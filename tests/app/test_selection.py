"""Selected test images as one word of a URL."""

import zlib
from base64 import b64decode, b64encode, urlsafe_b64encode

import numpy as np
import pytest

from app.state.explore import UIState
from app.state.selection import Selection
from dmlviz.config.subset import MAX_BYTES


def selection(items, n=10_000, dataset="mnist"):
    mask = np.zeros(n, bool)
    mask[list(items)] = True
    return Selection(dataset, b64encode(np.packbits(mask, bitorder="little").tobytes()).decode())


def items(selected):
    bits = np.frombuffer(b64decode(selected.bits), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist()


@pytest.mark.parametrize("chosen", [[0], [9_999], [3, 4, 7_777], range(10_000), range(0, 10_000, 2)])
def test_a_selection_round_trips_through_the_url(chosen):
    state = UIState(selected=selection(chosen))
    again = UIState.from_query(state.to_query())
    assert items(again.selected) == list(chosen)
    assert again.selected.dataset == "mnist"
    assert again.to_query() == state.to_query()


def test_any_selection_of_10_000_images_fits_into_a_url():
    rng = np.random.default_rng(0)
    assert len(selection(rng.permutation(10_000)[:5000]).encode) < 1700
    assert len(selection(rng.permutation(10_000)[:10]).encode) < 80


@pytest.mark.parametrize(
    "word",
    [
        "",
        "mnist",
        "mnist.",
        "mnist.☃",
        "mnist.AAAA",
        selection([]).encode,
        "mnist." + urlsafe_b64encode(zlib.compress(b"\1" * (MAX_BYTES + 1))).decode(),
        selection([5]).encode[:-4],
    ],
)
def test_an_invalid_selection_selects_nothing(word):
    assert Selection.decode(word) is None
