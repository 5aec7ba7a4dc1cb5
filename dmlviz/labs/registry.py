"""The labs by name, in the order of the page: each is `LAB` of the package of its name."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from dmlviz.catalog.parameters import Catalog
from dmlviz.errors import UserError
from dmlviz.labs.answers import Answer
from dmlviz.labs.lab import Lab

ORDER = (
    "classical-or-mined",
    "verification",
    "reid",
    "gallery",
    "few-shot",
    "reality-check",
    "margins",
    "recall",
    "patches",
    "tracking",
    "two-domains",
    "metric",
    "terrapattern",
    "scale",
    "hierarchy",
    "collapse",
    "hubs",
    "signatures",
)

LABS: Catalog[Lab] = Catalog("lab", [import_module(f"dmlviz.labs.{name.replace('-', '_')}").LAB for name in ORDER])


def answer(question: Mapping[str, Any]) -> Answer:
    """Answer a question.

    Args:
        question: The fields of a `dmlviz.labs.answers.Question`, and those of the lab.

    Raises:
        UserError: If the lab answers no questions, or the question is wrong.
    """
    lab = LABS[question["lab"]]
    module, _, function = lab.playground.partition(":")
    if not module:
        raise UserError(f"The lab {lab.name} has no playground that asks.")
    try:
        return cast(Answer, getattr(import_module(module), function)(question))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"The lab {lab.name} does not understand the question ({error}): reload the page.") from None
