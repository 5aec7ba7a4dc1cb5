"""The specs of losses with class weights."""

from typing import Any

from dmlviz.catalog.class_scores import nearest_prototype, scaled_cosine, soft_nearest_center
from dmlviz.catalog.losses._shared import distance, margin, scale
from dmlviz.catalog.parameters import LossSpec, Parameter

_FREE = {"sampler": "shuffled", "normalize": False}
_SPHERE = {"sampler": "shuffled", "normalize": True}
# On a circle ten classes are 36° apart: a scale of 64 leaves no force between them, and a margin of 0.5 no room. Class
# weights that turn slowly wait until the images have come.
_CIRCLE = {"loss_learning_rate": 1e-3, "steps": 1200}
# Of a softmax of scores z: y is the own class, c the strongest other one.
_ENTROPY = r"\log\Big(1 + e^{<z_c> - <z_y>} + <\sum_{k\ne y,c} e^{z_k-z_y}>\Big)"
_STRONGEST = "y is its own class, c the strongest other class; the last number is what the rest add."
_ARCFACE = "Deng, Guo, Xue, Zafeiriou: ArcFace, additive angular margin loss for deep face recognition, CVPR 2019"


def _multiplier(default: float, name: str = "margin", minimum: float = 1) -> Parameter:
    return Parameter(
        name=name,
        kind=float,
        default=default,
        minimum=minimum,
        maximum=8,
        step=0.1,
        help="multiplier of the angle to the true class; need not be a whole number",
    )


def _angle(default: float, name: str = "margin") -> Parameter:
    return Parameter(
        name=name,
        kind=float,
        default=default,
        minimum=0,
        maximum=1.5,
        step=0.05,
        help="added to the angle to its own class, in radians",
    )


def _proxies(name: str, **words: Any) -> LossSpec:
    usual = {"compares": "classes", "class_centers": "weights", "term_note": _STRONGEST}
    return LossSpec(name=name, family="proxies", needs_classes=True, **usual | words)


PROXIES = [
    _proxies(
        "softmax",
        aliases=("cross-entropy", "logits", "classification"),
        title="Softmax",
        summary="Plain classification: a linear layer on the embedding, and cross-entropy. The baseline.",
        when_to_use="The baseline to beat, whenever all classes are known and there are enough images of each. It asks "
        "for class borders, not for distances: images of a class may lie far apart as long as they are on "
        "the right side.",
        formula=r"-\log\frac{e^{w_y\cdot f+b_y}}{\sum_c e^{w_c\cdot f+b_c}}",
        term=r"z_y = <w_y\cdot f> + <b_y>,\quad " + _ENTROPY,
        reference="Bridle: Probabilistic interpretation of feedforward classification network outputs, 1990",
        recommended=_FREE,
    ),
    _proxies(
        "normalized_softmax",
        aliases=("NormFace", "cosine softmax"),
        title="Normalized softmax",
        summary="Classification by direction only: features and class weights both lie on the sphere.",
        when_to_use="The simplest proxy loss and a strong one for retrieval: start here when the classes are known. "
        "The scale matters: with a small one the loss cannot get small, however good the embedding.",
        formula=r"-\log\frac{e^{s\cos\theta_y}}{\sum_c e^{s\cos\theta_c}}",
        term=r"z_y = <s>\cos <\theta_y°>,\quad " + _ENTROPY,
        reference="Wang, Xiang, Cheng, Yuille: NormFace, L2 hypersphere embedding for face verification, ACM MM 2017",
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"scale": 16}}},
        angular_margins=lambda p: (1, 0, 0),
        parameters=(scale(20, "s: how sharply the nearest class wins"),),
    ),
    _proxies(
        "large_margin_softmax",
        aliases=("L-Softmax",),
        title="Large-margin softmax",
        summary="Softmax in which the angle to its own class counts several times.",
        when_to_use="For the history of angle margins: hard to train from the start with a large multiplier, which its "
        "authors phase in. CosFace and ArcFace are the steadier heirs.",
        formula=r"-\log\frac{e^{z_y}}{e^{z_y}+\sum_{c\ne y} e^{z_c}},"
        r"\quad z_y=\|w_y\|\|f\|\psi(\theta_y),\quad z_c=\|w_c\|\|f\|\cos\theta_c,"
        r"\quad \psi(\theta)=(-1)^k\cos(m\theta)-2k,\ k=\lfloor m\theta/\pi\rfloor",
        term=r"z_y = <\|w_y\|>\cdot <\|f\|>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        reference="Liu, Wen, Yu, Yang: Large-margin softmax loss for convolutional neural networks, ICML 2016",
        recommended=_SPHERE | {"learning_rate": 2e-3},
        in_dimensions={2: _CIRCLE | {"learning_rate": 4e-3}},
        angular_margins=lambda p: (p["margin"], 0, 0),
        class_scores=scaled_cosine,
        parameters=(_multiplier(4.0),),
    ),
    _proxies(
        "sphereface",
        aliases=("A-Softmax", "angular softmax"),
        title="SphereFace",
        summary="Large-margin softmax with class weights of length 1, so that only the angle decides.",
        when_to_use="For the history of angle margins: as large-margin softmax it wants a multiplier that is phased "
        "in. CosFace and ArcFace train more easily.",
        formula=r"-\log\frac{e^{z_y}}{e^{z_y}+\sum_{c\ne y} e^{z_c}},"
        r"\quad z_y=\|f\|\psi(\theta_y),\quad z_c=\|f\|\cos\theta_c,"
        r"\quad \psi(\theta)=(-1)^k\cos(m\theta)-2k,\ k=\lfloor m\theta/\pi\rfloor",
        term=r"z_y = <\|f\|>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        reference="Liu, Wen, Yu, Li, Raj, Song: SphereFace, deep hypersphere embedding for face recognition, CVPR 2017",
        recommended=_SPHERE | {"learning_rate": 2e-3},
        in_dimensions={2: _CIRCLE | {"learning_rate": 4e-3}},
        angular_margins=lambda p: (p["margin"], 0, 0),
        parameters=(_multiplier(4.0),),
    ),
    _proxies(
        "cosface",
        aliases=("AM-Softmax", "LMCL"),
        title="CosFace",
        summary="The cosine with its own class is lowered by a margin.",
        when_to_use="With many classes, and when classes that training never saw will be compared, as faces are. The "
        "easiest of the angle margins to train; with few classes a smaller scale does.",
        formula=r"-\log\frac{e^{s(\cos\theta_y-m)}}{e^{s(\cos\theta_y-m)}+\sum_{c\ne y} e^{s\cos\theta_c}}",
        term=r"z_y = <s>(\cos <\theta_y°> - <m>),\quad " + _ENTROPY,
        reference="Wang et al.: CosFace, large margin cosine loss for deep face recognition, CVPR 2018",
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"margin": 0.2, "scale": 16}}},
        angular_margins=lambda p: (1, 0, p["margin"]),
        parameters=(
            margin(0.35, "taken off the cosine with its own class", maximum=2),
            scale(64, "s: how sharply the nearest class wins"),
        ),
    ),
    _proxies(
        "arcface",
        aliases=("additive angular margin",),
        title="ArcFace",
        summary="A margin is added to the angle to its own class: classes become arcs with gaps between them.",
        when_to_use="As CosFace: many classes, unseen ones later. The margin is an angle, the same everywhere on the "
        "sphere; when training does not get going, lower it first.",
        formula=r"-\log\frac{e^{s\cos(\theta_y+m)}}{e^{s\cos(\theta_y+m)}+\sum_{c\ne y} e^{s\cos\theta_c}}",
        term=r"z_y = <s>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        term_note=_STRONGEST
        + r" θ is <\theta_y°> and m <m°>: ψ(θ) = cos(θ + m), but cos θ − m sin m where θ + m > 180°.",
        reference=_ARCFACE,
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"margin": 0.2, "scale": 16}}},
        angular_margins=lambda p: (1, p["margin"], 0),
        parameters=(_angle(0.5), scale(64, "s: how sharply the nearest class wins")),
    ),
    _proxies(
        "combined_margin",
        title="Combined margin",
        summary="The angle to its own class multiplied and increased, its cosine lowered: SphereFace, ArcFace and "
        "CosFace in one.",
        when_to_use="To compare SphereFace, ArcFace and CosFace fairly, or to mix them. For results one of the three "
        "alone is easier to tune.",
        formula=r"-\log\frac{e^{s(\cos(m_1\theta_y+m_2)-m_3)}}{e^{s(\cos(m_1\theta_y+m_2)-m_3)}"
        r"+\sum_{c\ne y} e^{s\cos\theta_c}}",
        term=r"z_y = <s>\cdot <\psi(\theta_y)>,\quad " + _ENTROPY,
        term_note=_STRONGEST
        + r" θ is <\theta_y°>: ψ(θ) = cos(m₁θ + m₂) − m₃, continued so that it falls on beyond 180°.",
        reference=_ARCFACE,
        on_sphere=True,
        recommended=_SPHERE,
        in_dimensions={2: _CIRCLE | {"loss_params": {"m2": 0.1, "m3": 0.1, "scale": 16}}},
        angular_margins=lambda p: (p["m1"], p["m2"], p["m3"]),
        parameters=(
            _multiplier(1.0, "m1", minimum=0.5),
            _angle(0.3, "m2"),
            margin(0.2, "taken off the cosine with its own class", name="m3", maximum=2),
            scale(64, "s: how sharply the nearest class wins"),
        ),
    ),
    _proxies(
        "proxy_nca",
        title="Proxy-NCA",
        summary="One learned proxy stands for each class; an image is drawn to its own and away from the others.",
        when_to_use="When batches cannot be put together by class, or training must settle soon: images meet a few "
        "proxies and not each other, so there is nothing to mine.",
        formula=r"-\log\frac{e^{-\|\tilde f-\tilde p_y\|^2}}{\sum_c e^{-\|\tilde f-\tilde p_c\|^2}},"
        r"\quad \tilde f = s\,f/\|f\|,\ \tilde p = s\,p/\|p\|",
        term=r"z_y = -<\|\tilde f-\tilde p_y\|^2>,\quad " + _ENTROPY,
        reference="Movshovitz-Attias, Toshev, Leung, Ioffe, Singh: No fuss distance metric learning using proxies, "
        "ICCV 2017",
        on_sphere=True,
        recommended=_SPHERE | {"learning_rate": 2e-3},
        in_dimensions={2: _CIRCLE | {"learning_rate": 4e-3}},
        angular_margins=lambda p: (1, 0, 0),
        parameters=(scale(3, "s: length to which embeddings and proxies are brought", maximum=30),),
    ),
    _proxies(
        "soft_triple",
        title="SoftTriple",
        summary="Several learned centers for each class, so that a class may consist of several clusters.",
        when_to_use="When a class consists of several kinds that do not look alike: each may have a center of its own. "
        "With uniform classes it is normalized softmax at a higher price.",
        formula=r"-\log\frac{e^{\lambda(S_y-\delta)}}{e^{\lambda(S_y-\delta)}+\sum_{c\ne y} e^{\lambda S_c}},\quad "
        r"S_c=\sum_k \mathrm{softmax}_k\big(\tfrac1\gamma f\cdot w_{ck}\big)\, f\cdot w_{ck}",
        term=r"z_y = <\lambda>(<S_y> - <\delta>),\quad " + _ENTROPY,
        reference="Qian, Shang, Sun, Hu, Li, Jin: SoftTriple loss, deep metric learning without triplet sampling, "
        "ICCV 2019",
        on_sphere=True,
        recommended=_SPHERE,
        class_scores=soft_nearest_center,
        parameters=(
            Parameter(name="centers", kind=int, default=10, minimum=1, maximum=100, help="centers of each class"),
            scale(20, "λ: how sharply the nearest class wins", name="la"),
            Parameter(
                name="gamma",
                kind=float,
                default=0.1,
                minimum=0.001,
                maximum=10,
                step=0.01,
                help="γ: softmax temperature over the centers; small = nearest only",
            ),
            margin(0.01, "δ: taken off the similarity to its own class", maximum=2),
        ),
    ),
    _proxies(
        "center",
        aliases=("center loss",),
        title="Center loss",
        summary="Softmax, and a pull of every image towards a learned center of its class.",
        when_to_use="To tighten the classes of softmax when its embedding will be compared by distance after all.",
        formula=r"-\log\frac{e^{w_y\cdot f+b_y}}{\sum_c e^{w_c\cdot f+b_c}} + \lambda\,\|f-c_y\|^2",
        term=r"z_y = <w_y\cdot f> + <b_y>,\quad " + _ENTROPY + r" + <\lambda>\cdot <\|f-c_y\|^2>",
        reference="Wen, Zhang, Li, Qiao: A discriminative feature learning approach for deep face recognition, "
        "ECCV 2016",
        recommended=_FREE,
        class_centers="points",
        parameters=(
            Parameter(
                name="weight",
                kind=float,
                default=0.003,
                minimum=0,
                maximum=10,
                step=0.001,
                help="λ: strength of the pull towards the center",
            ),
        ),
    ),
    LossSpec(
        name="prototypical",
        aliases=("few-shot", "one-shot", "prototypes"),
        title="Prototypical",
        family="proxies",
        summary="In each batch some images of a class form its prototype, their mean; the others must be nearest to "
        "their own.",
        when_to_use="For few-shot learning: a class that comes later is known from the mean of a few images, without "
        "training anew. Train with batches put together as the later task will be.",
        formula=r"-\log\frac{e^{-d^2(f,c_y)}}{\sum_k e^{-d^2(f,c_k)}},\quad c_k = \text{mean of the support of } k",
        term=r"z_y = -<d(f,c_y)>,\quad " + _ENTROPY,
        term_note=_STRONGEST,
        reference="Snell, Swersky, Zemel: Prototypical networks for few-shot learning, NeurIPS 2017",
        recommended={"sampler": "balanced", "normalize": False},
        compares="classes",
        class_scores=nearest_prototype,
        class_centers="means",
        parameters=(
            Parameter(
                name="support",
                kind=int,
                default=5,
                minimum=1,
                maximum=1000,
                help="images of each class, the first in the batch, that form its prototype; the others are queries",
            ),
            distance("sqeuclidean"),
        ),
    ),
]
