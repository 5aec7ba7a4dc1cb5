"""What an image at an empty place of a map would look like: a mixture of the images nearest there. No torch."""

from collections.abc import Sequence

import numpy as np

from dmlviz.errors import UserError
from dmlviz.runs.run import Run

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
