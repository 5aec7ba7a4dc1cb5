"""A loss that a person types as a formula, as in relu(d_ap - d_an + 0.2): read into a tree, never run as code.

This module does not import torch: the server checks a formula, a worker computes it.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from dmlviz.errors import UserError

LONGEST = 200  # characters of a formula
Of = Literal["pairs", "triplets"]
QUANTITIES: Mapping[Of, Mapping[str, str]] = {
    "pairs": {"d": "d_{ij}", "s": "s_{ij}", "y": "y_{ij}"},
    "triplets": {f"{kind}_{pair}": f"{kind}_{{{pair}}}" for kind in "ds" for pair in ("ap", "an", "pn")},
}
"""What a formula looks at, with the symbols in LaTeX: distances d, cosines s, and y, which is 1 for a pair of one class
and 0 for one of two."""

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "relu": lambda x: max(x, 0.0),
    "softplus": lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "abs": abs,
    "min": min,
    "max": max,
}
"""The functions of a formula, for numbers."""

_TWO = ("min", "max")
_OPERATORS: dict[type, tuple[Callable[..., Any], str]] = {
    ast.Add: (operator.add, "{} + {}"),
    ast.Sub: (operator.sub, "{} - {}"),
    ast.Mult: (operator.mul, r"{}\cdot {}"),
    ast.Div: (operator.truediv, r"\frac{{{}}}{{{}}}"),
    ast.Pow: (operator.pow, ""),  # written by `latex`
}
_LATEX = {
    "relu": r"\big[{}\big]_+",
    "softplus": r"\log\big(1 + e^{{{}}}\big)",
    "sigmoid": r"\frac{{1}}{{1 + e^{{-({})}}}}",
    "exp": "e^{{{}}}",
    "sqrt": r"\sqrt{{{}}}",
    "abs": r"\big|{}\big|",
}
_EXAMPLES: Mapping[Of, str] = {
    "pairs": "y * d ** 2 + (1 - y) * relu(1 - d) ** 2",
    "triplets": "relu(d_ap - d_an + 0.2)",
}
_SIGNS = str.maketrans("−·×", "-**")  # as papers print them
_RULE = "A formula has numbers, names, functions and the signs + - * / **"
_TRIALS = ((0.5, 1.5, 0.0), (0.5, 1.5, 1.0), (1.5, 0.5, 0.0), (1.5, 0.5, 1.0))  # positive, negative, one class or two


@dataclass(frozen=True)
class Formula:
    """A formula that was read: its text as Python writes it, and its tree."""

    text: str
    tree: ast.expr
    of: Of

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The quantities that it looks at, in the order of `QUANTITIES`."""
        named = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return tuple(name for name in QUANTITIES[self.of] if name in named)

    def value(
        self,
        quantities: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]] = FUNCTIONS,
        power: Callable[[Any, float], Any] = operator.pow,
    ) -> Any:
        """Return its value.

        Args:
            quantities: A number or a tensor for each of `names`.
            functions: What computes each of `FUNCTIONS` for them.
            power: What computes a power of them.
        """

        def of(node: ast.expr) -> Any:
            match node:
                case ast.Constant(value=int() | float() as number):
                    return float(number)
                case ast.Name(id=name):
                    return quantities[name]
                case ast.UnaryOp(operand=operand):
                    return -of(operand)
                case ast.BinOp(left=left, op=ast.Pow(), right=right):
                    return power(of(left), of(right))
                case ast.BinOp(left=left, op=sign, right=right):
                    return _OPERATORS[type(sign)][0](of(left), of(right))
                case ast.Call(func=ast.Name(id=name), args=arguments):
                    values = [of(argument) for argument in arguments]
                    constant = all(isinstance(value, float) for value in values)
                    return (FUNCTIONS if constant else functions)[name](*values)
            raise AssertionError(ast.dump(node))

        return of(self.tree)

    def latex(self) -> str:
        """Return it in LaTeX, each quantity in angle brackets, as `LossSpec.term` has it."""

        def of(node: ast.expr) -> str:
            match node:
                case ast.Constant(value=int() | float() as number):
                    return f"{number:g}"
                case ast.Name(id=name):
                    return f"<{QUANTITIES[self.of][name]}>"
                case ast.UnaryOp(operand=operand):
                    return f"-{grouped(operand)}"
                case ast.BinOp(left=left, op=ast.Add() | ast.Div() as sign, right=right):
                    return _OPERATORS[type(sign)][1].format(of(left), of(right))
                case ast.BinOp(left=left, op=ast.Sub() as sign, right=right):
                    return _OPERATORS[type(sign)][1].format(of(left), grouped(right))
                case ast.BinOp(left=left, op=ast.Pow(), right=right):
                    whole = isinstance(left, ast.Constant | ast.Name)
                    base, exponent = of(left) if whole else f"({of(left)})", of(right)
                    return f"{base}^{exponent}" if len(exponent) == 1 else f"{base}^{{{exponent}}}"
                case ast.BinOp(left=left, op=sign, right=right):
                    return _OPERATORS[type(sign)][1].format(grouped(left), grouped(right))
                case ast.Call(func=ast.Name(id=name), args=arguments):
                    return _LATEX.get(name, rf"\{name}\big({{}}\big)").format(", ".join(map(of, arguments)))
            raise AssertionError(ast.dump(node))

        def grouped(node: ast.expr) -> str:
            sums = isinstance(node, ast.UnaryOp) or (
                isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
            )
            return f"({of(node)})" if sums else of(node)

        return of(self.tree)


@cache
def read_formula(text: str, of: Of) -> Formula:
    """Return the formula that a text is, of pairs or of triplets; raise UserError with the rule that it breaks."""
    if len(text) > LONGEST:
        raise UserError(f"A formula has at most {LONGEST} characters; got {len(text)}.")
    try:
        tree = ast.parse(text.strip().translate(_SIGNS), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UserError(f"{text!r} is no formula: write it as in {_EXAMPLES[of]}.") from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if id(node) not in called:
            _check(node, of)
    formula = Formula(ast.unparse(tree), tree, of)
    if {*formula.names} <= {"y"}:
        raise UserError(f"{text!r} is the same for all images: use a distance or a cosine, as in {_EXAMPLES[of]}.")
    _try(formula)
    return formula


def _check(node: ast.AST, of: Of) -> None:
    """Raise UserError for a part of a tree that a formula does not have."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            if len(arguments) != 1 + (name in _TWO):
                raise UserError(f"{name} takes {'two values' if name in _TWO else 'one value'}; got {len(arguments)}.")
        case ast.Call(func=function):
            raise UserError(f"A formula has the functions {', '.join(FUNCTIONS)}; got {brief(ast.unparse(function))}.")
        case ast.Name(id=name) if name not in QUANTITIES[of]:
            raise UserError(f"A formula of {of} has {', '.join(QUANTITIES[of])}; got {brief(name)}.")
        case ast.BinOp(op=ast.Pow(), right=right) if any(isinstance(part, ast.Name) for part in ast.walk(right)):
            raise UserError(f"The exponent of a power is a number, as in d ** 2; got {brief(ast.unparse(right))}.")
        case ast.BinOp(op=ast.BitXor()):
            raise UserError(f"A power is written with **, as in d ** 2; got {brief(ast.unparse(node))}.")
        case ast.BinOp(op=sign) if type(sign) in _OPERATORS:
            pass
        case ast.Constant(value=bool() as truth):
            raise UserError(f"A formula has numbers; got {truth}.")
        case ast.Name() | ast.Constant(value=int() | float()) | ast.UnaryOp(op=ast.USub()):
            pass
        case ast.expr():
            raise UserError(f"{_RULE}; got {brief(ast.unparse(node))}.")


def _try(formula: Formula) -> None:
    """Raise UserError where a formula has no value at usual distances."""
    for near, far, y in _TRIALS:
        distances = {"d": near, "d_ap": near, "d_an": far, "d_pn": 1.0}
        cosines = {name.replace("d", "s"): 1 - distance for name, distance in distances.items()}
        given = distances | cosines | {"y": y}
        try:
            value = formula.value(given)
            finite = not isinstance(value, complex) and math.isfinite(value)
        except (ArithmeticError, ValueError):
            finite = False
        if not finite:
            at = ", ".join(f"{name} = {given[name]:g}" for name in formula.names)
            raise UserError(f"{brief(formula.text)} has no value at {at}: a loss has one at all distances.")


def brief(text: str, most: int = 60) -> str:
    """Return a text as a message repeats it."""
    return repr(text if len(text) <= most else f"{text[:most]}…")
