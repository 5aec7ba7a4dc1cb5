"""Recipes: named starting points of a training. Each is a choice of settings for any data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dmlviz.catalog.datasets import DATASETS, may_not_mirror
from dmlviz.catalog.parameters import Catalog, Fields, Spec, specs


@dataclass(frozen=True, kw_only=True)
class RecipeSpec(Spec):
    """A starting point; `settings` are the fields of `TrainConfig` that differ from what its loss recommends.

    `dataset` is the one that it needs; empty where any will do. `measured` says how it went once: data, date, time.
    `losses` are those of a race, the most telling first: the first six that the settings allow.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = ""
    measured: str = ""
    losses: Sequence[str] = ()

    def fields(self, dataset: str) -> Fields:
        """Return the fields of a `TrainConfig` for a data set, which is mirrored only where that makes sense."""
        dataset = self.dataset or dataset
        fields = {"dataset": dataset, **self.settings}
        if may_not_mirror(DATASETS[dataset]) and "flip" in (strengths := self.settings.get("augmentation", {})):
            fields["augmentation"] = {name: strength for name, strength in strengths.items() if name != "flip"}
        return fields


RECIPES = Catalog("recipe", specs(RecipeSpec, "recipe"))
