"""A loss typed as a formula: what is read, what is refused in a sentence, and that no text is run."""

import math
from contextlib import suppress

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz import TrainConfig, losses
from dmlviz.catalog.formula import FUNCTIONS, QUANTITIES, read_formula
from dmlviz.errors import UserError
from dmlviz.losses.custom import value

NUMBERS = st.integers(0, 9).map(str) | st.floats(0.01, 9).map(lambda x: f"{x:.2f}")
LEAVES = NUMBERS | st.sampled_from([*QUANTITIES["triplets"]])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda x: f"(-{x})"),
        st.tuples(inner, st.sampled_from("23")).map("({0[0]} ** {0[1]})".format),
        st.tuples(st.sampled_from(["relu", "softplus", "tanh", "abs", "sigmoid"]), inner).map("{0[0]}({0[1]})".format),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map("{0[0]}({0[1]}, {0[2]})".format),
    ),
    max_leaves=8,
)


def test_signs_may_be_those_of_print():
    assert read_formula("y·d × 2 − 1", "pairs").text == "y * d * 2 - 1"


@settings(max_examples=200, deadline=None)
@given(TREES)
def test_a_formula_means_what_python_would_make_of_it(text):
    try:
        formula = read_formula(text, "triplets")
    except UserError:
        return
    at = {name: 0.3 + 0.2 * place for place, name in enumerate(QUANTITIES["triplets"])}
    try:
        expected = eval(text, {**FUNCTIONS, **at})
    except ArithmeticError:
        return
    tensors = {name: torch.tensor(value, dtype=torch.float64) for name, value in at.items()}
    assert formula.value(at) == pytest.approx(expected)
    assert float(value(formula, tensors)) == pytest.approx(expected)
    assert read_formula(formula.text, "triplets").text == formula.text
    latex = formula.latex()
    assert latex.count("{") == latex.count("}")
    assert all(f"<{QUANTITIES['triplets'][name]}>" in latex for name in formula.names)
    assert [*formula.names] == [name for name in at if name in formula.names]  # the same in every process


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from("d_ap relu ( ) + - ** 9 , . [ ] ' lambda : _ x".split())).map(" ".join)
)
def test_any_other_text_is_read_or_refused(text):
    with suppress(UserError):
        assert read_formula(text, "triplets").names


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("__import__('os').system('true')", "has the functions relu, softplus"),
        ("d_ap.real", "the signs + - * / **; got 'd_ap.real'"),
        ("d_ap ^ 2", "A power is written with **, as in d ** 2; got 'd_ap ^ 2'"),
        ("(lambda: d_ap)()", "has the functions"),
        ("d_ap if d_an else 0", "the signs"),
        ("relu(d_ap", "is no formula: write it as in relu"),
        ("relu + d_ap", "A formula of triplets has d_ap, d_an"),
        ("relu(d_ap, 2)", "relu takes one value; got 2"),
        ("min(d_ap)", "min takes two values; got 1"),
        ("d", "A formula of triplets has"),
        ("0.2", "is the same for all images"),
        ("d_ap ** d_an", "The exponent of a power is a number"),
        ("log(d_an - d_ap)", "has no value at d_ap = 1.5, d_an = 0.5"),
        ("9 ** 9 ** 9 ** d_ap", "The exponent"),
        ("1e999 * d_ap", "has no value"),
        ("d_ap" + " + d_ap" * 40, "at most 200 characters"),
        ("(" * 180 + "d_ap" + ")" * 9, "is no formula"),
    ],
)
def test_what_no_formula_has_is_named(text, sentence):
    for refuse in (
        lambda: read_formula(text, "triplets"),
        lambda: TrainConfig(loss="custom_triplet", loss_params={"formula": text}),
    ):
        with pytest.raises(UserError) as refused:
            refuse()
        assert sentence in str(refused.value)


def test_spaces_and_zeros_make_no_other_run():
    ways = ["relu(d_ap-d_an+.3)", " relu( d_ap - d_an + 0.30 )"]
    configs = {TrainConfig(loss="custom_triplet", loss_params={"formula": way}).to_json() for way in ways}
    assert len(configs) == 1


def test_many_triplets_are_summed_in_parts_with_the_same_gradient(monkeypatch):
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(30, 3, generator=draw, dtype=torch.float64).requires_grad_()
    loss, labels = losses.build("custom_triplet"), torch.arange(30) % 4
    whole = torch.autograd.grad(loss(x, labels), x)[0]
    monkeypatch.setattr("dmlviz.losses.all_triplets.LISTED", 400)
    torch.testing.assert_close(torch.autograd.grad(loss(x, labels), x)[0], whole)


@pytest.mark.parametrize("text", ["sqrt(d_ap)", "log(d_ap) - log(d_an)", "d_ap ** 0.5"])
def test_slopes_stay_finite_where_images_coincide(text):
    x = torch.ones(6, 2).requires_grad_()
    value = losses.build("custom_triplet", formula=text)(x, torch.arange(6) % 2)
    value.backward()
    assert math.isfinite(value.detach())
    assert x.grad.isfinite().all()
