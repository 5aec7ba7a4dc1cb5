"""The specs of losses on the structure of a batch."""

from dmlviz.catalog.losses._shared import margin, reduction, scale
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds
from dmlviz.catalog.parameters import LossSpec, Parameter

_PAIRS = frozenset({"pairs"})

_LIFTED = "Song, Xiang, Jegelka, Savarese: Deep metric learning via lifted structured feature embedding, CVPR 2016"

_LIFTED_PAIR = r"J_{ij} = \log\Big(<\sum_k e^{m-d_{ik}}> + <\sum_l e^{m-d_{jl}}>\Big) + <d_{ij}>,\quad "
_NEIGHBOR = r"p = \frac{<\sum_P e^{-\sigma d^2}>}{<\sum_P e^{-\sigma d^2}> + <\sum_N e^{-\sigma d^2}>},\quad "

STRUCTURED = [
    LossSpec(
        name="nt_xent",
        aliases=("InfoNCE", "SimCLR", "CPC"),
        title="NT-Xent",
        family="structured",
        summary="Each positive pair against all negatives of its anchor, as a softmax over cosines.",
        when_to_use="A safe first choice, and the default here: each anchor meets all negatives of the batch at "
        "once, so it needs no miner, and the temperature is all there is to set. Lower temperatures look at the "
        "nearest negatives only; larger batches help.",
        formula=r"\log\Big(1+\sum_{n\in N(a)} e^{(s_{an}-s_{ap})/\tau}\Big)",
        term=r"\log\Big(1 + e^{(<s_{an^*}> - <s_{ap}>)/<\tau>} + <\sum_{n\ne n^*} e^{(s_{an}-s_{ap})/\tau}>\Big)",
        term_note="n* is the nearest of <negatives> negatives of this anchor; the last number is what the others add.",
        reference="van den Oord, Li, Vinyals: Representation learning with contrastive predictive coding, 2018; "
        "Chen, Kornblith, Norouzi, Hinton: A simple framework for contrastive learning (SimCLR), ICML 2020",
        tuple_kinds=_PAIRS,
        on_sphere=True,
        compares="positive_pairs",
        thresholds=lambda p, w: PairThresholds("cosine", NEGLIGIBLE_LOGIT * p["temperature"], is_hinge=False),
        parameters=(
            Parameter(
                name="temperature",
                kind=float,
                default=0.1,
                minimum=0.001,
                maximum=10,
                step=0.01,
                help="how sharply the nearest negatives dominate; 1 is InfoNCE",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        name="tuple_hinge",
        title="Tuple hinge",
        family="structured",
        summary="Each positive pair should be more similar than the anchor's nearest negative is: NT-Xent gone hard.",
        when_to_use="To see what NT-Xent becomes as its temperature goes to 0: only the nearest negative counts. For "
        "results NT-Xent is the steadier.",
        formula=r"\Big[\max_{n\in N(a)} s_{an} - s_{ap} + m\Big]_+",
        term=r"\big[<\max_n s_{an}> - <s_{ap}> + <m>\big]_+",
        reference="The (N+1)-tuple form of Sohn: Improved deep metric learning with multi-class N-pair loss objective, "
        "NeurIPS 2016, as a hinge",
        tuple_kinds=_PAIRS,
        on_sphere=True,
        caveat="Following the nearest negative alone, from a cold start, pulls all images into one place; NT-Xent, "
        "which listens to all negatives, does not.",
        compares="positive_pairs",
        parameters=(
            margin(0.0, "by how much the positive should win", maximum=2),
            reduction(),
        ),
    ),
    LossSpec(
        name="tuplet_margin",
        title="Tuplet margin",
        family="structured",
        summary="NT-Xent at a high scale, with a slack angle so that the hardest positives do not dominate.",
        when_to_use="For fine-grained retrieval with several images of each class: the slack angle keeps it from "
        "pressing a class into one point, which helps classes that training never saw.",
        formula=r"\log\Big(1+\sum_{n\in N(a)} e^{s(\cos\theta_{an}-\cos(\theta_{ap}-\beta))}\Big)",
        term=(
            r"\log\Big(1 + e^{<s>(<\cos\theta_{an^*}> - <\cos(\theta_{ap}-\beta)>)}"
            r" + <\sum_{n\ne n^*} e^{s(\cos\theta_{an}-\cos(\theta_{ap}-\beta))}>\Big)"
        ),
        term_note="n* is the nearest of <negatives> negatives of this anchor; the last number is what the others add.",
        reference="Yu, Tao: Deep metric learning with tuplet margin loss, ICCV 2019",
        tuple_kinds=_PAIRS,
        on_sphere=True,
        compares="positive_pairs",
        thresholds=lambda p, w: PairThresholds("cosine", NEGLIGIBLE_LOGIT / p["scale"], is_hinge=False),
        parameters=(
            Parameter(
                name="beta",
                kind=float,
                default=5.73,
                minimum=0,
                maximum=90,
                step=0.5,
                help="slack angle in degrees",
            ),
            scale(64.0, "how sharply the nearest negatives dominate: 1/temperature"),
            reduction(),
        ),
    ),
    LossSpec(
        name="lifted",
        aliases=("lifted structure",),
        title="Lifted structure",
        family="structured",
        summary="Each positive pair against all negatives of both its images, softly.",
        when_to_use="To compare with history: the first loss that used every pair of a batch. Generalized lifted "
        "structure and NT-Xent are its simpler heirs.",
        formula=r"\tfrac12[J_{ij}]_+^2,\quad J_{ij}=\log\Big(\sum_{k\in N(i)}e^{m-d_{ik}}"
        r"+\sum_{l\in N(j)}e^{m-d_{jl}}\Big)+d_{ij}",
        term=lambda p: _LIFTED_PAIR + (r"\tfrac12[<J_{ij}>]_+^2" if p["squared"] else r"[<J_{ij}>]_+"),
        term_note="Under the logarithm: the sums over the negatives of either image.",
        reference=_LIFTED,
        tuple_kinds=_PAIRS,
        recommended={"learning_rate": 2e-3},
        compares="positive_pairs",
        parameters=(
            margin(1.0, "how far negatives should be beyond the positive"),
            Parameter(name="squared", kind=bool, default=True, help="square the hinge and halve it, as in the paper"),
            reduction(),
        ),
    ),
    LossSpec(
        name="lifted_hard",
        title="Lifted structure, hardest",
        family="structured",
        summary="Each positive pair against the nearest negative of either of its images.",
        when_to_use="To understand lifted structure, which softens the two maxima here. For results take the soft one.",
        formula=r"\Big[\max\big(\max_{k\in N(i)} m-d_{ik},\ \max_{l\in N(j)} m-d_{jl}\big)+d_{ij}\Big]_+",
        term=r"\Big[\max\big(<\max_k(m-d_{ik})>,\ <\max_l(m-d_{jl})>\big) + <d_{ij}>\Big]_+",
        reference=_LIFTED,
        tuple_kinds=_PAIRS,
        recommended={"learning_rate": 2e-3},
        compares="positive_pairs",
        parameters=(margin(1.0, "how far negatives should be beyond the positive"), reduction()),
    ),
    LossSpec(
        name="generalized_lifted",
        title="Generalized lifted structure",
        family="structured",
        summary="Per image, its farthest positive against its nearest negative, both softly: all of them count.",
        when_to_use="In place of batch hard where that is too nervous: the same comparison, but all images of the "
        "batch have a say.",
        formula=r"\Big[\log\sum_{p\in P(a)}e^{d_{ap}}+\log\sum_{n\in N(a)}e^{m-d_{an}}\Big]_+",
        term=r"\Big[\log <\sum_p e^{d_{ap}}> + \log <\sum_n e^{m-d_{an}}>\Big]_+",
        term_note="The sums run over <positives> positives and <negatives> negatives of this anchor.",
        reference="Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification, 2017",
        tuple_kinds=_PAIRS,
        parameters=(margin(1.0, "how far negatives should be beyond the positives"), reduction()),
    ),
    LossSpec(
        name="n_pairs",
        aliases=("N-pair", "multi-class N-pair"),
        title="N-pairs",
        family="structured",
        summary="One pair per class: pick the partner among the partners of all classes, by inner product.",
        when_to_use="When a batch can hold many classes but only two images of each. Inner products reward length, so "
        "keep the L2 term, or put the embeddings on the sphere.",
        formula=r"\log\Big(1+\sum_{j\ne i}e^{f_i\cdot f_j^+-f_i\cdot f_i^+}\Big)+\lambda\,\overline{\lVert f\rVert^2}",
        term=r"\log\Big(1 + e^{<f_i\cdot f_j^+> - <f_i\cdot f_i^+>}"
        r" + <\sum_{k\ne i,j} e^{f_i\cdot f_k^+-f_i\cdot f_i^+}>\Big)",
        term_note="Of each class one pair takes part; j is the other class whose image is most like this anchor.",
        reference="Sohn: Improved deep metric learning with multi-class N-pair loss objective, NeurIPS 2016",
        tuple_kinds=_PAIRS,
        recommended={"normalize": False},
        compares="positive_pairs",
        parameters=(
            Parameter(
                name="l2",
                kind=float,
                default=0.02,
                minimum=0,
                maximum=10,
                step=0.01,
                help="keeps embeddings short: their inner products would otherwise grow without bound",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        name="nca",
        aliases=("neighborhood components analysis",),
        title="Neighborhood components",
        family="structured",
        summary="The chance that an image's randomly drawn neighbor, near ones likelier, is of its class.",
        when_to_use="When the nearest neighbors will decide the class: it asks for some near image of the class, not "
        "for all, so a class may stay in several clusters. Images far from all others hardly move without "
        "the logarithm.",
        formula=r"-\log p_i,\quad p_i=\sum_{j\in P(i)}\frac{e^{-\sigma d_{ij}^2}}{\sum_{k\ne i}e^{-\sigma d_{ik}^2}}",
        term=lambda p: _NEIGHBOR + (r"-\log <p>" if p["log"] else r"-<p>"),
        term_note="Sums of the neighbors' weights: those of its own class (P) above, all of them below.",
        reference="Goldberger, Roweis, Hinton, Salakhutdinov: Neighborhood components analysis, NeurIPS 2004",
        tuple_kinds=_PAIRS,
        recommended={"normalize": False},
        thresholds=lambda p, w: PairThresholds("sqeuclidean", NEGLIGIBLE_LOGIT / p["scale"], is_hinge=False),
        parameters=(
            Parameter(
                name="log", kind=bool, default=True, help="−log p instead of −p: also moves images far from their class"
            ),
            scale(1.0, "how fast the chance falls with squared distance"),
            reduction(),
        ),
    ),
    LossSpec(
        name="fastap",
        title="FastAP",
        family="structured",
        summary="Average precision itself, each image as a query, made smooth by counting distances in soft bins.",
        when_to_use="When average precision is what counts in the end. Wants large batches: a ranking of a few images "
        "says little.",
        formula=r"1-\frac{1}{|P(a)|}\sum_{k}\frac{h^+_k\,H^+_k}{H_k}",
        term=r"1 - \frac{1}{<|P|>}\cdot <\sum_k h_k^+ H_k^+/H_k>",
        reference="Cakir, He, Xia, Kulis, Sclaroff: Deep metric learning to rank, CVPR 2019",
        tuple_kinds=_PAIRS,
        on_sphere=True,
        parameters=(
            Parameter(
                name="bins", kind=int, default=10, minimum=2, maximum=200, step=1, help="bins from distance² 0 to 4"
            ),
            reduction(),
        ),
    ),
]
