"""The losses, as they are offered, family by family."""

from dmlviz.declarations import Catalogue
from dmlviz.losses.declared_pairs import PAIRS
from dmlviz.losses.declared_proxies import PROXIES
from dmlviz.losses.declared_structured import STRUCTURED
from dmlviz.losses.declared_sums import sums
from dmlviz.losses.declared_triplets import TRIPLETS

_SINGLE = [*PAIRS, *TRIPLETS, *STRUCTURED, *PROXIES]

LOSSES = Catalogue("loss", [*_SINGLE, *sums(_SINGLE)])
