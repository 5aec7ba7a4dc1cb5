"""The specs of losses on triplets."""

from dmlviz.catalog.losses._shared import distance, margin, reduction
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds, default_measure
from dmlviz.catalog.parameters import LossSpec, Parameter, Params

_TRIPLETS = frozenset({"triplets"})


def _batch_hard_term(params: Params) -> str:
    gap = r"<\max_p d_{ap}> - <\min_n d_{an}>"
    return rf"\log\big(1 + e^{{{gap}}}\big)" if params["margin"] == "soft" else rf"\big[<m> + {gap}\big]_+"


TRIPLETS = [
    LossSpec(
        name="triplet",
        aliases=("LMNN", "FaceNet", "bielski"),
        title="Triplet",
        family="triplets",
        summary="The positive must be nearer to the anchor than the negative, by a margin. Without a miner all "
        "triplets of the batch count.",
        when_to_use="When the order of distances matters and not their size: search and ranking. It lives on its "
        "miner: most random triplets soon cost nothing, and the hardest can collapse a young net, so start with "
        "random hard or semi-hard negatives.",
        formula=r"\big[m + d_{ap} - d_{an}\big]_+",
        term=r"\big[<m> + <d_{ap}> - <d_{an}>\big]_+",
        reference="Weinberger, Saul: Distance metric learning for large margin nearest neighbor classification, "
        "JMLR 2009; Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015; Hoffer, Ailon: Deep metric learning using "
        "triplet network, SIMBAD 2015",
        tuple_kinds=_TRIPLETS,
        recommended={"sampler": "balanced", "miner": "random_hard_negative", "normalize": True},
        compares="triplets",
        parameters=(
            margin(0.2, "how much nearer than the negative the positive must be"),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        name="triplet_ratio",
        title="Triplet ratio",
        family="triplets",
        summary="The negative must be farther than the positive in proportion, whatever the size of the space.",
        when_to_use="Zero exactly where the triplet loss is, but it pulls in proportion: hard where distances are "
        "small, gently where they are large. Worth a try where the sizes of distances differ much.",
        formula=r"\Big[1 - \frac{d_{an}}{m + d_{ap}}\Big]_+",
        term=r"\Big[1 - \frac{<d_{an}>}{<m> + <d_{ap}>}\Big]_+",
        reference="Wohlhart, Lepetit: Learning descriptors for object recognition and 3D pose estimation, CVPR 2015",
        tuple_kinds=_TRIPLETS,
        recommended={"sampler": "balanced"},
        compares="triplets",
        parameters=(
            margin(0.1, "distance below which the ratio is no longer trusted", minimum=0.001),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        name="triplet_soft",
        title="Soft triplet",
        family="triplets",
        summary="The triplet loss without a margin: a triplet in order keeps being pulled, ever more weakly.",
        when_to_use="When no margin should be chosen: it goes on pulling after the order is right, ever more weakly. "
        "For free embeddings with hard mining; on the sphere, where distances end at 2, it cannot fall below "
        "0.13.",
        formula=r"\log\big(1 + e^{\,d_{ap} - d_{an}}\big)",
        term=r"\log\big(1 + e^{<d_{ap}> - <d_{an}>}\big)",
        reference="Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification, 2017",
        tuple_kinds=_TRIPLETS,
        recommended={"sampler": "balanced", "normalize": False},
        compares="triplets",
        thresholds=lambda p, w: PairThresholds(default_measure(p, False), NEGLIGIBLE_LOGIT, is_hinge=False),
        parameters=(distance(), reduction()),
    ),
    LossSpec(
        name="batch_hard",
        aliases=("TriHard", "in defense of the triplet loss"),
        title="Batch hard",
        family="triplets",
        summary="For each anchor only the hardest triplet of the batch: farthest positive, closest negative.",
        when_to_use="For clean labels: one wrong label becomes the hardest example of many. Begin with two images of "
        "each class and a small learning rate: with more, the farthest positives pull all images into one place, "
        "and the loss stays at the margin.",
        formula=r"\big[m + \max_{p\in P(a)} d_{ap} - \min_{n\in N(a)} d_{an}\big]_+",
        term=_batch_hard_term,
        reference="Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification, 2017",
        recommended={"sampler": "balanced", "images_per_class": 2, "learning_rate": 2e-3, "steps": 1500},
        parameters=(
            Parameter(
                name="margin",
                kind=float,
                default=0.2,
                minimum=0,
                maximum=100,
                step=0.05,
                special_values=("soft",),
                help="how much nearer the positive must be; soft replaces the hinge by log(1 + e^…)",
            ),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        name="angular",
        title="Angular",
        family="triplets",
        summary="Bounds the angle at the negative in the triangle of each triplet: free of the size of the space.",
        when_to_use="As a companion, in a sum with another loss such as N-pairs, as its authors use it: an angle stays "
        "meaningful whatever the size of the space.",
        formula=r"\log\Big(1+\sum_{n\in N(a)} e^{4\tan^2\alpha\,(f_a+f_p)\cdot f_n"
        r" - 2(1+\tan^2\alpha)\, f_a\cdot f_p}\Big)",
        term=r"\log\Big(1 + e^{-2(1 + <\tan^2\alpha>)\cdot <s_{ap}>}"
        r"\cdot <\sum_n e^{4\tan^2\alpha\,(s_{an}+s_{pn})}>\Big)",
        reference="Wang, Zhou, Wen, Liu, Lin: Deep metric learning with angular loss, ICCV 2017",
        tuple_kinds=_TRIPLETS,
        on_sphere=True,
        recommended={"sampler": "balanced", "normalize": True},
        compares="triplets",
        parameters=(
            Parameter(
                name="alpha",
                kind=float,
                default=40,
                minimum=1,
                maximum=60,
                step=1,
                help="α, degrees: the angle at the negative may be no larger",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        name="coupled_clusters",
        title="Coupled clusters",
        family="triplets",
        summary="Every image must be nearer to the mean of its class than the nearest image of another class is.",
        when_to_use="When single images are unreliable anchors: the mean of the class stands in for them. Needs "
        "several images of each class in a batch.",
        formula=r"\big[m + d(f_i, \bar f_y) - \min_{n\in N(i)} d(f_n, \bar f_y)\big]_+",
        term=r"\big[<m> + <d(f_a,\bar f_y)> - <\min_n d(f_n,\bar f_y)>\big]_+",
        reference="Liu, Tian, Yang, Pang, Huang: Deep relative distance learning, tell the difference between similar "
        "vehicles, CVPR 2016",
        recommended={"sampler": "balanced"},
        class_centers="means",
        parameters=(margin(0.2, "how much nearer to the class mean its own images must be"), reduction()),
    ),
    LossSpec(
        name="hard_cluster",
        title="Hard cluster",
        family="triplets",
        summary="Each class as a ball: its farthest image must be nearer to its mean than the nearest other mean is.",
        when_to_use="For a look at classes as balls. It has only one term for each class of a batch and so learns from "
        "little of it: prefer batch hard or coupled clusters for results.",
        formula=r"\big[\max_{i\in c}\|f_i-\bar f_c\|^2 - \min_{c'\ne c}\|\bar f_c-\bar f_{c'}\|^2 + m\big]_+",
        term=r"\big[<\max_{i\in c}\|f_i-\bar f_c\|^2> - <\min_{c'}\|\bar f_c-\bar f_{c'}\|^2> + <m>\big]_+",
        term_note="There is one term for each class; this is that of the anchor's.",
        reference="Person re-identification practice; after Liu et al.: Deep relative distance learning, CVPR 2016",
        recommended={"sampler": "balanced", "images_per_class": 5, "learning_rate": 1e-3},
        class_centers="means",
        # At 0.2, the usual margin of triplets, it stays below raw pixels at every learning rate and batch.
        parameters=(margin(1.0, "gap between a class's radius, squared, and the nearest other mean"), reduction()),
    ),
    LossSpec(
        name="hierarchical_triplet",
        title="Hierarchical triplet",
        family="triplets",
        summary="A triplet loss whose margin comes from a tree of classes, rebuilt every epoch: similar "
        "classes are asked for less distance than different ones.",
        when_to_use="With many classes that resemble each other in groups, such as birds or products. With ten classes "
        "that are well apart the tree has little to tell. The paper fills its batches with classes that are near each "
        "other: the sampler “Anchor and neighbors”.",
        formula=r"\big[d_{ap}^2 - d_{an}^2 + \beta + d_H(y_a,y_n) - s_{y_a}\big]_+",
        term=r"\big[<d_{ap}^2> - <d_{an}^2> + <\beta+d_H-s_y>\big]_+",
        term_note="The class tree here is that of this batch; in training it is that of the whole training set.",
        reference="Ge, Huang, Dong, Scott: Deep metric learning with hierarchical triplet loss, ECCV 2018",
        tuple_kinds=_TRIPLETS,
        on_sphere=True,
        recommended={"sampler": "balanced", "normalize": True},
        compares="triplets",
        thresholds=lambda p, w: PairThresholds("sqeuclidean", p["beta"]),
        parameters=(
            margin(0.1, "β: margin beyond what the tree asks for", name="beta", maximum=4),
            Parameter(name="levels", kind=int, default=16, minimum=1, maximum=100, help="L: levels of the class tree"),
            reduction(),
        ),
    ),
]
