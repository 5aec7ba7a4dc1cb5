"""The pairs that a visitor of a lab is asked about."""

import numpy as np
import pytest
from dmlviz_app.labs.pair_game import KEPT, SHOWN, PairGame, threshold_props

from dmlviz.labs.lab_study import ready_made
from dmlviz.storage.arrays import read_arrays

SAME = np.repeat([True, False], 30)


def test_a_game_asks_half_of_each_kind_and_no_pair_twice():
    game = PairGame.new(SAME, seed=4)
    assert len(set(game.order)) == 10
    assert SAME[game.order].sum() == 5
    assert PairGame.new(SAME, seed=4).order == game.order
    assert PairGame.new(SAME, seed=5).order != game.order


def test_the_cross_is_the_share_of_each_kind_called_the_same():
    game = PairGame(SAME, order=[0, 1, 30, 31, 32, 33])
    for number, said in enumerate((True, False, True, False, False)):
        game.answer(number, said)
        game.answer(number, not said)  # a click that comes twice
    assert game.current == 33
    game.answer(5, False)
    assert game.current is None
    assert game.operating_point == (0.25, 0.5)
    assert game.right == 1 + 3
    distances = np.zeros(60)
    distances[31:] = 2.0
    assert game.right_of(distances, threshold=1.0) == 2 + 3


def test_before_the_first_answer_nothing_is_known():
    game = PairGame.new(SAME, seed=0)
    assert game.operating_point == (0.0, 0.0)
    assert game.right == 0
    assert game.current == game.order[0]


def test_a_threshold_is_moved_over_pairs_that_are_not_asked_about():
    results = ready_made("verification").results()
    nets = {result.trial.settings["net"]: result for result in results}
    nets["raw pixels"] = nets.pop("pixels")
    images = np.zeros((751 * 8, 4, 4), np.uint8)
    kept = read_arrays(nets["softmax"].folder / KEPT)
    asked = list(range(20))
    props = threshold_props(nets, images, asked, you=(0.2, 0.8))
    free = range(20, 60)
    rows = [row for kind in (True, False) for row in [row for row in free if kept["same"][row] == kind][:SHOWN]]
    assert [pair["same"] for pair in props["pairs"]] == [True] * SHOWN + [False] * SHOWN
    softmax = next(net for net in props["nets"] if net["title"] == "softmax")
    assert softmax["distances"] == pytest.approx(kept["distance"][rows], abs=1e-4)
    assert props["pairs"][3]["pixels"] == pytest.approx(
        read_arrays(nets["raw pixels"].folder / KEPT)["distance"][rows[3]], abs=0.01
    )
    assert props["you"] == [0.2, 0.8]
    assert props["best"] == max(nets, key=lambda net: nets[net].values["accuracy_10_fold"])
    assert all(sum(net["same"]) == pytest.approx(1) for net in props["nets"])
    assert threshold_props(nets, None)["pairs"] == []
