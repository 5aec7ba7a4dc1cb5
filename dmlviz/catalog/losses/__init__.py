"""The specs of the losses, family by family."""

from collections.abc import Callable, Sequence
from typing import Any

from dmlviz.catalog.losses.pairs import PAIRS
from dmlviz.catalog.losses.proxies import PROXIES
from dmlviz.catalog.losses.structured import STRUCTURED
from dmlviz.catalog.losses.sums import WeightedSumSpec, sums
from dmlviz.catalog.losses.triplets import TRIPLETS
from dmlviz.catalog.losses.views import VIEWS
from dmlviz.catalog.parameters import Catalog, LossSpec


class Losses(Catalog[LossSpec]):
    """The losses, and the sums of any two of them; a loss that a plug-in brings can be a part of a sum too."""

    def __init__(self, single: Sequence[LossSpec]) -> None:
        super().__init__("loss", [*single, *sums(single)])

    def add(self, entry: LossSpec, implementation: Callable[..., Any]) -> None:
        """Add the loss of a plug-in, by itself and within sums."""
        super().add(entry, implementation)
        self._declare_sums()

    def remove(self, name: str) -> None:
        """Remove the loss of a plug-in."""
        super().remove(name)
        self._declare_sums()

    def _declare_sums(self) -> None:
        single = [spec for spec in self.values() if not isinstance(spec, WeightedSumSpec)]
        self._entries.update({spec.name: spec for spec in sums(single)})


LOSSES = Losses([*PAIRS, *TRIPLETS, *STRUCTURED, *VIEWS, *PROXIES])
