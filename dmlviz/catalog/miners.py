"""The specs of the miners."""

from dataclasses import dataclass
from typing import Literal

from dmlviz.catalog.parameters import Catalog, Spec, specs


@dataclass(frozen=True, kw_only=True)
class MinerSpec(Spec):
    """A miner.

    tuple_kind: Kind of the selected tuples, "pairs" or "triplets".
    remedy_for: The alarm against which it is suggested ("collapsed", "inactive"), or "" for none; see
        dmlviz/training/suggestions.py.
    """

    tuple_kind: str
    remedy_for: Literal["", "collapsed", "inactive"] = ""


MINERS = Catalog("miner", specs(MinerSpec, "miner"))
