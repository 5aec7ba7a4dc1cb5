"""Measures how well photographs are retrieved by their sketches (the lab *two-domains*)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.functional import affine_grid, cross_entropy, grid_sample, mse_loss

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig
from dmlviz.data import made
from dmlviz.data.dataset import Split
from dmlviz.labs.kept_arrays import MAP, PICTURES
from dmlviz.labs.pair_training import in_chunks, normalize, seeded, train_steps
from dmlviz.labs.training import keep_net
from dmlviz.labs.two_domains import ASKED, Variant
from dmlviz.nets import PairNet, build
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.projection import project
from dmlviz.storage.paths import data_root
from dmlviz.studies.trial import Trial, TrialContext, Values

BATCH = 96  # pairs
TEMPERATURE = 0.1
MARGIN = 1.0  # of the contrastive loss
TURN_SEED = 0  # of the turns of the test sketches
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
SHOWN = 150  # pairs on the map
STRIP = 5  # photographs kept for each query


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train two towers, one for photographs and one for sketches, and retrieve photographs by new sketches.

    The trial's settings are those fields of a `dmlviz.labs.two_domains.Variant` that are not as usual, its name,
    `steps` and `seed`.
    """
    settings = {**Variant._field_defaults, **trial.settings}
    data = made.load(DATASETS["sketches"], trial.dataset, data_root(context.data_root))
    photographs, sketches = domains(data.test, data.mean, data.std)
    angles = np.random.default_rng(TURN_SEED).uniform(-settings["turn"], settings["turn"], len(sketches))
    sketches = turned(sketches, angles)
    values: Values = {}
    if settings["learns"] == "nothing":
        vectors, seconds = [images.flatten(1).numpy() for images in (photographs, sketches)], 0.0
    else:
        net, compass, seconds = _train(data.train, data.mean, data.std, settings, context)
        if settings["variant"] in ASKED and not settings["seed"]:
            keep_net(net, context.folder)
        vectors = [embed(net.a, photographs, settings), embed(net.b, sketches, settings)]
        if settings["learns"] == "match and turn":
            found = in_chunks(lambda a, b: compass(_hidden(net, a, b)), photographs, sketches)
            error = np.abs((np.degrees(np.arctan2(found[:, 1], found[:, 0])) - angles + 180) % 360 - 180)
            values["turn_error"] = float(np.median(error))
    gallery, queries = (values.astype(np.float32) for values in vectors)
    garments = data.test.roles["garment"][0::2]
    values |= retrieval_scores(queries, gallery, garments)
    _keep(context, data.test, queries, gallery, garments)
    return {**values, "train_seconds": round(seconds, 2)}


def build_towers(settings: Mapping[str, Any], size: int) -> PairNet:
    """Create the towers of a variant, for images of `size` pixels: one for photographs, one for sketches."""
    shared = settings["shared"]
    a, b = (
        build(name, embedding_dim=settings["dimensions"], normalize=settings["normalize"], size=size)
        for name in (settings["net"], "mlp" if shared == "different" else settings["net"])
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


def turned(images: torch.Tensor, degrees: np.ndarray) -> torch.Tensor:
    """Return images (n × 1 × h × w), each turned counterclockwise; what comes in from outside is as its corner."""
    if not degrees.any():
        return images
    angle = torch.from_numpy(np.radians(degrees)).float()
    sine, cosine, zero = angle.sin(), angle.cos(), torch.zeros_like(angle)
    matrix = torch.stack([cosine, -sine, zero, sine, cosine, zero], 1).reshape(-1, 2, 3)
    grid = affine_grid(matrix, list(images.shape), align_corners=False)
    return grid_sample(images, grid, padding_mode="border", align_corners=False)


def _hidden(net: PairNet, photographs: torch.Tensor, sketches: torch.Tensor) -> torch.Tensor:
    """Return the features before the last layer of both towers, side by side."""
    features = []
    for tower, images in ((net.a, photographs), (net.b, sketches)):
        *layers, _last = tower.get_submodule("body").children()
        features.append(torch.nn.Sequential(*layers)(images))
    return torch.cat(features, 1)


def _train(
    split: Split, mean: float, std: float, settings: Mapping[str, Any], context: TrialContext
) -> tuple[PairNet, torch.nn.Module, float]:
    """Return the towers, the head that says how far a sketch is turned, and the processor seconds."""
    photographs, sketches = domains(split, mean, std)
    classes = split.roles["garment"][0::2].astype(np.int64)
    labels = torch.from_numpy(classes)
    normalize, seed, learns = settings["normalize"], settings["seed"], settings["learns"]
    with seeded(seed):
        net = build_towers(settings, photographs.shape[-1])
        head = torch.nn.Linear(settings["dimensions"], int(labels.max()) + 1)
        compass = torch.nn.Sequential(torch.nn.LazyLinear(64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
        if learns == "match and turn":
            compass(_hidden(net, photographs[:1], sketches[:1]))  # finds the width of what it gets
    all_nets = torch.nn.ModuleList([net, head, *([compass] if learns == "match and turn" else [])])
    rng = np.random.default_rng(seed)

    def loss(_step: int) -> torch.Tensor:
        chosen = rng.choice(len(labels), BATCH, replace=False)
        rows, partners = torch.from_numpy(chosen), chosen
        if learns == "contrastive":
            partners = np.concatenate(
                [chosen[: BATCH // 2], negatives(chosen[BATCH // 2 :], classes, settings["same_class"], rng)]
            )
        angles = rng.uniform(-settings["turn"], settings["turn"], BATCH) if settings["turn"] else np.zeros(BATCH)
        seen = photographs[rows], turned(sketches[torch.from_numpy(partners)], angles)
        a, b = net(*seen)
        total: torch.Tensor = a.new_zeros(())
        if learns in ("class", "both"):
            scores = head(torch.cat([a, b])) * (10 if normalize else 1)
            total = total + cross_entropy(scores, labels[rows].repeat(2))
        if learns in ("match", "both", "match and turn"):
            total = total + match_loss(a, b)
        if learns == "contrastive":
            total = total + contrastive_loss(a, b, BATCH // 2)
        if learns == "match and turn":
            radians = torch.from_numpy(np.radians(angles)).float()
            total = total + mse_loss(compass(_hidden(net, *seen)), torch.stack([radians.cos(), radians.sin()], 1))
        return total

    seconds = train_steps(all_nets, settings["steps"], loss, context, share=0.95)
    return net, compass.eval(), seconds


def negatives(anchors: np.ndarray, classes: np.ndarray, same_class: float, rng: np.random.Generator) -> np.ndarray:
    """Return another pair for each anchor: of the anchor's class with the given probability, else of another one."""
    found = np.empty_like(anchors)
    for i, (anchor, same) in enumerate(zip(anchors, rng.random(len(anchors)) < same_class, strict=True)):
        fits = (classes == classes[anchor]) == same
        fits[anchor] = False
        found[i] = rng.choice(np.flatnonzero(fits))
    return found


def contrastive_loss(a: torch.Tensor, b: torch.Tensor, matches: int) -> torch.Tensor:
    """Return the contrastive loss of pairs, n × d each, of which the first `matches` match."""
    distance = ((a - b).square().sum(1) + 1e-8).sqrt()
    loss: torch.Tensor = torch.cat([distance[:matches], (MARGIN - distance[matches:]).relu()]).square().mean()
    return loss


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


def retrieval_scores(queries: np.ndarray, gallery: np.ndarray, classes: np.ndarray) -> Values:
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
        context.folder / MAP,
        places=places.reshape(2, -1, 2).astype(np.float32),
        tsne=project(both, ProjectionConfig(method="tsne")).coordinates.reshape(2, -1, 2).astype(np.float32),
        garments=garments[:SHOWN],
    )
    np.savez_compressed(
        context.folder / PICTURES,
        sketches=test.images[1::2][rows],
        photographs=test.images[0::2][order],
        right=order == rows[:, None],
    )
