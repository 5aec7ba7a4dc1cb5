"""The losses, as they are offered, family by family."""

from dmlviz.catalog.losses.pairs import PAIRS
from dmlviz.catalog.losses.proxies import PROXIES
from dmlviz.catalog.losses.structured import STRUCTURED
from dmlviz.catalog.losses.sums import sums
from dmlviz.catalog.losses.triplets import TRIPLETS
from dmlviz.catalog.parameters import Catalog

_SINGLE = [*PAIRS, *TRIPLETS, *STRUCTURED, *PROXIES]

LOSSES = Catalog("loss", [*_SINGLE, *sums(_SINGLE)])
