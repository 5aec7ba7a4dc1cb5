"""Recipes: named starting points of a training. Each is a choice of settings for any data set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dmlviz.catalog.parameters import Catalog, Spec


@dataclass(frozen=True, kw_only=True)
class RecipeSpec(Spec):
    """A starting point; `settings` are the fields of `TrainConfig` that differ from what its loss recommends."""

    settings: Mapping[str, Any] = field(default_factory=dict)


RECIPES = Catalog(
    "recipe",
    [
        RecipeSpec(
            name="standard",
            title="Standard",
            summary="A good first choice: its loss needs neither a miner nor much tuning.",
        ),
        RecipeSpec(
            name="quick",
            title="Quick",
            summary="The standard, a quarter as long: something to look at within seconds.",
            settings={"steps": 150},
        ),
        RecipeSpec(
            name="semi_hard_triplets",
            title="Triplets with semi-hard negatives",
            summary="A negative counts where it is farther than the positive, but not by the margin: as in FaceNet.",
            reference="Schroff, Kalenichenko, Philbin: FaceNet, CVPR 2015",
            settings={"loss": "triplet", "miner": "semihard_random"},
        ),
        RecipeSpec(
            name="arcface_circle",
            title="Circle of ArcFace",
            summary="Two dimensions of length 1: every class learns an arc, with a margin to its neighbors.",
            reference="Deng, Guo, Xue, Zafeiriou: ArcFace, CVPR 2019",
            settings={"loss": "arcface", "embedding_dim": 2},
        ),
        RecipeSpec(
            name="contrastive_plane",
            title="Contrastive in the plane",
            summary="Pairs of a class pull, others push up to the margin. The map is the learned space itself.",
            reference="Hadsell, Chopra, LeCun: Dimensionality reduction by learning an invariant mapping, CVPR 2006",
            settings={"loss": "contrastive", "embedding_dim": 2, "normalize": False},
        ),
        RecipeSpec(
            name="classifier",
            title="Features of a classifier",
            summary="No distance is trained, only classes are told apart: what a metric loss must beat.",
            settings={"loss": "softmax"},
        ),
        RecipeSpec(
            name="without_labels",
            title="Without labels",
            summary="Two altered views of an image are its only positives; labels serve for the scores alone.",
            reference="Chen, Kornblith, Norouzi, Hinton: SimCLR, ICML 2020",
            settings={"use_labels": False},
        ),
    ],
)
