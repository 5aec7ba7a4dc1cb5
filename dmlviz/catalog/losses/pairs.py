"""The specs of losses on pairs."""

import numpy as np

from dmlviz.catalog.losses._shared import distance, margin, reduction, scale
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds, default_measure
from dmlviz.catalog.parameters import LossSpec, Parameter, Params, Weights

_PAIRS = frozenset({"pairs"})

_LEFT_ALONE = "distance from which images of different classes are left alone"
_CLOSE_ENOUGH = "distance up to which images of one class are left alone"


def _between_margins(params: Params, weights: Weights) -> PairThresholds:
    return PairThresholds.between(default_measure(params, False), params["pos_margin"], params["margin"])


def _boundary_thresholds(params: Params, weights: Weights) -> PairThresholds:
    boundary, room = float(np.mean(weights.get("beta", params["beta"]))), params["alpha"]
    return PairThresholds("euclidean", 2 * room, boundary - room, boundary, boundary + room)


def _logistic_thresholds(params: Params, weights: Weights) -> PairThresholds:
    margin = params["margin"]
    return PairThresholds("euclidean", NEGLIGIBLE_LOGIT, 0.0, margin, margin + NEGLIGIBLE_LOGIT, is_hinge=False)


def _multi_similarity_thresholds(params: Params, weights: Weights) -> PairThresholds:
    middle, pull, push = 1 - params["base"], NEGLIGIBLE_LOGIT / params["alpha"], NEGLIGIBLE_LOGIT / params["beta"]
    return PairThresholds("cosine", push, middle - pull, middle, middle + push, is_hinge=False)


def _circle_thresholds(params: Params, weights: Weights) -> PairThresholds:
    m = params["margin"]
    return PairThresholds("cosine", max(0.0, 1 - 2 * m), m, 0.5, 1 - m, is_hinge=False)


PAIRS = [
    LossSpec(
        name="contrastive",
        aliases=("siamese", "bielski", "DrLIM"),
        title="Contrastive",
        family="pairs",
        summary="Pulls images of a class together and pushes others apart until they are a margin away.",
        when_to_use="The plainest start, and all there is to use when one only knows of two images whether they belong "
        "together. Far negatives cost nothing, so mine near ones. On the sphere many classes can hardly be "
        "more than √2 apart: a larger margin is never met.",
        formula=r"P:\ [d-m^+]_+^2 \qquad N:\ [m-d]_+^2",
        term=r"[<d> - <m^+>]_+^2",
        negative_term=r"[<m> - <d>]_+^2",
        reference="Hadsell, Chopra, LeCun: Dimensionality reduction by learning an invariant mapping, CVPR 2006",
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_between_margins,
        parameters=(margin(1.0, _LEFT_ALONE), margin(0.0, _CLOSE_ENOUGH, name="pos_margin"), reduction()),
    ),
    LossSpec(
        name="contrastive_linear",
        title="Contrastive, linear",
        family="pairs",
        summary="Contrastive with plain hinges, both sides weighing the same however many pairs each has.",
        when_to_use="In place of contrastive where a few very wrong pairs should not rule the rest: a hinge pulls each "
        "with the same force. Tuned with care it keeps up with far newer losses, as its paper shows.",
        formula=r"\overline{[d-m^+]_+}^{\,P} + \overline{[m-d]_+}^{\,N}",
        term=r"[<d> - <m^+>]_+",
        negative_term=r"[<m> - <d>]_+",
        reference="Musgrave, Belongie, Lim: A metric learning reality check, ECCV 2020, §2",
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_between_margins,
        parameters=(
            margin(1.0, _LEFT_ALONE),
            margin(0.0, _CLOSE_ENOUGH, name="pos_margin"),
            distance(),
            reduction(),
        ),
    ),
    LossSpec(
        name="contrastive_double",
        title="Contrastive, two margins",
        family="pairs",
        summary="Contrastive on squared distances, which lets images of a class keep some distance.",
        when_to_use="When a class has variety that should survive: its images may stay some way apart. Keep the "
        "positive margin below the negative one, or no distance satisfies both.",
        formula=r"P:\ [d^2-m_1]_+^2 \qquad N:\ [m_2-d^2]_+^2",
        term=r"[<d^2> - <m_1>]_+^2",
        negative_term=r"[<m_2> - <d^2>]_+^2",
        reference="A variant from lecture notes, after Hadsell, Chopra, LeCun, CVPR 2006",
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=lambda p, w: PairThresholds.between("sqeuclidean", p["pos_margin"], p["margin"]),
        parameters=(
            margin(0.2, "squared distance up to which images of one class are left alone", name="pos_margin"),
            margin(1.0, "squared distance from which images of different classes are left alone"),
            reduction(),
        ),
    ),
    LossSpec(
        name="contrastive_no_margin",
        title="Contrastive without a margin",
        family="pairs",
        summary="Pulls and pushes without end: the space blows up. Why contrastive needs its margin.",
        when_to_use="Never, but to see what the margin is for.",
        formula=r"P:\ d^2 \qquad N:\ -d^2",
        term=r"<d^2>",
        negative_term=r"-<d^2>",
        reference="For teaching",
        tuple_kinds=_PAIRS,
        recommended={"normalize": False},
        caveat="Nothing stops the pushing: the loss decreases without bound while distances grow and neighbors stay "
        "wrong. A margin says when far is far enough.",
        compares="pairs",
    ),
    LossSpec(
        name="cosine_pair",
        title="Cosine regression",
        family="pairs",
        summary="The cosine itself should be 1 within a class and 0 between classes.",
        when_to_use="When the cosine itself is wanted as a score between 0 and 1. It also pulls together what points "
        "in opposite directions, so give it at least as many dimensions as there are classes.",
        formula=r"(y-s)^2,\quad y=1 \text{ for } P,\ 0 \text{ for } N",
        term=r"(1 - <s>)^2",
        negative_term=r"(0 - <s>)^2",
        reference="Cosine regression, without the usual ½",
        tuple_kinds=_PAIRS,
        on_sphere=True,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=lambda p, w: PairThresholds.between("cosine", 0.0, 1.0),
        parameters=(reduction(),),
    ),
    LossSpec(
        name="distance_logistic",
        aliases=("sketch", "street to aerial", "cross-view"),
        title="Distance logistic",
        family="pairs",
        summary="Reads a distance as the probability that two images are of one class, and maximizes its likelihood.",
        when_to_use="When a distance should be read as a probability, as in verification. It never quite lets go: "
        "pairs that are right already still pull a little.",
        formula=r"P:\ -\log p,\quad N:\ -\log(1-p),\quad p=\frac{1+e^{-m}}{1+e^{d-m}}",
        term=r"p = \frac{1 + e^{-<m>}}{1 + e^{<d> - <m>}},\quad -\log <p>",
        negative_term=r"p = \frac{1 + e^{-<m>}}{1 + e^{<d> - <m>}},\quad -\log(1 - <p>)",
        reference="Vo, Hays: Localizing and orienting street views using overhead imagery, ECCV 2016",
        tuple_kinds=_PAIRS,
        recommended={"normalize": False, "miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_logistic_thresholds,
        parameters=(margin(1.0, "distance at which the probability is about a half"), reduction()),
    ),
    LossSpec(
        name="snr_contrastive",
        title="Contrastive, signal to noise",
        family="pairs",
        summary="Contrastive on noise-to-signal: the variance of a difference over the variance of the anchor.",
        when_to_use="For free embeddings whose size is not known beforehand: distances count relative to the spread of "
        "the anchor. Rarely chosen today; contrastive on the sphere is the simpler way to be free of size.",
        formula=r"v=\frac{\mathrm{Var}(f_a-f_b)}{\mathrm{Var}(f_a)}:\quad \overline{[v-m^+]_+}^{\,P}"
        r"+\overline{[m-v]_+}^{\,N}+\lambda\,\overline{|\bar f|}",
        term=r"[<v> - <m^+>]_+",
        negative_term=r"[<m> - <v>]_+",
        reference="Yuan, Deng, Tang, Tang, Chen: Signal-to-noise ratio: a robust distance metric for deep metric "
        "learning, CVPR 2019",
        tuple_kinds=_PAIRS,
        recommended={"normalize": False, "miner": "hard_negative_pairs", "learning_rate": 2e-3},
        compares="pairs",
        parameters=(
            margin(0.0, "ratio up to which images of one class are left alone", name="pos_margin"),
            margin(1.0, "ratio from which images of different classes are left alone"),
            Parameter(
                name="regularizer",
                kind=float,
                default=0.1,
                minimum=0,
                maximum=10,
                step=0.05,
                help="keeps the mean of each embedding's coordinates near zero",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        name="margin",
        aliases=("distance weighted sampling", "sampling matters"),
        title="Margin",
        family="pairs",
        summary="A learned boundary β: images of a class should lie within it, others beyond it.",
        when_to_use="With distance-weighted negatives, as in its paper: where near ends is learned, not set. Look at "
        "the distances of your space first: β should start between those within and those between classes.",
        formula=r"P:\ [d-\beta+\alpha]_+ \qquad N:\ [\beta+\alpha-d]_+",
        term=r"[<d> - (<\beta> - <\alpha>)]_+",
        negative_term=r"[(<\beta> + <\alpha>) - <d>]_+",
        reference="Wu, Manmatha, Smola, Krähenbühl: Sampling matters in deep embedding learning, ICCV 2017",
        tuple_kinds=_PAIRS | {"triplets"},
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        thresholds=_boundary_thresholds,
        parameters=(
            margin(0.2, "room to keep on either side of the boundary", name="alpha"),
            margin(1.2, "where the boundary starts", name="beta"),
            Parameter(name="per_class", kind=bool, default=False, help="learn a boundary for each class"),
            reduction("nonzero"),
        ),
    ),
    LossSpec(
        name="multi_similarity",
        title="Multi-similarity",
        family="pairs",
        summary="Weighs each pair by how it compares with the anchor's other pairs.",
        when_to_use="A strong general choice for retrieval, with several images of each class in a batch and with its "
        "own miner. Of its constants the base λ, where near ends, is the one to look at first.",
        formula=r"\tfrac1\alpha\log\Big(1+\sum_{p}e^{-\alpha(s_{ap}-\lambda)}\Big)"
        r"+\tfrac1\beta\log\Big(1+\sum_{n}e^{\beta(s_{an}-\lambda)}\Big)",
        term=(
            r"\frac{1}{<\alpha>}\log\big(1 + <\sum_p e^{-\alpha(s_{ap}-\lambda)}>\big)"
            r" + \frac{1}{<\beta>}\log\big(1 + <\sum_n e^{\beta(s_{an}-\lambda)}>\big)"
        ),
        term_note="The sums run over <positives> positives and <negatives> negatives of this anchor.",
        reference="Wang, Han, Huang, Dong, Scott: Multi-similarity loss with general pair weighting for deep metric "
        "learning, CVPR 2019",
        tuple_kinds=_PAIRS,
        on_sphere=True,
        recommended={"miner": "multi_similarity"},
        thresholds=_multi_similarity_thresholds,
        parameters=(
            scale(2.0, "how much farther positives outweigh the others", name="alpha"),
            scale(50.0, "how much nearer negatives outweigh the others", name="beta"),
            Parameter(
                name="base",
                kind=float,
                default=0.5,
                minimum=-1,
                maximum=1,
                step=0.05,
                help="cosine between near and far",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        name="circle",
        title="Circle",
        family="pairs",
        summary="Each cosine is pulled towards its own optimum, the harder the farther it is from there.",
        when_to_use="For retrieval with several images of each class in a batch, when one margin should set both "
        "what is near enough and what is far enough. A large γ lets only the hardest pairs count: lower it while "
        "training is unsteady.",
        formula=r"\log\Big(1+\sum_{n}e^{\gamma[s_{an}+m]_+(s_{an}-m)}\cdot\sum_{p}e^{-\gamma[1+m-s_{ap}]_+(s_{ap}-1+m)}\Big)",
        term=r"\log\big(1 + e^{<L_n> + <L_p>}\big)",
        term_note="Lₙ and Lₚ are the logarithms of the sums over this anchor's <negatives> negatives and <positives> "
        "positives.",
        reference="Sun, Cheng, Zhang, Zhang, Zheng, Wang, Wei: Circle loss, CVPR 2020",
        tuple_kinds=_PAIRS,
        on_sphere=True,
        thresholds=_circle_thresholds,
        parameters=(
            margin(0.4, "how far from 1 and from 0 the cosines may stay", maximum=1),
            scale(80.0, "how sharply the hardest pairs dominate", name="gamma"),
            reduction(),
        ),
    ),
    LossSpec(
        name="logistic_pair",
        aliases=("SiamFC", "tracking"),
        title="Logistic pairs",
        family="pairs",
        summary="Logistic regression of “same class” on the inner product, with a learned gain and bias.",
        when_to_use="For tracking and verification by score: the gain and bias that it learns are the threshold one "
        "needs afterwards.",
        formula=r"\log(1+e^{-y\,o}),\quad o=g\,f_a\!\cdot\! f_b+b,\quad y=\pm1",
        term=r"o = <g>\cdot <f_i\cdot f_j> + <b>,\quad \log(1 + e^{-<o>})",
        negative_term=r"o = <g>\cdot <f_i\cdot f_j> + <b>,\quad \log(1 + e^{<o>})",
        term_note="Gain g and bias b are learned.",
        reference="Bertinetto, Valmadre, Henriques, Vedaldi, Torr: Fully-convolutional siamese networks for object "
        "tracking, ECCV workshops 2016",
        tuple_kinds=_PAIRS,
        recommended={"miner": "hard_negative_pairs"},
        compares="pairs",
        parameters=(reduction(),),
    ),
    LossSpec(
        name="hinge_pair",
        aliases=("DeepCompare", "patches", "pseudo-siamese", "2-channel"),
        title="Hinge on a decision net",
        family="pairs",
        summary="A small second net looks at two embeddings and decides whether they are of one class.",
        when_to_use="When more than a distance must decide, and comparing one pair at a time is affordable. A score "
        "belongs to a pair, so no search index can use it, and the distances on the map are only a by-"
        "product.",
        formula=r"[1-y\,o(f_a,f_b)]_+,\quad y=\pm1",
        term=r"[1 - <o>]_+",
        negative_term=r"[1 + <o>]_+",
        term_note="The decision net gives this pair the score o.",
        reference="Zagoruyko, Komodakis: Learning to compare image patches via convolutional neural networks, "
        "CVPR 2015",
        tuple_kinds=_PAIRS,
        recommended={"miner": "balanced_pairs"},
        compares="pairs",
        parameters=(
            Parameter(
                name="hidden", kind=int, default=32, minimum=1, maximum=256, step=1, help="units of the decision net"
            ),
            reduction(),
        ),
    ),
]
