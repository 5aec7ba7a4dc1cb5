"""The spec of the augmentation: how each image of a training batch may be changed at random."""

from collections.abc import Mapping
from typing import Any

from dmlviz.catalog.parameters import Parameter, Spec, brief, parse_literal
from dmlviz.errors import UserError


def _strength(name: str, maximum: float, step: float, text: str) -> Parameter:
    return Parameter(name=name, kind=float, default=0.0, minimum=0, maximum=maximum, step=step, help=f"{text}; 0: off")


AUGMENTATION = Spec(
    name="augmentation",
    title="Augmentation",
    summary="Changes each image of a batch at random, differently every time, so that the net learns what not to look "
    "at.",
    when_to_use="With few training images, and always in training without labels: what the augmentation changes is "
    "what the net learns to ignore.",
    parameters=(
        _strength("crop", 0.9, 0.05, "largest share of the area that a crop leaves out; the rest is scaled up again"),
        _strength("shift", 0.5, 0.05, "largest shift, as a share of the image's side"),
        _strength("rotate", 180, 5, "largest rotation in degrees, either way"),
        _strength("erase", 0.5, 0.05, "largest share of the area of a rectangle that is erased, in every second image"),
        _strength("jitter", 1, 0.05, "largest change of brightness and contrast (of saturation too, in color)"),
    ),
)


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
