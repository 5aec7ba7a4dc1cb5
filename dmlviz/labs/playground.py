"""Answers what a visitor's playground asks a net of a lab, in the worker that stays."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from dmlviz.errors import UserError
from dmlviz.labs.registry import LABS


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a question, a JSON object, by another one.

    Args:
        question: `lab`, its name; `folder`, where a trial kept its net, and `stamp`, when; `dataset` and `data`, its
            data set and the data folder; and what the playground of the lab asks.

    Raises:
        UserError: If the lab answers no questions, or the question is wrong.
    """
    lab = LABS[question["lab"]]
    module, _, function = lab.playground.partition(":")
    if not module:
        raise UserError(f"The lab {lab.name} has no playground that asks.")
    try:
        reply: dict[str, Any] = getattr(import_module(module), function)(question)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"The lab {lab.name} does not understand the question ({error}): reload the page.") from None
    return reply
