"""Spaces of embeddings: where what a net gives lies, distances, means and straight lines there."""

from typing import ClassVar, Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.ops.pairwise import distance_matrix, l2_normalize, poincare_distance, safe_norm, upcast_half

STEEPEST = 8.0  # √c times the length of a row: float32 has no numbers between its point and the rim much farther out


class Space(Protocol):
    """A space. Its points are given as rows of the Euclidean space, as a net makes them (n × d)."""

    title: ClassVar[str]

    def drawn(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return where the points are drawn."""
        ...

    def distances(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
        """Return the distance of each two points."""
        ...

    def mean(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
        """Return the point in the middle of all."""
        ...

    def line(self, start: Float[Tensor, " d"], end: Float[Tensor, " d"], steps: int) -> Float[Tensor, "steps d"]:
        """Return points at equal distances on the shortest way between two."""
        ...


class Plane:
    """The Euclidean space."""

    title: ClassVar = "plane"

    def drawn(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return where the points are drawn: at their coordinates."""
        return x

    def distances(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
        """Return the Euclidean distances."""
        return distance_matrix(x)

    def mean(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
        """Return the mean of the coordinates."""
        return x.mean(dim=0)

    def line(self, start: Float[Tensor, " d"], end: Float[Tensor, " d"], steps: int) -> Float[Tensor, "steps d"]:
        """Return points at equal distances on the straight line."""
        share = torch.linspace(0, 1, steps, dtype=start.dtype)[:, None]
        return start + share * (end - start)


class PoincareBall:
    """The Poincaré ball: the hyperbolic space, drawn within a sphere of the radius 1/√c.

    The exponential map at its center brings a row v to tanh(√c ‖v‖) v / (√c ‖v‖), at the distance 2 ‖v‖ from the center
    (Ganea, Bécigneul, Hofmann 2018). Distances, means and lines are computed from v, so nothing is lost at the rim,
    where points of the ball lie within rounding of each other.

    Args:
        curvature: c > 0.
        radius: Length to which rows are cut; None for the greatest that is told from the rim in float32.

    Raises:
        UserError: For a curvature or a radius that is not positive, or a radius beyond what float32 tells from the rim.

    Reference:
        Khrulkov, Mirvakhabova, Ustinova, Oseledets, Lempitsky: Hyperbolic image embeddings, CVPR 2020 (mean).

    Examples:
        >>> ball, rows = PoincareBall(), torch.tensor([[0.0, 0.0], [1.0, 0.0]])
        >>> ball.distances(rows)
        tensor([[0.0000, 2.0000],
                [2.0000, 0.0000]])
        >>> points = ball.drawn(rows)
        >>> points, ball.mean(rows)
        (tensor([[0.0000, 0.0000],
                [0.7616, 0.0000]]), tensor([0.5000, 0.0000]))
        >>> torch.allclose(ball.rows(points), ball.cut(rows))
        True
        >>> ball.line(rows[0], rows[1], 3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.0000],
                [1.0000, 0.0000]])
    """

    title: ClassVar = "Poincaré disk"

    def __init__(self, curvature: float = 1.0, radius: float | None = None) -> None:
        if not 0 < curvature < float("inf"):
            raise UserError(f"The curvature of a Poincaré ball is positive; got {curvature:g}.")
        self.root = curvature**0.5
        most = STEEPEST / self.root
        self.radius = most if radius is None else radius
        if not 0 < self.radius <= most:
            raise UserError(
                f"Rows are cut to a length above 0 and up to {most:.3g} with a curvature of {curvature:g}; got "
                f"{self.radius:g}: farther out float32 does not tell them from the rim."
            )
        self.curvature = curvature

    def cut(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return the rows, none longer than the radius.

        Args:
            x: Points, as rows of the Euclidean space.
        """
        return upcast_half(x) * (self.radius / safe_norm(x).clamp_min(self.radius))[:, None]

    def drawn(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return the points of the ball: the exponential map at its center.

        Args:
            x: Points, as rows of the Euclidean space.
        """
        x = self.cut(x)
        length = safe_norm(x)[:, None] * self.root
        near = length < 1e-4  # tanh(t)/t is 1 − t²/3 there
        return x * torch.where(near, 1 - length.square() / 3, length.tanh() / length.masked_fill(near, 1.0))

    def rows(self, points: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return the rows that are drawn at these points of the ball: the logarithmic map at its center.

        Args:
            points: Points of the ball.

        Raises:
            UserError: If a point is not inside of the ball.
        """
        length = safe_norm(points)[:, None] * self.root
        if not bool((length < 1).all()):
            raise UserError(f"Points of this Poincaré ball are nearer than {1 / self.root:.3g} to its center.")
        near = length < 1e-4
        return points * torch.where(near, 1 + length.square() / 3, length.atanh() / length.masked_fill(near, 1.0))

    def distances(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
        """Return the hyperbolic distances, as `dmlviz.ops.pairwise.poincare_distance`.

        Args:
            x: Points, as rows of the Euclidean space.
        """
        return poincare_distance(x, self.curvature, self.radius)

    def mean(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
        """Return the Einstein midpoint: the mean on the hyperboloid, whatever point is the center.

        Args:
            x: Points, as rows of the Euclidean space.
        """
        total = self._hyperboloid(x).sum(dim=0) / (self.root * self.distances(x).double()).cosh().sum().sqrt()
        return self._row(total[None]).to(x.dtype)[0]  # ⟨ΣX, ΣX⟩ = Σ cosh d

    def line(self, start: Float[Tensor, " d"], end: Float[Tensor, " d"], steps: int) -> Float[Tensor, "steps d"]:
        """Return points at equal distances on the geodesic, an arc that meets the rim at right angles.

        Args:
            start: Its first point, as a row of the Euclidean space.
            end: Its last.
            steps: Points, the ends included.
        """
        ends = torch.stack([start, end])
        whole = self.root * self.distances(ends)[0, 1].double()
        if not whole > 0:
            return self.cut(ends[:1]).expand(steps, -1)
        share = torch.linspace(0, 1, steps, dtype=torch.float64)[:, None]
        a, b = self._hyperboloid(ends)
        wide = (((1 - share) * whole).sinh() * a + (share * whole).sinh() * b) / whole.sinh()
        return self._row(wide).to(ends.dtype)

    def _hyperboloid(self, x: Tensor) -> Tensor:
        """Return the points on the hyperboloid without the first coordinate, which follows from the others."""
        x = self.cut(x).double()
        wide: Tensor = (2 * self.root * safe_norm(x)[:, None]).sinh() * l2_normalize(x)
        return wide

    def _row(self, wide: Tensor) -> Tensor:
        row: Tensor = l2_normalize(wide) * (safe_norm(wide).asinh() / (2 * self.root))[:, None]
        return row


def space(name: str) -> Space:
    """Return a space.

    Args:
        name: "euclidean", or "poincare" with the curvature 1.

    Raises:
        UserError: For another name.

    Examples:
        >>> import torch
        >>> space("poincare").distances(torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
        tensor([[0.0000, 2.0000],
                [2.0000, 0.0000]])
    """
    if name not in SPACES:
        raise UserError(f"A space is one of {', '.join(SPACES)}; got {name!r}.")
    return SPACES[name]


SPACES: dict[str, Space] = {"euclidean": Plane(), "poincare": PoincareBall()}
