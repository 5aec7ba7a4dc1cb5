"""Embedding geometry: mean distances, effective rank, mean norm and collapse."""

import numpy as np

from dmlviz.metrics.inputs import LabeledEmbeddings

COLLAPSE_THRESHOLD = 0.01
MIN_RANK_ON_LINE = 1.1  # effective rank at which the second singular value is about a fiftieth of the first


class DistanceMeans:
    """Accumulates mean Euclidean distances of the scored points within and between classes, chunk by chunk."""

    def __init__(self, points: LabeledEmbeddings) -> None:
        self.rows, self.counts = points.scored_rows, points.counts
        self.row_classes, self.classes = points.classes[self.rows], points.classes
        self.within, self.all = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        self.order = np.argsort(self.classes, kind="stable")
        self.starts = np.cumsum(self.counts) - self.counts

    def visit(self, rows: slice, squared: np.ndarray) -> None:
        """Add a chunk of squared distances (rows × n), `rows` being a slice of the scored points.

        Sets each point's distance to itself to 0 in `squared`.
        """
        squared[np.arange(len(squared)), self.rows[rows]] = 0
        distances = np.sqrt(squared)
        self.all[rows] = distances.sum(axis=1)
        for name in np.unique(self.row_classes[rows]):
            members = self.order[self.starts[name] : self.starts[name] + self.counts[name]]
            of_class = np.flatnonzero(self.row_classes[rows] == name)
            self.within[rows.start + of_class] = distances[np.ix_(of_class, members)].sum(axis=1)

    def scores(self, unit: float) -> dict[str, float]:
        """Return the mean distance of same-class and of different-class pairs; NaN without such pairs."""
        positive = int((self.counts[self.row_classes] - 1).sum())
        negative = len(self.rows) * (len(self.classes) - 1) - positive
        within, between = self.within.sum(), self.all.sum() - self.within.sum()
        return {
            "mean_positive_distance": float(within / positive * unit) if positive else float("nan"),
            "mean_negative_distance": float(between / negative * unit) if negative else float("nan"),
        }


def scores(points: np.ndarray, classes: int = 1) -> dict[str, float]:
    """Return effective rank, mean norm and the collapse flag (1 or 0) of finite points.

    Collapsed means: the points' spread about their center is at most 1% of their root mean square norm; or three
    classes or more lie on one line although there are more dimensions.

    Args:
        points: Points (n × d).
        classes: Number of classes.
    """
    wide = points.astype(np.float64)
    size = np.abs(wide).max()
    wide /= size or 1.0
    centered = wide - wide.mean(axis=0)
    centered[:, (wide == wide[0]).all(axis=0)] = 0
    spread = np.sqrt((centered**2).sum(axis=1).mean())
    norms = np.linalg.norm(wide, axis=1)
    in_a_point = spread <= COLLAPSE_THRESHOLD * np.sqrt((norms**2).mean())
    rank = effective_rank(centered)
    on_a_line = points.shape[1] > 1 and classes > 2 and rank < MIN_RANK_ON_LINE
    return {
        "effective_rank": rank,
        "mean_norm": float(norms.mean() * size),
        "collapsed": float(in_a_point or on_a_line),
    }


def effective_rank(centered: np.ndarray) -> float:
    """Return the effective rank of centered points (n × d): 0 if all are equal, up to d.

    It is the exponential of the entropy of the singular values, normalized to sum 1.

    Reference:
        Roy and Vetterli 2007.

    Examples:
        >>> round(effective_rank(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])), 6)
        2.0
    """
    short = centered.T @ centered if centered.shape[0] >= centered.shape[1] else centered @ centered.T
    values = np.linalg.eigvalsh(short)
    values = np.sqrt(values[values > values.max(initial=0) * 1e-12]) if values.max(initial=0) > 0 else values[:0]
    if not len(values):
        return 0.0
    shares = values / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))
