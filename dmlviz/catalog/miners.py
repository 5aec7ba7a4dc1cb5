"""The specs of the miners."""

from dmlviz.catalog.parameters import Catalog, MinerSpec, Parameter, texts

_DISTANCE = Parameter(
    name="distance",
    kind=str,
    default="euclidean",
    choices=("euclidean", "sqeuclidean", "cosine"),
    help="distance to rank by; use the loss's",
)


def _margin(default: float, text: str) -> Parameter:
    return Parameter(name="margin", kind=float, default=default, minimum=0, maximum=100, step=0.05, help=text)


MINERS = Catalog(
    "miner",
    [
        MinerSpec(**texts("miner", "all_pairs"), tuple_kind="pairs"),
        MinerSpec(**texts("miner", "balanced_pairs"), tuple_kind="pairs"),
        MinerSpec(
            **texts("miner", "hard_negative_pairs"),
            tuple_kind="pairs",
            remedy_for="inactive",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            **texts("miner", "multi_similarity"),
            tuple_kind="pairs",
            parameters=(
                Parameter(
                    name="epsilon",
                    kind=float,
                    default=0.1,
                    minimum=0,
                    maximum=2,
                    step=0.05,
                    help="slack: at 2 every pair is kept",
                ),
            ),
        ),
        MinerSpec(**texts("miner", "random_negative"), tuple_kind="triplets"),
        MinerSpec(
            **texts("miner", "hardest_negative"),
            tuple_kind="triplets",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            **texts("miner", "random_hard_negative"),
            tuple_kind="triplets",
            parameters=(_margin(0.2, "the loss's margin: nearer than this beyond the positive is hard"), _DISTANCE),
        ),
        MinerSpec(
            **texts("miner", "semihard_nearest"),
            tuple_kind="triplets",
            remedy_for="collapsed",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            **texts("miner", "semihard_random"),
            tuple_kind="triplets",
            parameters=(_margin(0.2, "the loss's margin: how much farther a semi-hard negative may be"), _DISTANCE),
        ),
        MinerSpec(
            **texts("miner", "batch_hard"),
            tuple_kind="triplets",
            remedy_for="inactive",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            **texts("miner", "easy_positive"),
            tuple_kind="triplets",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            **texts("miner", "distance_weighted"),
            tuple_kind="triplets",
            parameters=(
                Parameter(
                    name="cutoff",
                    kind=float,
                    default=0.5,
                    minimum=0.05,
                    maximum=2,
                    step=0.05,
                    help="λ: nearer negatives are drawn as if they were this far, so that noise does not dominate",
                ),
                Parameter(
                    name="nonzero_cutoff",
                    kind=float,
                    default=1.4,
                    minimum=0.05,
                    maximum=2,
                    step=0.05,
                    help="d_max: farther negatives are left out, because their loss is zero",
                ),
            ),
        ),
        MinerSpec(
            **texts("miner", "offline_hard"),
            tuple_kind="triplets",
            parameters=(
                Parameter(
                    name="every",
                    kind=int,
                    default=1,
                    minimum=1,
                    maximum=100,
                    help="epochs between two embeddings of the training set",
                ),
                Parameter(
                    name="negatives",
                    kind=int,
                    default=10,
                    minimum=1,
                    maximum=1000,
                    help="k: hardest negatives kept for each image",
                ),
            ),
        ),
    ],
)
