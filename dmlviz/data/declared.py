"""The data sets and the ways to put batches together, as they are offered."""

from dataclasses import dataclass

from dmlviz.declarations import Catalogue, Declaration


@dataclass(frozen=True, kw_only=True)
class DatasetDeclaration(Declaration):
    """A data set of small images; `classes` are the class names, by label.

    `mean` and `std` are those of the training pixels, scaled to [0, 1].
    """

    classes: tuple[str, ...]
    size: int
    mean: float
    std: float
    channels: int = 1


@dataclass(frozen=True, kw_only=True)
class SamplerDeclaration(Declaration):
    """A way to put batches together: from P classes with K images each when `by_class`, else so many images.

    `makes` is "pairs" or "triplets" for one that decides itself what the loss compares, so that no miner does.
    """

    by_class: bool = False
    makes: str = ""


_DIGITS = tuple("0123456789")

DATASETS = Catalogue(
    "data set",
    [
        DatasetDeclaration(
            name="mnist",
            title="MNIST",
            summary="Handwritten digits, 28 × 28: 60,000 to train on, 10,000 to test on.",
            reference="LeCun, Cortes, Burges: The MNIST database of handwritten digits, 1998",
            classes=_DIGITS,
            size=28,
            mean=0.1307,
            std=0.3081,
        ),
        DatasetDeclaration(
            name="fashion_mnist",
            title="Fashion-MNIST",
            summary="Photographs of clothes, 28 × 28: 60,000 to train on, 10,000 to test on. Harder than digits.",
            reference="Xiao, Rasul, Vollgraf: Fashion-MNIST, 2017",
            classes=("T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot"),
            size=28,
            mean=0.2860,
            std=0.3530,
        ),
        DatasetDeclaration(
            name="digits",
            title="Digits 8 × 8",
            summary="1,797 tiny handwritten digits that come with the program: nothing to download.",
            reference="Alpaydin, Kaynak: Optical recognition of handwritten digits, UCI, 1998",
            classes=_DIGITS,
            size=8,
            mean=0.3048,
            std=0.3757,
        ),
    ],
)

SAMPLERS = Catalogue(
    "sampler",
    [
        SamplerDeclaration(
            name="balanced",
            title="Balanced",
            summary="P classes with K images each, so that every image has partners.",
            when="With every loss that compares images with each other: pairs, triplets, structured. More classes"
            " make negatives harder to tell, more images of each give more positives.",
            by_class=True,
        ),
        SamplerDeclaration(
            name="shuffled",
            title="Shuffled",
            summary="Plain shuffled batches, for losses that compare images with class weights.",
            when="With proxy losses, which compare images with class weights and need no partner in the batch.",
        ),
        SamplerDeclaration(
            name="episodes",
            title="Episodes",
            summary="P classes with K images each, every batch drawn anew: the first images of a class support, the "
            "others ask.",
            when="With the prototypical loss, so that training looks like the later task: a few images of each "
            "class support, the others ask.",
            reference="Vinyals et al. 2016; Snell, Swersky, Zemel 2017",
            by_class=True,
        ),
        SamplerDeclaration(
            name="random_pairs",
            title="Random pairs",
            summary="The classical siamese net: pairs drawn blindly, half of them of one class; the loss sees no more.",
            when="To see how the siamese net was trained before batches were mined: each pair is embedded for "
            "itself, and most pairs teach little.",
            reference="Bromley, Guyon, LeCun, Säckinger, Shah 1993",
            makes="pairs",
        ),
        SamplerDeclaration(
            name="random_triplets",
            title="Random triplets",
            summary="The classical triplet net: anchor, positive and negative drawn blindly; the loss sees no other.",
            when="To see how the triplet net was trained before batches were mined: three images for a single "
            "comparison.",
            reference="Hoffer, Ailon 2015",
            makes="triplets",
        ),
    ],
)
