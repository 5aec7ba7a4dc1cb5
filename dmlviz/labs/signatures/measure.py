"""Writes signatures and forgeries by a model of the hand, and verifies them (the lab *signatures*)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image, ImageDraw
from scipy.special import ndtr
from torch import nn
from torch.nn.functional import cosine_similarity

from dmlviz.labs.pair_training import in_chunks, seeded, train_steps
from dmlviz.labs.signatures import KEPT, VARIANTS
from dmlviz.metrics.verification import operating_points, verify_pairs
from dmlviz.nets import build
from dmlviz.studies.trial import Trial, TrialContext

WRITERS = {"train": 160, "test": 80}
GENUINE, FORGED = 12, 8  # of each writer
POINTS = 96  # of a signature
SIDE, DIMENSIONS, BATCH, MARGIN = 28, 64, 64, 1.0
ACCEPTED = tuple(round(0.5 + 0.02 * i, 2) for i in range(26))
WORST, DRAWN, SHOWN = 6, (96, 192), 3
SLOW, FAST = np.array([38, 70, 190]), np.array([240, 130, 30])


class Hand(NamedTuple):
    """How a writer signs, for each stroke (n).

    Attributes:
        length: Its length.
        angle: Its first direction.
        turn: By how much it turns.
        pause: Seconds from the stroke before.
        mu: Logarithm of the seconds that half of it takes.
        sigma: How long its speed rises and falls.
        lifted: Whether the pen does not write.
        onward: By how much of its length the hand moves on with each stroke.
    """

    length: np.ndarray
    angle: np.ndarray
    turn: np.ndarray
    pause: np.ndarray
    mu: np.ndarray
    sigma: np.ndarray
    lifted: np.ndarray
    onward: float


class Signatures(NamedTuple):
    """Signatures of some writers, w × 20: the first 12 genuine, the others forged.

    Attributes:
        places: The pen at equal times, w × 20 × points × 2.
        down: Whether it writes, w × 20 × points.
        seconds: Time that a signature takes, w × 20.
    """

    places: np.ndarray
    down: np.ndarray
    seconds: np.ndarray


def new_hand(rng: np.random.Generator) -> Hand:
    """Return a writer: ten to eighteen strokes, down and up by turns, that mostly turn to the left, as in loops."""
    n = int(rng.integers(10, 19))
    up = np.arange(n) % 2 == 1
    return Hand(
        length=rng.lognormal(0, 0.35, n),
        angle=np.where(up, rng.uniform(0.2, 1.1, n), -rng.uniform(1.7, 2.6, n)),
        turn=rng.normal(1.2, 1.1, n),
        pause=rng.lognormal(np.log(0.11), 0.3, n),
        mu=rng.normal(-1.7, 0.12, n),
        sigma=rng.uniform(0.18, 0.35, n),
        lifted=rng.random(n) < 0.14,
        onward=float(rng.uniform(0.17, 0.38)),
    )


def sign(hand: Hand, forged: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Write a signature once: the speed of each stroke is a lognormal pulse, and strokes overlap.

    A forger copies the strokes with errors 1.6 times those of the writer, slowly, and in a rhythm of his own.

    Returns:
        Places of the pen at equal times (points × 2), whether it writes, and the seconds that it takes.

    Source:
        Plamondon: A kinematic theory of rapid human movements, Biological Cybernetics 72, 1995.
    """

    def about(spread: float) -> np.ndarray:
        return rng.normal(0, spread, len(hand.length))

    errors = 1.6 if forged else 1.0
    length = hand.length * np.exp(about(0.07 * errors))
    angle = hand.angle + about(0.07 * errors) + rng.normal(0, 0.05)
    turn = hand.turn + about(0.1 * errors)
    turn = np.where(np.abs(turn) < 0.05, 0.05, turn)
    slower = np.exp(rng.normal(0, 0.08)) * (rng.uniform(1.1, 1.8) if forged else 1)
    pause = hand.pause.mean() * np.exp(about(0.35)) if forged else hand.pause * np.exp(about(0.08))
    mu = hand.mu + about(0.12 if forged else 0.04) + np.log(slower)
    begin = np.cumsum(pause) * slower
    end = begin[-1] + np.exp(mu[-1] + 3 * hand.sigma[-1])
    since = np.linspace(begin[0], end, POINTS)[:, None] - begin
    done = ndtr((np.log(np.maximum(since, 1e-12)) - mu) / hand.sigma)  # share of each stroke, points × n
    x = (length / turn * (np.sin(angle + turn * done) - np.sin(angle)) + hand.onward * length * done).sum(1)
    y = (length / turn * (np.cos(angle) - np.cos(angle + turn * done))).sum(1)
    y -= np.polyval(np.polyfit(x, y, 1), x)  # on a line
    down = ~hand.lifted[(done * (1 - done)).argmax(1)]
    return np.stack([x, y], 1), down, float(end - begin[0])


def write(part: str) -> Signatures:
    """Return the signatures of the writers of a part, "train" or "test"; always the same."""
    rng = np.random.default_rng([0, WRITERS[part]])
    hands = [new_hand(rng) for _ in range(WRITERS[part])]
    made = [[sign(hand, i >= GENUINE, rng) for i in range(GENUINE + FORGED)] for hand in hands]
    return Signatures(*(np.array([[one[field] for one in own] for own in made]) for field in range(3)))


def seen(signatures: Signatures, sees: str) -> np.ndarray:
    """Return what a net is given of signatures, w × 20 × …: its channels over points, or a picture of 28 × 28."""
    w, n = signatures.seconds.shape
    places = signatures.places.reshape(w * n, POINTS, 2)
    down = signatures.down.reshape(w * n, POINTS)
    if sees == "picture":
        pictures = np.stack([draw(*one, (SIDE, SIDE)) for one in zip(places, down, strict=True)])
        return pictures.reshape(w, n, 1, SIDE, SIDE)
    step = np.linalg.norm(np.diff(places, axis=1, prepend=places[:, :1]), axis=2)
    channels = np.concatenate([places, down[..., None], step[..., None]], 2)
    if sees == "path":
        along = np.cumsum(step, axis=1)
        channels = np.stack([_resampled(one[:, :3], way) for one, way in zip(channels, along, strict=True)])
    else:
        channels[..., 3] /= step.mean(axis=1, keepdims=True)
    channels[..., :2] -= channels[..., :2].mean(axis=1, keepdims=True)
    channels[..., :2] /= channels[..., :2].std(axis=(1, 2), keepdims=True)
    return channels.transpose(0, 2, 1).reshape(w, n, -1, POINTS).astype(np.float32)


def _resampled(channels: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return channels (points × c) at equal distances of what lies along the line (points)."""
    at = np.linspace(0, along[-1], len(along))
    return np.stack([np.interp(at, along, channel) for channel in channels.T], 1)


def draw(places: np.ndarray, down: np.ndarray, shape: tuple[int, int], in_color: bool = False) -> np.ndarray:
    """Draw a signature: light on dark, in [0, 1]; or for people on white, uint8, blue where the pen is slow."""
    zoom = 2 if in_color else 4
    height, width = zoom * shape[0], zoom * shape[1]
    low, extent = places.min(0), np.ptp(places, axis=0)
    scale = min(0.9 * width / extent[0], 0.9 * height / extent[1])
    points = ((places - low - extent / 2) * (1, -1) * scale + (width / 2, height / 2)).tolist()
    speed = np.linalg.norm(np.diff(places, axis=0), axis=1)
    share = np.minimum(speed / (2 * speed.mean()), 1)[:, None]
    colors = (SLOW + share * (FAST - SLOW)).astype(int).tolist()
    image = Image.new("RGB" if in_color else "L", (width, height), "white" if in_color else 0)
    pen = ImageDraw.Draw(image)
    for a, b, writes, color in zip(points, points[1:], down, colors, strict=False):
        if writes:
            pen.line([*a, *b], fill=tuple(color) if in_color else 255, width=5 if in_color else 4)
    small = np.asarray(image.resize(shape[::-1], Image.Resampling.BOX))
    return small if in_color else small.astype(np.float32) / 255


def time_delay_net(channels: int) -> nn.Sequential:
    """Return a net whose layers look at a few neighboring points each, wherever these lie in time."""
    layers: list[nn.Module] = []
    for width in (16, 32, 32):
        layers += [nn.Conv1d(channels, width, 5, padding=2), nn.ReLU(), nn.AvgPool1d(2)]
        channels = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * POINTS // 8, DIMENSIONS))


def warped(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the dynamic time warping distance of series (m × c × t each): of every second point."""
    a, b = a[..., ::2], b[..., ::2]
    cost = np.sqrt(((a[..., :, None] - b[..., None, :]) ** 2).sum(1)).transpose(1, 2, 0)
    n = len(cost)
    for i in range(n):
        for j in range(n):
            before = [cost[k] for k in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if min(k) >= 0]
            if before:
                cost[i, j] += np.minimum.reduce(before)
    result: np.ndarray = cost[-1, -1]
    return result


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train a siamese net on pairs of signatures, or none, and verify those of writers that it never saw.

    Returns:
        Equal error rates with all of `KEPT` on file: `forged` of forgeries, `others` of other writers' signatures;
        `curve`, the share of forgeries that is refused by the share of genuine ones that is accepted; `kept`, the
        equal error rate by the number of signatures on file.
    """
    one, seed = VARIANTS[trial.settings["variant"]], trial.settings["seed"]
    test = write("test")
    given = seen(test, one.sees)
    if one.loss:
        given = _embedded(given, trial, context)
    distances = _to_references(given, warping=not one.loss and one.sees == "motion")
    count = distances.shape[2] // 3
    is_genuine = np.repeat([True, False], [count, count])[None].repeat(len(given), 0).ravel()
    rates, values = [], {}
    for kept in KEPT:
        mean = distances[:, :kept].mean(1)
        pairs = {"forged": mean[:, : 2 * count], "others": np.delete(mean, np.s_[count : 2 * count], axis=1)}
        values = {kind: verify_pairs(pair.ravel(), is_genuine)["eer"] for kind, pair in pairs.items()}
        rates.append([kept, values["forged"]])
    wrong, accepted, _ = operating_points(pairs["forged"].ravel(), is_genuine)
    first = [int(np.argmax(accepted >= share)) for share in ACCEPTED]
    if not seed:
        _keep(context, test, mean[:, : 2 * count], trial.settings["variant"] == "pixels")
    return {
        **values,
        "curve": [[share, float(1 - wrong[i])] for share, i in zip(ACCEPTED, first, strict=True)],
        "kept": rates,
    }


def _embedded(given: np.ndarray, trial: Trial, context: TrialContext) -> np.ndarray:
    """Train on the writers of the training part; return the embeddings (w × 20 × d, length 1) of what is given."""
    one, seed, steps = VARIANTS[trial.settings["variant"]], trial.settings["seed"], trial.settings["steps"]
    train = torch.from_numpy(seen(write("train"), one.sees))
    with seeded(seed):
        net: nn.Module = time_delay_net(train.shape[2])
        if one.sees == "picture":
            net = build("small", embedding_dim=DIMENSIONS, normalize=False, size=SIDE, seed=seed)
    rng = np.random.default_rng(seed)
    match = torch.arange(BATCH) < BATCH // 2

    def loss(_step: int) -> torch.Tensor:
        a, b, first, second = draw_pairs(len(train), one.forgeries, rng)
        similarity = cosine_similarity(net(train[a, first]), net(train[b, second]))
        if one.loss == "cosine":  # Bromley's targets: 1 for a pair of one writer, −1 for a forgery
            return (similarity - torch.where(match, 1.0, -1.0)).square().mean()
        distance = (2 - 2 * similarity + 1e-8).sqrt()
        return torch.where(match, distance, (MARGIN - distance).relu()).square().mean()

    train_steps(net, steps, loss, context, share=0.95)
    found = in_chunks(net, torch.from_numpy(given.reshape(-1, *given.shape[2:])))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.reshape(*given.shape[:2], -1)


def draw_pairs(writers: int, forgeries: bool, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return a batch: writers of the first and of the second signatures, and which of theirs it is.

    The first half of the pairs are of one writer, the next quarter a signature and its forgery, if there are to be
    any, and all others of two writers.
    """
    a = rng.integers(writers, size=BATCH)
    first, second = (rng.permuted(np.tile(np.arange(GENUINE), (BATCH, 1)), axis=1)[:, :2]).T.copy()
    b, quarter = a.copy(), slice(BATCH // 2, 3 * BATCH // 4)
    other = slice(quarter.stop if forgeries else quarter.start, BATCH)
    b[other] = (a[other] + rng.integers(1, writers, size=BATCH)[other]) % writers
    if forgeries:
        second[quarter] = rng.integers(GENUINE, GENUINE + FORGED, size=BATCH // 4)
    return a, b, first, second


def _to_references(given: np.ndarray, warping: bool) -> np.ndarray:
    """Return distances to each signature on file, writers × `KEPT[-1]` × 24: of genuine ones, forgeries, others'."""
    on_file, w = KEPT[-1], len(given)
    others = np.stack([given[(np.arange(w) + 1 + i) % w, on_file + i % FORGED] for i in range(FORGED)], 1)
    candidates = np.concatenate([given[:, on_file:], others], 1)
    shape = (w, on_file, candidates.shape[1], *given.shape[2:])
    a = np.broadcast_to(given[:, :on_file, None], shape)
    b = np.broadcast_to(candidates[:, None], shape)
    if warping:
        return warped(*(x.reshape(-1, *shape[3:]) for x in (a, b))).reshape(shape[:3])
    distances: np.ndarray = np.sqrt(((a - b) ** 2).reshape(*shape[:3], -1).sum(3))
    return distances


def _keep(context: TrialContext, test: Signatures, distances: np.ndarray, strip: bool) -> None:
    """Keep pictures of the worst mistakes (w × 16: genuine and forged candidates), and of some forgeries."""

    def picture(writer: int, number: int) -> np.ndarray:
        return draw(test.places[writer, number], test.down[writer, number], DRAWN, in_color=True)

    count, on_file = distances.shape[1] // 2, KEPT[-1]
    passes = np.argsort(distances[:, count:], axis=None)[:WORST]
    refused = np.argsort(-distances[:, :count], axis=None)[:WORST]
    worst = [(*divmod(int(i), count), True) for i in passes] + [(*divmod(int(i), count), False) for i in refused]
    chosen = [(writer, on_file + number + count * forged, forged) for writer, number, forged in worst]
    np.savez_compressed(
        context.folder / "worst.npz",
        references=np.stack([picture(writer, 0) for writer, _, _ in chosen]),
        candidates=np.stack([picture(writer, number) for writer, number, _ in chosen]),
        forged=np.array([forged for *_, forged in chosen]),
        times=np.array([[test.seconds[writer, 0], test.seconds[writer, number]] for writer, number, _ in chosen]),
    )
    if strip:
        np.savez_compressed(
            context.folder / "shown.npz",
            shown=np.stack([[picture(writer, number) for number in (0, GENUINE)] for writer in range(SHOWN)]),
            times=test.seconds[:SHOWN][:, [0, GENUINE]],
        )
