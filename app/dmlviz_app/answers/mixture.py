"""What lies at an empty place of a map: the test images nearest there, mixed, and where that mixture lands."""

import re
from collections.abc import Sequence

import numpy as np

from dmlviz.data.columns import Column, column_numbers
from dmlviz.errors import UserError
from dmlviz.runs.run import LIVE, Run
from dmlviz.runs.run_columns import has_columns, run_columns
from dmlviz_app.answers.columns import columns_of
from dmlviz_app.answers.protocol import Mixture
from dmlviz_app.answers.query_answer import ink_of
from dmlviz_app.answers.sprites import image_tiles
from dmlviz_app.server.services import Services


def mixture(run: Run, view: str, near: str, services: Services) -> Mixture:
    """Mix test images, and place the mixture on a map.

    Args:
        run: A finished run.
        view: ID of a projection, or "live".
        near: The images and what each counts, as "ITEM:WEIGHT,ITEM:WEIGHT".
        services: Access to the pictures and the inference worker.

    Raises:
        UserError: Before the run's end, for a view or an image that there is not, or for other weights.
    """
    if not re.fullmatch(r"(\d{1,9}:[\d.e+-]{1,24}(,|$)){1,9}", near):
        raise UserError(f"A mixture is ITEM:WEIGHT,ITEM:WEIGHT; got {near[:60]!r}.")
    pairs = [one.split(":") for one in near.rstrip(",").split(",")]
    try:
        weights = [float(weight) for _, weight in pairs]
    except ValueError:
        raise UserError(f"A weight is a number; got {near[:60]!r}.") from None
    items = [int(item) for item, _ in pairs]
    shares = mixture_shares(run, items, weights)
    if view != LIVE:
        run.projection(view)  # raises for one that is not there
    try:
        picture = mix(image_tiles(run.config.dataset, services.data).images, items, shares)
    except UserError:  # the pictures are not on disk
        picture = None
    by_net = picture is not None and (run.path / "weights.safetensors").exists()
    if picture is not None and by_net:
        places = services.jobs.embed(run.id, picture[None], views=[view])["places"]
    else:
        question = {"ask": "mean", "run": str(run.path.resolve()), "items": items, "shares": shares.tolist()}
        places = services.scheduler.inference_worker.call(question | {"views": [view]})["places"]
    return {
        "picture": None if picture is None else ink_of(picture),
        "place": places[view][0] if view in places else None,
        "by_net": by_net,
        "values": [] if picture is not None else _mixed_values(run, items, shares, services),
    }


def _mixed_values(run: Run, items: list[int], shares: np.ndarray, services: Services) -> list[tuple[str, str]]:
    """Return in words the mean of each column of numbers or dates, and the category with the largest share."""
    table = run_columns(run, services.data) if has_columns(run, services.data) else None
    if table is None:
        return []
    rows = table.take(items)
    columns = [column for column in columns_of(run, services.data) if column.kind != "text"]
    mixed = [(column.name, _mean(column, column_numbers(rows, column), shares)) for column in columns]
    return [(name, words) for name, words in mixed if words]


def _mean(column: Column, numbers: np.ndarray, shares: np.ndarray) -> str:
    known = np.isfinite(numbers)
    if not known.any():
        return ""
    numbers, shares = numbers[known], shares[known] / shares[known].sum()
    if column.kind == "category":
        of_each = np.bincount(numbers.astype(int), shares)
        return f"{column.values[of_each.argmax()].removesuffix(' 00:00:00.000000')} ({100 * of_each.max():.0f}%)"
    mean = float(numbers @ shares)
    return f"{mean:.4g}" if column.start is None else f"{column.date_of(mean):%Y-%m-%d}"


MOST = 5  # images that are mixed


def mixture_shares(run: Run, items: Sequence[int], weights: Sequence[float]) -> np.ndarray:
    """Return the share of each test image in a mixture, 1 in all.

    Args:
        run: A finished run.
        items: Up to five different test images.
        weights: What each of them counts: positive numbers.

    Raises:
        UserError: Before the run's end, or for other items or weights.
    """
    if run.embeddings is None or run.net_step is not None:
        raise UserError("What lies at a place is answered when the training has ended.")
    last = len(run.embeddings) - 1
    if not 1 <= len(set(items)) == len(items) <= MOST or not all(0 <= item <= last for item in items):
        raise UserError(f"One to {MOST} different test images from 0 to {last:,} are mixed; got {[*items]}.")
    shares = np.asarray(weights, np.float64)
    if len(shares) != len(items) or not (np.isfinite(shares).all() and (shares > 0).all()):
        raise UserError(f"Each of the {len(items)} images has a positive weight; got {[*weights]}.")
    return np.asarray(shares / shares.sum())


def mix(images: np.ndarray, items: Sequence[int], shares: np.ndarray) -> np.ndarray:
    """Return the mean of some images (uint8, n × h × w or n × h × w × 3), each counting by its share."""
    return np.rint(np.tensordot(shares, images[[*items]], 1)).astype(np.uint8)
