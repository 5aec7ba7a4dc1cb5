"""Measures how well photographs are retrieved by their sketches (the lab *two-domains*)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import made
from dmlviz.data.dataset import Split
from dmlviz.labs.kept_arrays import MAP, PICTURES
from dmlviz.labs.pair_training import in_chunks, normalize, seeded, train_steps
from dmlviz.labs.training import keep_net
from dmlviz.labs.two_domains import ASKED
from dmlviz.nets import PairNet, build
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.storage.paths import data_root
from dmlviz.studies.trial import Trial, TrialContext

BATCH = 96  # pairs
TEMPERATURE = 0.1
DIMENSIONS = 64
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
SHOWN = 150  # pairs on the map
STRIP = 5  # photographs kept for each query


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train two towers, one for photographs and one for sketches, and retrieve photographs by new sketches.

    The trial's settings: `learns` ("class", "match", "both" or "nothing"), `normalize`, `shared`, `steps`, `seed`.
    """
    settings = trial.settings
    data = made.load(DATASETS["sketches"], trial.dataset, data_root(context.data_root))
    photographs, sketches = domains(data.test, data.mean, data.std)
    if settings["learns"] == "nothing":
        vectors, seconds = [images.flatten(1).numpy() for images in (photographs, sketches)], 0.0
    else:
        net, seconds = _train(data.train, data.mean, data.std, settings, context)
        if settings["variant"] in ASKED and not settings["seed"]:
            keep_net(net, context.folder)
        vectors = [embed(net.a, photographs, settings), embed(net.b, sketches, settings)]
    gallery, queries = (values.astype(np.float32) for values in vectors)
    garments = data.test.roles["garment"][0::2]
    values = retrieval_scores(queries, gallery, garments)
    _keep(context, data.test, queries, gallery, garments)
    return {**values, "train_seconds": round(seconds, 2)}


def build_towers(settings: Mapping[str, Any], size: int) -> PairNet:
    """Create the towers of a variant, for images of `size` pixels: one for photographs, one for sketches."""
    shared = settings["shared"]
    a, b = (
        build(name, embedding_dim=DIMENSIONS, normalize=settings["normalize"], size=size)
        for name in ("small", "mlp" if shared == "different" else "small")
    )
    return PairNet(a, b, "none" if shared == "different" else shared)


def embed(tower: torch.nn.Module, images: torch.Tensor, settings: Mapping[str, Any]) -> np.ndarray:
    """Return the embeddings of normalized images, n × d, as they are compared."""
    vectors = in_chunks(tower, images)
    if settings["learns"] == "class":  # as in retrieval by features of a classifier
        return np.asarray(l2_normalize(torch.from_numpy(vectors)).numpy())
    return vectors


def domains(split: Split, mean: float, std: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return photographs and sketches; row i of both shows the same thing."""
    images = normalize(split.images, mean, std)
    domain = split.roles["domain"]
    return images[domain == 0], images[domain == 1]


def _train(
    split: Split, mean: float, std: float, settings: Mapping[str, Any], context: TrialContext
) -> tuple[PairNet, float]:
    photographs, sketches = domains(split, mean, std)
    labels = torch.from_numpy(split.roles["garment"][0::2].astype(np.int64))
    normalize, seed = settings["normalize"], settings["seed"]
    with seeded(seed):
        net = build_towers(settings, photographs.shape[-1])
        head = torch.nn.Linear(DIMENSIONS, int(labels.max()) + 1)
    both = torch.nn.ModuleList([net, head])
    rng = np.random.default_rng(seed)
    by_class, by_match = (settings["learns"] in (name, "both") for name in ("class", "match"))

    def loss(_step: int) -> torch.Tensor:
        rows = torch.from_numpy(rng.choice(len(labels), BATCH, replace=False))
        a, b = net(photographs[rows], sketches[rows])
        total: torch.Tensor = a.new_zeros(())
        if by_class:
            scores = head(torch.cat([a, b])) * (10 if normalize else 1)
            total = total + cross_entropy(scores, labels[rows].repeat(2))
        if by_match:
            total = total + match_loss(a, b)
        return total

    return net, train_steps(both, settings["steps"], loss, context, share=0.95)


def match_loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the loss that each photograph finds its sketch in the batch, and each sketch its photograph (NT-Xent).

    Args:
        a: Embeddings of the photographs, n × d.
        b: Embeddings of their sketches, n × d.
    """
    similarity = l2_normalize(a) @ l2_normalize(b).T / TEMPERATURE
    target = torch.arange(len(a))
    loss: torch.Tensor = (cross_entropy(similarity, target) + cross_entropy(similarity.T, target)) / 2
    return loss


def retrieval_scores(queries: np.ndarray, gallery: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Return how often a query finds its partner, the gallery's row of the same number.

    Args:
        queries: Embeddings of the sketches, n × d.
        gallery: Embeddings of the photographs, n × d.
        classes: Class of each pair, n.

    Returns:
        `recall`: recall at each of `RANKS` that is not above n; `recall_at_1_percent`; `class_at_1`: how often the
        first photograph is of the query's class; `pairs`: n.
    """
    n = len(queries)
    distances = (gallery**2).sum(1)[None] - 2 * queries @ gallery.T  # without the query's own length
    own = distances[np.arange(n), np.arange(n)]
    rank = (distances <= own[:, None]).sum(1)  # ties count against the query: a collapsed net finds nothing
    nearest = distances.argmin(1)
    percent = max(1, round(n / 100))
    return {
        "recall": [[k, float((rank <= k).mean())] for k in RANKS if k <= n],
        "recall_at_1_percent": float((rank <= percent).mean()),
        "class_at_1": float((classes[nearest] == classes).mean()),
        "pairs": n,
    }


def _keep(context: TrialContext, test: Split, queries: np.ndarray, gallery: np.ndarray, garments: np.ndarray) -> None:
    """Keep a map of both domains, and what a few queries find, for the figure and the pictures."""
    both = np.concatenate([gallery[:SHOWN], queries[:SHOWN]])
    places = LinearProjection.pca(np.concatenate([gallery, queries])).project(both)
    rows = np.linspace(0, len(queries) - 1, 12).astype(int)
    order = np.argsort((gallery**2).sum(1)[None] - 2 * queries[rows] @ gallery.T, axis=1)[:, :STRIP]
    np.savez_compressed(
        context.folder / MAP, places=places.reshape(2, -1, 2).astype(np.float32), garments=garments[:SHOWN]
    )
    np.savez_compressed(
        context.folder / PICTURES,
        sketches=test.images[1::2][rows],
        photographs=test.images[0::2][order],
        right=order == rows[:, None],
    )
