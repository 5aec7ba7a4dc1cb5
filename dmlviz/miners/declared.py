"""The miners, as they are offered."""

from dmlviz.declarations import Catalogue, MinerDeclaration

MINERS = Catalogue(
    "miner",
    [
        MinerDeclaration(
            name="all_pairs",
            title="All pairs",
            summary="Every pair of the batch.",
            makes="pairs",
        ),
    ],
)
