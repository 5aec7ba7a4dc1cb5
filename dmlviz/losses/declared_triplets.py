"""Losses on triplets, as they are offered."""

from dmlviz.declarations import LossDeclaration, Parameter
from dmlviz.losses.parameters import distance, margin, reduction

_TRIPLETS = frozenset({"triplets"})

TRIPLETS = [
    LossDeclaration(
        name="triplet",
        title="Triplet",
        family="triplets",
        summary="The positive must be nearer to the anchor than the negative, by a margin. Without a miner all "
        "triplets of the batch count.",
        formula=r"\big[m + d_{ap} - d_{an}\big]_+",
        reference="Weinberger, Saul: Distance metric learning for large margin nearest neighbor classification, "
        "JMLR 2009; Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015; Hoffer, Ailon: Deep metric learning using "
        "triplet network, SIMBAD 2015",
        accepts=_TRIPLETS,
        recommended={"sampler": "balanced", "miner": "random_hard_negative", "normalize": True},
        parameters=(
            margin(0.2, "how much nearer than the negative the positive must be"),
            distance(),
            reduction(),
        ),
    ),
    LossDeclaration(
        name="triplet_ratio",
        title="Triplet ratio",
        family="triplets",
        summary="The negative must be farther than the positive in proportion, whatever the size of the space.",
        formula=r"\Big[1 - \frac{d_{an}}{m + d_{ap}}\Big]_+",
        reference="Wohlhart, Lepetit: Learning descriptors for object recognition and 3D pose estimation, CVPR 2015",
        accepts=_TRIPLETS,
        recommended={"sampler": "balanced"},
        parameters=(
            margin(0.1, "distance below which the ratio is no longer trusted", minimum=0.001),
            distance(),
            reduction(),
        ),
    ),
    LossDeclaration(
        name="triplet_soft",
        title="Soft triplet",
        family="triplets",
        summary="The triplet loss without a margin: a triplet in order keeps being pulled, ever more weakly.",
        formula=r"\log\big(1 + e^{\,d_{ap} - d_{an}}\big)",
        reference="Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification, 2017",
        accepts=_TRIPLETS,
        recommended={"sampler": "balanced", "normalize": False},
        parameters=(distance(), reduction()),
    ),
    LossDeclaration(
        name="batch_hard",
        title="Batch hard",
        family="triplets",
        summary="For each anchor only the hardest triplet of the batch: farthest positive, closest negative.",
        formula=r"\big[m + \max_{p\in P(a)} d_{ap} - \min_{n\in N(a)} d_{an}\big]_+",
        reference="Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification, 2017",
        recommended={"sampler": "balanced"},
        parameters=(
            Parameter(
                name="margin",
                kind=float,
                default=0.2,
                minimum=0,
                maximum=100,
                step=0.05,
                words=("soft",),
                help="how much nearer the positive must be; soft replaces the hinge by log(1 + e^…)",
            ),
            distance(),
            reduction(),
        ),
    ),
]
