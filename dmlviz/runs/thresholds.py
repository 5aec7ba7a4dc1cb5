"""The distance up to which two images are called the same, for a rate of false accepts that one chooses."""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from dmlviz.data import data_root, load
from dmlviz.data.corrections import as_trained
from dmlviz.errors import UserError
from dmlviz.ops.squared_distances import rescale, squared_differences
from dmlviz.runs.gallery import Holders
from dmlviz.runs.query_confidence import Confidence
from dmlviz.runs.run import Run
from dmlviz.storage.files import atomic_write, ensure_dir
from dmlviz.storage.run_schema.validation import read
from dmlviz.storage.text import counted
from dmlviz.training.validation_split import split_training_images

FILE = "thresholds.json"
RATE = 0.01
MAX_IMAGES = 2000  # 2 million pairs
DRAWS = 200  # of the bootstrap
FEWEST_PAIRS = 20  # accepted, on which a threshold rests, else it is said
_MAX_DRAWN = 50_000  # pairs of a draw


@dataclass(frozen=True)
class Threshold:
    """A threshold with what it costs.

    Attributes:
        value: Two images at most this far apart, by the distance of their space, are called the same.
        interval: 95% of the thresholds that other classes would have given: a bootstrap over the classes.
        pairs: Pairs of different classes that it rests on.
        false_accept_rate: The share of them that it calls the same.
        false_reject_rate: The share of pairs of one class that it calls different.
        basis: The images, in words.
        rate: The false-accept rate that was asked for.
    """

    value: float
    interval: tuple[float, float]
    pairs: int
    false_accept_rate: float
    false_reject_rate: float
    basis: str
    rate: float

    @property
    def doubt(self) -> str:
        """What to say after "It" where few pairs are accepted; empty otherwise."""
        accepted = round(self.false_accept_rate * self.pairs)
        return f"rests on {counted(accepted, 'accepted pair')}: a guess." if accepted < FEWEST_PAIRS else ""


def threshold(run: Run, false_accept_rate: float = RATE, root: Path | None = None) -> Threshold:
    """Find the threshold of a run on its validation images, which its net was not trained on.

    If at least two classes were held out of the training, it is found on these: they are as new to the net as what it
    will be asked.

    Args:
        run: A finished run with a net.
        false_accept_rate: Share of pairs of different classes that may be called the same, between 0 and 1.
        root: The data folder; None for the default one.

    Returns:
        The largest threshold that keeps to the rate.

    Raises:
        UserError: If there are no validation images, too few pairs to tell so small a rate, or too many of them are
            equally near, as in a collapsed space.

    Examples:
        `threshold(Runs(folder).find("latest"), 0.001).value`
    """
    if not 0 < false_accept_rate < 1:
        raise UserError(f"A false-accept rate lies between 0 and 1, as .01 for 1%; got {false_accept_rate:g}.")
    return threshold_of(*validation_embeddings(run, root), false_accept_rate)


def threshold_of(embeddings: np.ndarray, labels: np.ndarray, basis: str, false_accept_rate: float) -> Threshold:
    """Find the threshold on embeddings (n × d) with class IDs (n); `basis` says in words which. As `threshold`."""
    points, _, unit = rescale(embeddings, embeddings)
    first, second = np.triu_indices(len(labels), 1)
    distances = np.sqrt(squared_differences(points, points, first, second)) * unit
    same = labels[first] == labels[second]
    order = np.flatnonzero(~same)[np.argsort(distances[~same], kind="stable")]
    accepted, m = int(false_accept_rate * len(order)), len(order)
    if not accepted:
        raise UserError(
            f"A false-accept rate of {false_accept_rate:.3g} is less than one of the {m:,} pairs of different classes "
            f"that {basis} make: {1.05 / max(m, 1):.2g} or more has a threshold; else hold more images out of training."
        )
    others = distances[order]
    value = float(others[accepted - 1])
    if others[accepted] == value:  # more are as far, so that the rate would be exceeded: the next smaller distance
        nearer = others[others < value]
        if not len(nearer):
            share = float((others == value).mean())
            raise UserError(
                f"No threshold keeps to a false-accept rate of {false_accept_rate:.3g}: {share:.0%} of the pairs of "
                f"different classes are {value:.3g} apart, and none is nearer. Another run or rate may have one."
            )
        value = float(nearer[-1])
    kept = order[:: max(1, m // _MAX_DRAWN)]
    return Threshold(
        value,
        _interval(distances[kept], labels[first[kept]], labels[second[kept]], false_accept_rate),
        m,
        float((others <= value).mean()),
        float((distances[same] > value).mean()) if same.any() else float("nan"),
        basis,
        false_accept_rate,
    )


def keep_threshold(run: Run, found: Threshold, holder: str = "") -> None:
    """Keep a threshold with a run: answers to its holder (empty for the only person) rest on it from then on."""
    path = _path(run, holder)
    ensure_dir(path.parent)
    with atomic_write(path) as file:
        file.write(as_json(found, run.config.ball))


def kept_threshold(run: Run, holders: Holders = None) -> Threshold | None:
    """Return the threshold that the first of `holders` with one keeps with a run; None for none.

    Without `holders`, that of the only person. Raises DamagedFileError.
    """
    for path in (_path(run, holder) for holder in holders or [""]):
        if path.exists():
            return read(_THRESHOLD, path)
    return None


def forget_threshold(run: Run, holders: Holders = None) -> None:
    """Let answers rest on no threshold of these `holders` again."""
    for holder in holders or [""]:
        _path(run, holder).unlink(missing_ok=True)


def _path(run: Run, holder: str) -> Path:
    name = sha256(holder.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return run.path / (f"thresholds/{name}.json" if holder else FILE)


def as_json(found: Threshold, curvature: float = 0.0) -> bytes:
    """Return a threshold as a file for other programs; its distance is that of embeddings as the net gives them."""
    distance = {"distance": "poincare", "curvature": curvature} if curvature else {"distance": "euclidean"}
    return json.dumps({**distance, **asdict(found)}, indent=1).encode()


def judged(confidence: Confidence, distance: float, limit: Threshold | None) -> Confidence:
    """Return how sure an answer is, by a threshold too: unlike all, if its nearest neighbor is farther.

    Args:
        confidence: How sure it is by its neighbors.
        distance: The distance of the nearest.
        limit: The threshold; None for none.
    """
    if limit is None or distance <= limit.value:
        return confidence
    return {
        **confidence,
        "level": "unlike",
        "title": "Unknown",
        "sentence": f"The nearest neighbor is {distance:.3g} away, farther than the threshold of {limit.value:.3g} "
        f"({100 * limit.rate:.3g}% false accepts).",
    }


_THRESHOLD: TypeAdapter[Threshold] = TypeAdapter(Threshold)


def _interval(distances: np.ndarray, a: np.ndarray, b: np.ndarray, rate: float) -> tuple[float, float]:
    """Return the 95% interval of the threshold over draws of classes; distances of pairs of classes, ascending."""
    rng, classes = np.random.default_rng(0), np.unique(np.concatenate([a, b]))
    a, b = np.searchsorted(classes, a), np.searchsorted(classes, b)
    values = []
    for _ in range(DRAWS):
        times = np.bincount(rng.integers(len(classes), size=len(classes)), minlength=len(classes))
        weights = np.cumsum(times[a] * times[b])
        if weights[-1]:  # else one class alone was drawn
            values.append(distances[np.searchsorted(weights, rate * weights[-1])])
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def validation_embeddings(run: Run, root: Path | None = None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return embeddings and labels of images that the net was not trained on, and which they are, in words.

    Raises:
        UserError: As `threshold`.
    """
    from dmlviz.runs.embed import CHUNK, embed  # loads torch

    if run.recorded or not (run.path / "weights.safetensors").exists():
        raise UserError(f"{run.title} has no net, which a threshold is found with: choose a finished training.")
    data = as_trained(load(run.config.dataset, root), run.config, data_root(root)).train
    rows = split_training_images(run.config, data.labels).validation
    unseen = rows[np.isin(data.labels[rows], run.config.held_out_classes)]
    is_open = len(np.unique(data.labels[unseen])) > 1
    rows = unseen if is_open else np.setdiff1d(rows, unseen)
    rows = rows[data.labels[rows] >= 0]
    if len(np.unique(data.labels[rows])) < 2:
        raise UserError(
            f"A threshold is found on validation images of at least two classes; {run.title} held none out: train with "
            "a validation share, and with at least two more images of a class than a batch takes."
        )
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_IMAGES)).astype(np.int64))]
    parts = [embed(run, data.images[rows[at : at + CHUNK]]) for at in range(0, len(rows), CHUNK)]
    embeddings = np.concatenate(parts)
    if not np.isfinite(embeddings).all():
        raise UserError(f"The net of {run.title} gives NaN or infinity: its training diverged. Choose another run.")
    what = run.config.dataset_spec.said("validation images" + " of the held-out classes" * is_open)
    return embeddings, data.labels[rows], f"{len(rows):,} {what}"
