"""Open-set identification: detection and identification rate against false alarms."""

from dataclasses import dataclass

import numpy as np

from dmlviz.errors import UserError


@dataclass(frozen=True)
class Identification:
    """The answers to all probes, at every threshold.

    Attributes:
        thresholds: Distances (k, ascending, the first is −infinity): a probe farther from everyone is "unknown".
        false_alarms: Share of the unknown probes that got a name.
        identified: Share of the known probes that got their own name (detection and identification rate).
        closed_accuracy: Share of the known probes that get their own name without a threshold.
    """

    thresholds: np.ndarray
    false_alarms: np.ndarray
    identified: np.ndarray
    closed_accuracy: float

    def at(self, false_alarms: float) -> float:
        """Return the highest rate of identification with no more false alarms than a share."""
        return float(self.identified[np.searchsorted(self.false_alarms, false_alarms, side="right") - 1])

    def threshold_at(self, false_alarms: float) -> float:
        """Return the threshold that belongs to `at`."""
        return float(self.thresholds[np.searchsorted(self.false_alarms, false_alarms, side="right") - 1])


def identification(distances: np.ndarray, right: np.ndarray, known: np.ndarray) -> Identification:
    """Answer probes with the name of the nearest identity, or "unknown" where that is farther than a threshold.

    Args:
        distances: Distance of each probe to the nearest identity of the gallery (n).
        right: Whether that identity is the probe's own (n); not looked at where a probe is unknown.
        known: Whether the probe's identity is in the gallery (n).

    Raises:
        UserError: Unless there are known and unknown probes.

    Reference:
        Phillips, Grother, Micheals: Handbook of Face Recognition, chapter 14, 2011.

    Example:
        >>> answers = identification(np.array([1.0, 2, 3, 4]), np.array([1, 0, 1, 0]) > 0, np.array([1, 1, 1, 0]) > 0)
        >>> round(answers.at(0.0), 3), round(answers.closed_accuracy, 3)
        (0.667, 0.667)
    """
    if known.all() or not known.any():
        raise UserError("Identification needs known and unknown probes; got only one kind: leave some identities out.")
    order = np.argsort(distances, kind="stable")
    ordered = distances[order]
    ends = np.flatnonzero(np.concatenate([ordered[1:] > ordered[:-1], [True]]))
    alarms, named = np.cumsum(~known[order])[ends], np.cumsum((right & known)[order])[ends]
    return Identification(
        thresholds=np.concatenate([[-np.inf], ordered[ends]]),
        false_alarms=np.concatenate([[0.0], alarms / np.count_nonzero(~known)]),
        identified=np.concatenate([[0.0], named / np.count_nonzero(known)]),
        closed_accuracy=float(np.mean(right[known])),
    )
