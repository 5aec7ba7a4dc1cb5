"""The page can write every formula that a spec declares, the formulas of terms with numbers in them."""

import re
from collections.abc import Callable
from typing import Any

from dmlviz.catalog.losses import LOSSES


def test_every_formula_becomes_mathml(page_script: Callable[..., Any]) -> None:
    terms = [spec.term_for(spec.with_defaults({})) for spec in LOSSES.values()]
    templates = [template for template in [*terms, *(spec.negative_term for spec in LOSSES.values())] if template]
    formulas = [spec.formula for spec in LOSSES.values()]
    given = [{"template": template, "numbers": _numbers(template)} for template in templates]
    written = page_script("formulas", {"formulas": formulas, "templates": given})
    assert len(written) >= len(formulas) + len(templates)
    assert all(text.startswith("<math") and "undefined" not in text and "∞" not in text for text in written)


def _numbers(template: str) -> dict[str, float]:
    """A number for each symbol of a template, and for each that it names."""
    named = [step.split(" = ")[0] for step in template.split(r",\quad ")[:-1]]
    return dict.fromkeys([*re.findall(r"<([^<>]*?)°?>", template), *named], -0.25)
