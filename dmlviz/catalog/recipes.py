"""Recipes: named starting points of a training. Each is a choice of settings for any data set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dmlviz.catalog.parameters import Catalog, Spec, specs


@dataclass(frozen=True, kw_only=True)
class RecipeSpec(Spec):
    """A starting point; `settings` are the fields of `TrainConfig` that differ from what its loss recommends."""

    settings: Mapping[str, Any] = field(default_factory=dict)


RECIPES = Catalog("recipe", specs(RecipeSpec, "recipe"))
