"""The pairs that a visitor of a lab is asked about."""

import numpy as np

from app.state.pair_game import PairGame

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
