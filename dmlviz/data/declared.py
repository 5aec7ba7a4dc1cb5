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
        Declaration(
            name="balanced",
            title="Balanced",
            summary="P classes with K images each, so that every image has partners.",
        ),
        Declaration(
            name="shuffled",
            title="Shuffled",
            summary="Plain shuffled batches, for losses that compare images with class weights.",
        ),
    ],
)
