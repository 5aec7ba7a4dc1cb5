"""Points of a Poincaré ball as NumPy arrays: they carry their curvature to whatever measures them. No torch."""

from typing import Any

import numpy as np


class BallPoints(np.ndarray):
    """Points (n × d) of the Poincaré ball with the radius 1/√c; `in_ball` makes them.

    Whatever in this package measures distances looks at the array: between points of a ball they are hyperbolic. Rows,
    copies and other types stay points; what arithmetic makes of them is plain numbers.
    """

    curvature: float

    def __array_finalize__(self, made_from: Any) -> None:
        self.curvature = getattr(made_from, "curvature", 0.0)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with the coordinates."""
        if "out" in options:
            options["out"] = tuple(_plain(one) for one in options["out"])
        return getattr(ufunc, method)(*map(_plain, inputs), **options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """Join points to points; any other function of NumPy takes the coordinates."""
        result = super().__array_function__(function, types, arguments, options)
        if function is np.concatenate:
            return in_ball(result, curvature_of(*arguments[0]))
        return result

    def __reduce__(self) -> Any:
        return in_ball, (np.array(self), self.curvature)


def _plain(values: Any) -> Any:
    return values.view(np.ndarray) if isinstance(values, BallPoints) else values


def in_ball(points: np.ndarray, curvature: float) -> np.ndarray:
    """Return rows as points of the Poincaré ball, whose distances metrics, neighbors and maps then take.

    Args:
        points: Rows (n × d) within the ball.
        curvature: Its curvature; 0 leaves the rows as they are.

    Examples:
        >>> from dmlviz.ops.nearest_neighbors import NearestNeighbors
        >>> points = in_ball(np.array([[0.0, 0.0], [0.5, 0.0]]), curvature=1.0)
        >>> NearestNeighbors(points).others(1)[0].round(3)
        array([[1.099],
               [1.099]], dtype=float32)
    """
    if not curvature:
        return points
    placed: BallPoints = np.asarray(points).view(BallPoints)
    placed.curvature = curvature
    return placed


def curvature_of(*arrays: Any) -> float:
    """Return the curvature of the ball that arrays lie in; 0 for plain ones."""
    return max((one.curvature for one in arrays if isinstance(one, BallPoints)), default=0.0)


def room(points: np.ndarray, curvature: float) -> np.ndarray:
    """Return 1 − c‖x‖² of each point (n, float64): 1 at the center, 0 at the rim, which no point reaches."""
    left = 1 - curvature * np.square(points, dtype=np.float64).sum(axis=1)
    return np.asarray(np.maximum(left, 1e-12))


def from_shares(shares: np.ndarray, curvature: float) -> np.ndarray:
    """Return squared hyperbolic distances from ‖x − y‖² / (room(x) room(y)), which ranks as they do.

    sinh²(√c d/2) = c ‖x − y‖² / ((1 − c‖x‖²)(1 − c‖y‖²)).
    """
    distances = np.arcsinh(np.sqrt(curvature * np.maximum(shares, 0))) * (2 / curvature**0.5)
    squared: np.ndarray = np.square(distances)
    return squared


def lengths(points: np.ndarray) -> np.ndarray:
    """Return how far each point (n × d) is from 0, by the distance that points have."""
    norms: np.ndarray = np.linalg.norm(np.asarray(points, np.float64), axis=1)
    if not (root := curvature_of(points) ** 0.5):
        return norms
    return np.asarray(2 / root * np.arctanh(np.minimum(root * norms, 1 - 1e-12)))


def hyperboloid(points: np.ndarray) -> np.ndarray:
    """Return points of a ball on the hyperboloid (n × (d + 1), the time first), where sums of them have a direction."""
    c = curvature_of(points)
    x = np.asarray(points, np.float64)
    left = room(x, c)[:, None]
    return np.concatenate([(2 - left) / left, 2 * c**0.5 * x / left], axis=1)


def from_sums(sums: np.ndarray, curvature: float) -> np.ndarray:
    """Return the midpoints (n × d, points of the ball) that sums of points on the hyperboloid point to.

    They are the Einstein midpoints: means, whichever point is the center.
    """
    size = np.sqrt(np.maximum(np.square(sums[:, :1]) - np.square(sums[:, 1:]).sum(axis=1, keepdims=True), 1e-300))
    return in_ball(sums[:, 1:] / ((sums[:, :1] + size) * curvature**0.5), curvature)
