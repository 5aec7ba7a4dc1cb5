"""A gallery: identities come and go, and a query may be unknown."""

import numpy as np
import pytest

from dmlviz.errors import UserError
from dmlviz.ops.gallery import Gallery


def test_each_rule_finds_what_a_loop_finds() -> None:
    rng = np.random.default_rng(0)
    pictures = {name: rng.normal(size=(count, 4)) for name, count in (("a", 1), ("b", 5), ("c", 3))}
    queries = rng.normal(size=(30, 4))
    for rule in ("nearest", "mean"):
        gallery = Gallery(rule)
        for name, rows in pictures.items():
            gallery.add(name, rows[:1])
            if len(rows) > 1:
                gallery.add(name, rows[1:])
        assert gallery.counts == {"a": 1, "b": 5, "c": 3}
        answers = gallery.ask(queries, threshold=1.0)
        for query, name, distance, accepted in zip(
            queries, answers.names, answers.distances, answers.accepted, strict=True
        ):
            compared = {
                other: np.linalg.norm(query - rows.mean(axis=0))
                if rule == "mean"
                else np.linalg.norm(query - rows, axis=1).min()
                for other, rows in pictures.items()
            }
            assert name == min(compared, key=compared.__getitem__)
            assert distance == pytest.approx(compared[name], rel=1e-6)
            assert accepted == (compared[name] <= 1.0)


def test_who_is_removed_is_no_longer_an_answer_and_who_is_added_is() -> None:
    gallery = Gallery()
    gallery.add("a", [[0.0, 0.0]])
    gallery.add("b", [[1.0, 0.0]])
    assert gallery.ask([[0.9, 0.0]]).names == ("b",)
    gallery.remove("b")
    assert gallery.ask([[0.9, 0.0]]).names == ("a",)
    gallery.add("c", [[0.8, 0.0]])
    assert gallery.ask([[0.9, 0.0]]).names == ("c",)


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (lambda gallery: gallery.add("b", [[1.0]]), r"embeddings, n × 2; got an array of shape \(1, 1\)"),
        (lambda gallery: gallery.add("b", np.zeros((0, 2))), "n × 2"),
        (lambda gallery: gallery.add("b", [[np.nan, 0.0]]), "finite numbers"),
        (lambda gallery: gallery.remove("b"), "holds a; there is no 'b'"),
        (lambda gallery: (gallery.remove("a"), gallery.ask([[0.0, 0.0]])), "empty: add an identity first"),
        (lambda gallery: Gallery("median"), "the nearest picture or the mean; got 'median'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_done_is_one_sentence(do, says: str) -> None:
    gallery = Gallery()
    gallery.add("a", [[0.0, 0.0]])
    with pytest.raises(UserError, match=says):
        do(gallery)
