"""The declaration of a data set."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self, cast

from pydantic import TypeAdapter

from dmlviz.catalog.parameters import Spec
from dmlviz.errors import UserError
from dmlviz.storage.run_schema.descriptions import DatasetDescription


@dataclass(frozen=True, kw_only=True)
class Framing:
    """The scaling and centering of a data set's images, so that a query image can be prepared alike.

    Attributes:
        box: Longest side of the content in pixels.
        by_mass: Center by mass, otherwise by bounding box.
        photographs: Keep gray levels; otherwise ink is scaled to the full range.
        block_counts: Stretch to 32 × 32 and count the ink in blocks of 4 × 4 instead; see dmlviz/data/digit_image.py.
        point: The content is a dot, whose place is all that counts; see dmlviz/ops/dots.py.
    """

    box: int
    by_mass: bool = False
    photographs: bool = False
    block_counts: bool = False
    point: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The recipe by which a data set is made from the images of another one.

    Attributes:
        build: "module:function" that takes the `Dataset` it is made from and returns a training and a test `Split`.
        sources: Names of the data sets that it can be made from, the best first; the first one on disk is used.
        version: Raised when the function gives other images, so that those kept in data folders are made again.
    """

    build: str
    sources: tuple[str, ...]
    version: int = 1


@dataclass(frozen=True, kw_only=True)
class ClassSplit:
    """The numbers of classes for training, validation and test in an experiment with unseen classes, by class ID.

    Attributes:
        train: Number of classes to learn from.
        validation: Number of classes to choose by.
        test: Number of classes to test on.
        disjoint: Whether the training images hold no image of a test class and the test images no other.
    """

    train: int
    validation: int = 0
    test: int
    disjoint: bool = False

    @property
    def parts(self) -> dict[str, range]:
        """The class IDs of each part."""
        ends = [0, self.train, self.train + self.validation, self.train + self.validation + self.test]
        return {name: range(*ends[i : i + 2]) for i, name in enumerate(("train", "validation", "test"))}


@dataclass(frozen=True, kw_only=True)
class Features:
    """The features that a pretrained backbone made of each image: a vector, which a net takes instead of the pixels.

    Attributes:
        backbone: Name in `dmlviz.catalog.backbones.BACKBONES`, or `timm:NAME`.
        weights: 16 hexadecimal digits that name the content of its weights.
        dimensions: Numbers of a vector.
        mean: Mean of the training images' features.
        std: Their standard deviation.
    """

    backbone: str
    weights: str
    dimensions: int
    mean: float
    std: float


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(Spec):
    """A data set of small images; `classes` are the class names, by label.

    `mean` and `std` are those of the training pixels, scaled to [0, 1]; `dark_on_light` says that the images are dark
    on a light ground; `first_label` and `transposed` how its files count classes and lay out rows. `most` maps fields
    of a TrainConfig to the largest value that the data allow: a default is lowered to it. A `size` of 0 means that
    there are no images. `framing` is None where it is unknown.

    `trainable` is False for what another program has embedded: imported embeddings, and the images of a training that
    `dmlviz.record` follows. They have no net here and cannot be trained on.

    `roles` names what else is known of each image, beside its class: by role the names of its values ("camera 1", …);
    empty where they are the classes of the data set that this one is made from. `class_split` divides the classes for
    experiments with unseen ones. `recipe` says how the images are made from those of another data set. `features` is
    given where a net takes the features of a backbone instead of the images, which are only shown.
    """

    classes: tuple[str, ...]
    size: int
    mean: float
    std: float
    channels: int = 1
    dark_on_light: bool = False
    first_label: int = 0
    transposed: bool = False
    framing: Framing | None = None
    most: Mapping[str, int] = field(default_factory=dict)
    trainable: bool = True
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    class_split: ClassSplit | None = None
    recipe: Recipe | None = None
    features: Features | None = None

    def __post_init__(self) -> None:
        if self.size == 0:  # vectors, also of runs that do not say so
            object.__setattr__(self, "trainable", False)

    @property
    def trainable_classes(self) -> range:
        """Class IDs that the training images have; they are the first."""
        count = len(self.classes)
        if self.class_split is not None and self.class_split.disjoint:
            count -= self.class_split.test
        return range(count)

    @property
    def of_points(self) -> bool:
        """Whether the images are points of the plane, whose two numbers a net takes."""
        return self.framing is not None and self.framing.point

    @property
    def noun(self) -> str:
        """What an item is called: an image, a point of the plane, or a row where there are vectors alone."""
        return "point" if self.of_points else "image" if self.size else "row"

    def class_ids(self, text: str, option: str) -> frozenset[int]:
        """Return the IDs of the classes that an option lists: names, IDs, or ranges of IDs, as in "cat,3,5-7".

        Raises:
            UserError: For a class that there is not.
        """
        found: set[int] = set()
        for part in [text] if text in self.classes else filter(None, map(str.strip, text.split(","))):
            if part in self.classes:  # also one called 7
                found.add(self.classes.index(part))
                continue
            match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part)
            ids = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
            if not ids or ids[-1] >= len(self.classes):
                shown = [
                    name if name == str(number) else f"{number} {name}" for number, name in enumerate(self.classes)
                ]
                more = f" … ({len(shown):,})" if len(shown) > 12 else ""
                raise UserError(
                    f"{option} takes names or numbers of classes; {self.title} has {', '.join(shown[:12])}{more}; got "
                    f"{part[:40]!r}."
                )
            found |= {*ids}
        return frozenset(found)

    def said(self, text: str) -> str:
        """Return a text on test images; where these are points of the plane, on points; without pictures, on rows."""
        if not self.trainable:
            text = text.replace("a test image", "an image").replace("test image", "image")
        if (noun := self.noun) == "image":
            return text
        text = re.sub(r"\b([Aa])n (?=image)", r"\1 ", text.replace("pixels", "coordinates"))
        return re.sub(r"\b[Ii]mage(?=s?\b)", lambda found: noun.title() if found[0] == "Image" else noun, text)

    def takes_images_of(self, other: "DatasetSpec") -> bool:
        """Return whether a net for these images takes those of another data set as they are."""
        mine, theirs = ((spec.size, spec.channels, spec.of_points) for spec in (self, other))
        return mine == theirs and self.size > 0 and self.features is None and other.features is None

    def to_dict(self) -> DatasetDescription:
        """Return plain JSON types, for a data set that no catalog lists."""
        fields = asdict(self)
        if not self.of_points:  # any other of one's own is framed as its images are
            fields["framing"] = None
        return cast(DatasetDescription, {name: fields[name] for name in _DESCRIBED if fields[name] is not None})

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Self:
        """Invert `to_dict`; raise ValueError for anything else."""
        fields = {name: description[name] for name in _DESCRIBED if name in description}
        return TypeAdapter(cls).validate_python(fields)


_DESCRIBED = (
    *("name", "title", "summary", "classes", "size", "mean", "std", "channels", "dark_on_light"),
    *("most", "trainable", "class_split", "features", "framing"),
)
