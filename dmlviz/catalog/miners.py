"""The specs of the miners."""

from dmlviz.catalog.parameters import Catalog, MinerSpec, Parameter

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
        MinerSpec(
            name="all_pairs",
            title="All pairs",
            family="pairs",
            tuple_kind="pairs",
            summary="Every pair of the batch, same class and different class.",
            when_to_use="To see a pair loss without any help. In a balanced batch of ten classes nine of ten pairs are "
            "negative, and most of them soon far enough.",
            formula=r"\{(i,j): i<j\}",
            reference="Hadsell, Chopra, LeCun: Dimensionality reduction by learning an invariant mapping, CVPR 2006",
        ),
        MinerSpec(
            name="balanced_pairs",
            title="Balanced pairs",
            family="pairs",
            tuple_kind="pairs",
            summary="All positive pairs, and as many negative pairs drawn at random: neither side drowns the other.",
            when_to_use="The classical siamese net: as many negatives as positives, whatever they teach. The reference "
            "against which harder mining shows its worth.",
            formula=r"P\cup N',\quad N'\subset N \text{ at random},\ |N'|=\min(|P|,|N|)",
            reference="Chopra, Hadsell, LeCun: Learning a similarity metric discriminatively, CVPR 2005",
        ),
        MinerSpec(
            name="hard_negative_pairs",
            aliases=("bielski",),
            title="Hard negative pairs",
            family="pairs",
            tuple_kind="pairs",
            remedy_for="inactive",
            summary="All positive pairs, and as many negative pairs: the closest of the batch.",
            when_to_use="The usual choice with pair losses: the near negatives are those that still cost something. "
            "With wrong labels it finds exactly these.",
            formula=r"P\cup N',\quad N' = \text{the } |P| \text{ pairs of } N \text{ with the smallest } d",
            reference="Simo-Serra et al.: Discriminative learning of deep convolutional feature descriptors, ICCV 2015",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            name="multi_similarity",
            title="Multi-similarity",
            family="pairs",
            tuple_kind="pairs",
            summary="Positives less similar than the anchor's nearest negative, negatives more similar than its "
            "farthest positive, each with some slack.",
            when_to_use="With the loss of its name, but good with other pair losses too: it looks at each anchor's own "
            "neighborhood and leaves out what is in order there.",
            formula=r"s_{ap} < \max_{n\in N(a)} s_{an} + \varepsilon,\quad "
            r"s_{an} > \min_{p\in P(a)} s_{ap} - \varepsilon",
            reference="Wang, Han, Huang, Dong, Scott: Multi-similarity loss with general pair weighting for deep "
            "metric learning, CVPR 2019",
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
        MinerSpec(
            name="random_negative",
            title="Random negative",
            family="triplets",
            tuple_kind="triplets",
            summary="For every anchor and positive one negative drawn at random: the classical triplet net.",
            when_to_use="The classical triplet net, and the reference: as training goes on, more and more of its "
            "triplets cost nothing.",
            formula=r"n \sim \mathrm{Uniform}\,N(a) \text{ for each } (a,p)",
            reference="Hoffer, Ailon: Deep metric learning using triplet network, SIMBAD 2015",
        ),
        MinerSpec(
            name="hardest_negative",
            title="Hardest negative",
            family="triplets",
            tuple_kind="triplets",
            summary="For every anchor and positive the closest negative. Strict: an untrained net often collapses.",
            when_to_use="For a net that is trained already, clean labels, and embeddings on the sphere. From a fresh "
            "start it tends to draw all images into one place.",
            formula=r"n = \arg\min_{n\in N(a)} d_{an} \text{ for each } (a,p)",
            reference="Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            name="random_hard_negative",
            aliases=("bielski",),
            title="Random hard negative",
            family="triplets",
            tuple_kind="triplets",
            summary="For every anchor and positive one negative drawn from those that violate the margin.",
            when_to_use="A good all-round choice with the triplet loss: every triplet still costs something, but not "
            "always the worst. Give it the loss's own margin.",
            formula=r"n \sim \mathrm{Uniform}\{n\in N(a): d_{an} < d_{ap} + m\} \text{ for each } (a,p)",
            reference="Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015",
            parameters=(_margin(0.2, "the loss's margin: nearer than this beyond the positive is hard"), _DISTANCE),
        ),
        MinerSpec(
            name="semihard_nearest",
            aliases=("FaceNet", "semi-hard"),
            title="Semi-hard, nearest",
            family="triplets",
            tuple_kind="triplets",
            remedy_for="collapsed",
            summary="For every anchor and positive the closest negative that is farther than the positive; where "
            "there is none, the farthest negative.",
            when_to_use="The steady choice for a fresh start: negatives that are farther than the positive already, "
            "but not by much. Near the end it leaves the truly wrong ones alone.",
            formula=r"n = \arg\min_{n\in N(a),\, d_{an}>d_{ap}} d_{an} \text{ for each } (a,p)",
            reference="Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015, as implemented in TensorFlow",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            name="semihard_random",
            title="Semi-hard, random",
            family="triplets",
            tuple_kind="triplets",
            summary="For every anchor and positive one negative drawn from those farther than the positive, but by "
            "less than the margin.",
            when_to_use="As semi-hard, nearest, with more variety: useful when the same few negatives come up all "
            "the time.",
            formula=r"n \sim \mathrm{Uniform}\{n\in N(a): 0 < d_{an}-d_{ap} < m\} \text{ for each } (a,p)",
            reference="Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015",
            parameters=(_margin(0.2, "the loss's margin: how much farther a semi-hard negative may be"), _DISTANCE),
        ),
        MinerSpec(
            name="batch_hard",
            aliases=("Market-1501", "hard mining"),
            title="Batch hard",
            family="triplets",
            tuple_kind="triplets",
            remedy_for="inactive",
            summary="For every anchor its farthest positive and its closest negative.",
            when_to_use="For batches with few images of each class and clean labels; cheap, one triplet for each "
            "image. Start with a small learning rate.",
            formula=r"p = \arg\max_{p\in P(a)} d_{ap},\quad n = \arg\min_{n\in N(a)} d_{an}",
            reference="Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification, 2017",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            name="easy_positive",
            title="Easy positive",
            family="triplets",
            tuple_kind="triplets",
            summary="For every anchor its closest positive and its closest negative: a class may keep "
            "several clusters.",
            when_to_use="When a class has several faces and need not become one cluster, and when unseen classes "
            "matter: only the nearest positive is pulled.",
            formula=r"p = \arg\min_{p\in P(a)} d_{ap},\quad n = \arg\min_{n\in N(a)} d_{an}",
            reference="Xuan, Stylianou, Pless: Improved embeddings with easy positive triplet mining, WACV 2020",
            parameters=(_DISTANCE,),
        ),
        MinerSpec(
            name="distance_weighted",
            title="Distance weighted",
            family="triplets",
            tuple_kind="triplets",
            summary="For every anchor and positive one negative, drawn so that all distances on the sphere are seen "
            "equally often. Looks at directions only.",
            when_to_use="With the margin loss, on the sphere, in many dimensions, where random negatives are nearly "
            "all about √2 away.",
            formula=r"\Pr(n\mid a) \propto 1/q(\max(d_{an}, \lambda)),\quad "
            r"q(d)=d^{\,D-2}\big(1-\tfrac14 d^2\big)^{(D-3)/2},\quad d_{an}<d_{\max}",
            reference="Wu, Manmatha, Smola, Krähenbühl: Sampling matters in deep embedding learning, ICCV 2017",
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
            name="offline_hard",
            title="Offline hard",
            family="triplets",
            tuple_kind="triplets",
            summary="Every few epochs the whole training set is embedded and each image's hardest negatives are "
            "kept; a batch is completed with them.",
            when_to_use="When a batch is too small to hold hard negatives: it looks through the whole training set. It "
            "costs an embedding of all images each time, and by then its choice is already ageing.",
            formula=r"n \sim \mathrm{Uniform}\,N_k(a),\quad "
            r"N_k(a) = \text{the } k \text{ closest negatives of the training set}",
            reference="Simo-Serra et al.: Discriminative learning of deep convolutional feature descriptors, ICCV "
            "2015; Harwood et al.: Smart mining for deep metric learning, ICCV 2017",
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
