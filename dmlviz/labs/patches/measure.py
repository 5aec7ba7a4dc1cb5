"""Measure how well a net distinguishes patches of one point from patches of two (the lab *patches*)."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import load, made
from dmlviz.data.dataset import Split
from dmlviz.data.made.patches import DISPARITY, PATCH, SIDE, StereoPair, make_scene_pair, make_stereo_pair
from dmlviz.labs.kept_arrays import PICTURES, PLAYGROUND
from dmlviz.labs.pair_training import in_chunks, normalize, pair_batches, train_steps
from dmlviz.labs.patches import NEAR, STEREO
from dmlviz.metrics.verification import operating_points, verify_pairs
from dmlviz.nets import CentralSurroundNet, DecisionNet, PairNet, SiameseNet, TwoChannelNet, TwoStreams, build
from dmlviz.nets.models import registry
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.storage.paths import data_root
from dmlviz.studies.trial import Trial, TrialContext, Values

DIMENSIONS = 64  # of a descriptor
STREAM = 64  # features of each of two streams
DEEP = (16, 32)  # filters of the two stacks of the deep net


class DistanceScore(nn.Module):
    """Descriptors of two towers, compared by their Euclidean distance: score = scale · (threshold − distance).

    Args:
        towers: The towers.
    """

    def __init__(self, towers: PairNet) -> None:
        super().__init__()
        self.towers = towers
        self.scale = nn.Parameter(torch.tensor(4.0))
        self.threshold = nn.Parameter(torch.tensor(1.0))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Return a score for each pair; higher for two patches that match."""
        return self.score(*self.towers(first, second))

    def score(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the scores of pairs whose descriptors are known."""
        distance = ((first - second).square().sum(1) + 1e-8).sqrt()
        return self.scale * (self.threshold - distance)


class PixelScore(nn.Module):
    """Correlation of the pixels: nothing is learned."""

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the correlation of each pair."""
        a, b = (l2_normalize(images.flatten(1) - images.flatten(1).mean(1, keepdim=True)) for images in (first, second))
        return (a * b).sum(1)


def build_patch_net(kind: str, size: int, seed: int) -> nn.Module:
    """Create a net that scores pairs of patches.

    Args:
        kind: One of `dmlviz.labs.patches.NETS`.
        size: Side of a patch in pixels.
        seed: Seed of the weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return _MAKERS[kind](size)


def _tower(size: int, normalize: bool = False, name: str = "small") -> nn.Module:
    return build(name, embedding_dim=DIMENSIONS, normalize=normalize, size=size)


def _body(size: int, outputs: int, channels: int = 2) -> nn.Module:
    """Return the body of the same net, for both patches as two channels unless for one."""
    body: nn.Module = registry["small"](channels, size, outputs)
    return body


def _two_streams(size: int) -> nn.Module:
    central, surround = (nn.Sequential(_body(size // 2, STREAM), nn.ReLU()) for _ in range(2))
    return CentralSurroundNet(central, surround, 2 * STREAM)


def _two_stream_tower(size: int, normalize: bool = False) -> nn.Module:
    central, surround = (_body(size // 2, DIMENSIONS // 2, channels=1) for _ in range(2))
    return TwoStreams(central, surround, normalize)


def _deep(size: int) -> nn.Module:
    """Return the paper's deep body, narrower: a 4 × 4 convolution, then two stacks of three 3 × 3 convolutions."""
    channels = 2
    layers: list[nn.Module] = []
    for filters, kernel, stride in ((DEEP[0], 4, 3), *((width, 3, 1) for width in DEEP for _ in range(3))):
        convolution = nn.Conv2d(channels, filters, kernel, stride, padding=1)
        nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")  # else the signal fades in seven layers
        layers += [convolution, nn.ReLU()]
        channels = filters
    layers.insert(8, nn.MaxPool2d(2))  # between the stacks
    side = ((size - 2) // 3 + 1) // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * side**2, 1))


_MAKERS = {
    "pixels": lambda size: PixelScore(),
    "siam": lambda size: DecisionNet(SiameseNet(_tower(size)), DIMENSIONS),
    "pseudo-siam": lambda size: DecisionNet(PairNet(_tower(size), _tower(size), "none"), DIMENSIONS),
    "first-shared": lambda size: DecisionNet(PairNet(_tower(size), _tower(size), "first"), DIMENSIONS),
    "two-branch": lambda size: DecisionNet(PairNet(_tower(size), _tower(size, name="mlp"), "none"), DIMENSIONS),
    "siam-l2": lambda size: DistanceScore(SiameseNet(_tower(size, normalize=True))),
    "siam-2stream": lambda size: DecisionNet(SiameseNet(_two_stream_tower(size)), DIMENSIONS),
    "siam-2stream-l2": lambda size: DistanceScore(SiameseNet(_two_stream_tower(size, normalize=True))),
    "2ch": lambda size: TwoChannelNet(_body(size, 1)),
    "2ch-deep": lambda size: TwoChannelNet(_deep(size)),
    "2ch-2stream": _two_streams,
}


def num_weights(net: nn.Module) -> int:
    """Return how many weights a net has; shared ones count once."""
    return int(np.sum([weight.numel() for weight in net.parameters()], dtype=np.int64))


BATCH = 256  # pairs
WEIGHT_DECAY = 5e-4
PLACES = 400  # places that one click is compared with
PLACES_A_SIDE = 16  # of a grid on the left picture of a stereo pair
WORST = 6  # wrong pairs kept of each kind


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train a net on patches of one kind of scene, and score it on new scenes of each kind.

    The trial's settings: `net`, `train` and `test` (the source of the training scenes, and those of the test scenes),
    `steps`, `seed`.
    """
    settings = trial.settings
    spec, root = DATASETS["patches"], data_root(context.data_root)
    train = made.load(spec, settings["train"], root).train
    net = build_patch_net(settings["net"], spec.size, settings["seed"])
    seconds = 0.0
    if settings["steps"] and num_weights(net):
        seconds = _train(net, train, settings, context)
    kinds = {}
    for kind in settings["test"]:
        test = made.load(spec, kind, root).test
        scores, match, pairs = _score(net, test)
        kinds[kind] = _summary(scores, match)
        if kind == settings["test"][-1]:
            _keep_worst(context, test.images, scores, match, pairs)
    if settings["train"] == trial.dataset and not settings["seed"]:
        _keep_for_playground(net, trial.dataset, context)
    other = next((kind for kind in settings["test"] if kind != settings["train"]), settings["train"])
    stereo = _stereo(net, make_stereo_pair(load(other, context.data_root)), context)
    return {
        "stereo": stereo,
        "tests": kinds,
        "weights": num_weights(net),
        "train_seconds": round(seconds, 2),
        "click_ms": _click_ms(net, spec.size),
    }


def _train(net: nn.Module, train: Split, settings: Mapping[str, Any], context: TrialContext) -> float:
    images = normalize(train.images, *_statistics())
    batches = pair_batches(_groups(train), BATCH, settings["seed"])
    rng = np.random.default_rng(settings["seed"])

    def loss(_step: int) -> torch.Tensor:
        first, second, sign = next(batches)
        score = net(*_turn(images[first], images[second], rng))
        hinge: torch.Tensor = (1 - torch.from_numpy(sign) * score).relu().mean()
        return hinge

    return train_steps(net, settings["steps"], loss, context, lr=1e-3, weight_decay=WEIGHT_DECAY, share=0.9)


def _turn(first: torch.Tensor, second: torch.Tensor, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn both patches of every pair by the same quarters of a turn, or mirror both, as the paper does."""
    quarters, flip = int(rng.integers(4)), bool(rng.integers(2))
    a, b = (torch.rot90(images, quarters, (2, 3)) for images in (first, second))
    return (a.flip(3), b.flip(3)) if flip else (a, b)


def _statistics() -> tuple[float, float]:
    return DATASETS["patches"].mean, DATASETS["patches"].std


def _groups(split: Split) -> np.ndarray:
    """Return the indices of the views of each point, points × views."""
    views = int(split.roles["view"].max()) + 1
    return np.arange(len(split)).reshape(-1, views)


def _score(net: nn.Module, test: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score every pair (view 0, other view) of a point, and as many pairs of two points of one scene.

    Returns:
        Scores, whether the pairs match, and the indices of their images (pairs × 2).
    """
    groups = _groups(test)
    a = np.repeat(groups[:, 0], groups.shape[1] - 1)
    b = groups[:, 1:].ravel()
    pairs = np.concatenate([np.stack([a, b], 1), np.stack([a, np.roll(b, groups.shape[1] - 1)], 1)])
    images = normalize(test.images, *_statistics())
    scores = in_chunks(
        lambda first, second: net(images[first], images[second]), *torch.from_numpy(np.ascontiguousarray(pairs.T))
    )
    return scores, np.repeat([True, False], len(a)), pairs


def _summary(scores: np.ndarray, match: np.ndarray) -> Values:
    metrics = verify_pairs(-scores, match)
    false_positives, recall, _ = operating_points(-scores, match)
    at = np.linspace(0, 1, 51)
    return {
        "fpr95": metrics["fpr_at_95_recall"],
        "auc": metrics["roc_auc"],
        "roc": [round(float(value), 4) for value in np.interp(at, recall, false_positives)],
        "pairs": len(scores),
    }


def _keep_worst(
    context: TrialContext, images: np.ndarray, scores: np.ndarray, match: np.ndarray, pairs: np.ndarray
) -> None:
    """Keep the negatives with the highest scores and the positives with the lowest, for the pictures behind a bar."""
    false_accepts = np.flatnonzero(~match)[np.argsort(-scores[~match], kind="stable")[:WORST]]
    false_rejects = np.flatnonzero(match)[np.argsort(scores[match], kind="stable")[:WORST]]
    rows = np.concatenate([false_accepts, false_rejects])
    np.savez_compressed(context.folder / PICTURES, images=images[pairs[rows]], scores=scores[rows])


def _keep_for_playground(net: nn.Module, dataset: str, context: TrialContext) -> None:
    """Keep the score of every place of a scene with every place of its second view, as bytes, row after row."""
    pair = make_scene_pair(load(dataset, context.data_root))
    left, right = (normalize(pair.cut(scene), *_statistics()) for scene in (pair.left, pair.right))
    with torch.inference_mode():
        compare = compare_with(net, right)
        scores = torch.stack([compare(patch[None]) for patch in left]).numpy()
    low, high = scores.min(1, keepdims=True), scores.max(1, keepdims=True)
    levels = np.rint(255 * (scores - low) / np.maximum(high - low, 1e-9)).astype(np.uint8)
    np.savez_compressed(context.folder / PLAYGROUND, scores=levels)


def _stereo(net: nn.Module, pair: StereoPair, context: TrialContext) -> float:
    """Find the patch on the right of each place on the left, along its row; keep the map of disparities.

    Returns:
        The share of the places whose disparity is right to NEAR pixels.
    """
    rows = np.linspace(PATCH / 2, SIDE - 1 - PATCH / 2, PLACES_A_SIDE)
    columns = np.linspace(PATCH / 2 + DISPARITY, SIDE - 1 - PATCH / 2, PLACES_A_SIDE)
    places = np.stack([grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij")], 1)
    left, right = pair.cut(places)
    scores = in_chunks(
        net,
        normalize(np.repeat(left, right.shape[1], 0), *_statistics()),
        normalize(right.reshape(-1, PATCH, PATCH), *_statistics()),
    )
    found = scores.reshape(len(places), -1).argmax(1)
    true = pair.disparity[tuple(np.rint(places).astype(int).T)]
    maps = np.stack([true, found]).reshape(2, PLACES_A_SIDE, PLACES_A_SIDE)
    np.savez_compressed(context.folder / STEREO, disparity=maps.astype(np.float32))
    return float((np.abs(found - true) <= NEAR).mean())


def _click_ms(net: nn.Module, size: int) -> float:
    """Return the milliseconds to compare one patch with many places."""
    generator = torch.Generator().manual_seed(0)
    patch, places = (torch.randn(n, 1, size, size, generator=generator) for n in (1, PLACES))
    with torch.inference_mode():
        compare = compare_with(net, places)
        times = []
        for _ in range(5):
            start = time.process_time()
            compare(patch)
            times.append(time.process_time() - start)
    return round(1000 * float(np.median(times)), 3)


def compare_with(net: nn.Module, places: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function from one patch to its scores with all places; descriptors are computed once, if there are any.

    Args:
        net: A net of `build_patch_net`.
        places: Normalized patches, n × 1 × size × size.
    """
    if not isinstance(net, DecisionNet | DistanceScore):
        return lambda patch: net(patch.expand(len(places), -1, -1, -1), places)
    features = net.towers.b(places)
    return lambda patch: net.score(net.towers.a(patch).expand(len(places), -1), features)
