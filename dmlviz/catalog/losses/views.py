"""The specs of losses for several views of each image, with or without labels."""

from dmlviz.catalog.losses._shared import reduction
from dmlviz.catalog.pair_thresholds import NEGLIGIBLE_LOGIT, PairThresholds
from dmlviz.catalog.parameters import LossSpec, Parameter

_FREE = {"normalize": False}


def _weight(name: str, default: float, text: str, maximum: float = 1000, step: float = 1.0) -> Parameter:
    return Parameter(name=name, kind=float, default=default, minimum=0, maximum=maximum, step=step, help=text)


VIEWS = [
    LossSpec(
        name="supcon",
        aliases=("SupCon", "supervised contrastive", "InfoNCE"),
        title="Supervised contrastive",
        family="views",
        summary="Every positive of an anchor should win the softmax over all other images, and they share it.",
        when_to_use="With labels, where images have several positives: beside NT-Xent, whose positives do not compete "
        "with each other. Without labels and with two views the two are the same loss.",
        formula=r"-\frac{1}{|P(a)|}\sum_{p\in P(a)} \log\frac{e^{s_{ap}/\tau}}{\sum_{j\ne a} e^{s_{aj}/\tau}}",
        term=r"<\log\sum_{j\ne a} e^{s_{aj}/\tau}> - \frac{<\overline{s_{ap}}>}{<\tau>}",
        term_note=r"The first number is of all other images; the second is the mean cosine of <|P(a)|> positives.",
        reference="Khosla, Teterwak, Wang, Sarna, Tian, Isola, Maschinot, Liu, Krishnan: Supervised contrastive "
        "learning, NeurIPS 2020",
        tuple_kinds=frozenset({"pairs"}),
        on_sphere=True,
        thresholds=lambda p, w: PairThresholds("cosine", NEGLIGIBLE_LOGIT * p["temperature"], is_hinge=False),
        parameters=(
            Parameter(
                name="temperature",
                kind=float,
                default=0.1,
                minimum=0.001,
                maximum=10,
                step=0.01,
                help="how sharply the nearest images dominate",
            ),
            reduction(),
        ),
    ),
    LossSpec(
        name="barlow_twins",
        aliases=("Barlow Twins", "redundancy reduction", "self-supervised"),
        title="Barlow Twins",
        family="views",
        summary="Positives agree in every dimension, and no two dimensions say the same; there are no negatives.",
        when_to_use="Without labels and with two views. It compares dimensions, not images: so it pushes nothing away, "
        "and what keeps it from collapse is that dimensions are standardized and made different.",
        formula=r"\sum_i (1-C_{ii})^2+\lambda\sum_{i\ne j} C_{ij}^2,\quad "
        r"C=\frac{1}{|P|}\sum_{(a,p)\in P}\hat x_a \hat x_p^\top",
        reference="Zbontar, Jing, Misra, LeCun, Deny: Barlow Twins: self-supervised learning via redundancy reduction, "
        "ICML 2021; here the mean and deviation of a dimension are those of all images of the batch",
        recommended=_FREE,
        compares_dimensions=True,
        parameters=(_weight("off_diagonal", 0.01, "λ: weight of the other dimensions' correlations", 10, 0.005),),
    ),
    LossSpec(
        name="vicreg",
        aliases=("VICReg", "variance", "covariance", "self-supervised"),
        title="VICReg",
        family="views",
        summary="Positives meet, every dimension keeps its spread, and dimensions do not repeat each other.",
        when_to_use="Without labels and with two views. Its three terms name what a good embedding is: invariance, "
        "variance, covariance. Each can be turned off to see what goes wrong without it.",
        formula=r"\lambda\,\overline{\tfrac1d\|x_a-x_p\|^2}+\frac{\mu}{d}\sum_i\Big[1-\sqrt{C_{ii}+\epsilon}\Big]_++"
        r"\frac{\nu}{d}\sum_{i\ne j} C_{ij}^2,\quad C=\mathrm{cov}(x)",
        term=r"<\lambda>\cdot <\tfrac1d\|x_a-x_p\|^2>",
        reference="Bardes, Ponce, LeCun: VICReg: variance-invariance-covariance regularization, ICLR 2022; here the "
        "covariance is that of all images of the batch",
        recommended=_FREE,
        compares="pairs",
        parameters=(
            _weight("invariance", 25, "λ: weight of the distance of positives"),
            _weight("variance", 25, "μ: weight of the spread of each dimension"),
            _weight("covariance", 1, "ν: weight of the covariances of two dimensions"),
        ),
    ),
]
