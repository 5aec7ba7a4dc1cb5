"""The spec of the augmentation: how each image of a training batch may be changed at random."""

from collections.abc import Mapping
from typing import Any

from dmlviz.catalog.parameters import Spec, brief, parse_literal, specs
from dmlviz.errors import UserError

AUGMENTATION = specs(Spec, "setting")[0]


def check_strengths(value: Any) -> dict[str, float]:
    """Return the strengths that are not 0, by name; raise UserError for an unknown name or a wrong number.

    Example:
        >>> check_strengths({"rotate": 15, "crop": 0})
        {'rotate': 15.0}
    """
    value = parse_literal(value)
    if not isinstance(value, Mapping):
        raise UserError(f'augmentation is strengths by name, as in {{"rotate": 15}}; got {brief(value)}.')
    return {name: strength for name, strength in AUGMENTATION.with_defaults(value).items() if strength}
