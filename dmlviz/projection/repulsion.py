"""t-SNE's repulsive forces between all points: exact, or interpolated on a grid in time linear in n."""

from functools import lru_cache
from itertools import product
from math import ceil, log

import torch
from jaxtyping import Float
from torch import Tensor

EXACT_UP_TO = {2: 500, 3: 3000}  # points; up to here, all pairs are faster than the grid
_PADDING = 1.5
_GROWTH = 1.08  # from one size of the grid to the next
_NODES = {2: 2048, 3: 160}
_MIN_CELLS, _MIN_SPACING = 16, 0.1


def exact_repulsion(y: Float[Tensor, "dims n"]) -> tuple[Tensor, Float[Tensor, "dims n"]]:
    """Return Σ_{i≠j} 1/(1+|y_i−y_j|²), and for every i Σ_j (y_i − y_j)/(1+|y_i−y_j|²)², from all pairs."""
    n = y.shape[1]
    total = y.new_zeros((), dtype=torch.float64)
    push = torch.empty_like(y)
    for start in range(0, n, max(1, 100_000 // n)):
        rows = slice(start, start + max(1, 100_000 // n))
        differences = y[:, rows, None] - y[:, None]
        kernel = differences.square().sum(0).add_(1).reciprocal_()
        total += kernel.sum(dtype=torch.float64)
        push[:, rows] = (differences * kernel.square()).sum(2)
    return total - n, push


class FFTRepulsion:
    """The sums of `exact_repulsion` from a potential φ(y) = Σ_j 1/(1+|y−y_j|²) on a grid; the repulsion is −∇φ/2.

    Points are spread over the grid by cubic B-splines and convolved with the kernel by FFT; φ and its gradient are
    interpolated by the same splines, whose blur is divided out (particle mesh). Time grows with the area of the map.

    Args:
        dims: 2 or 3.
        spacing: Grid spacing. The repulsion is 4% off at 0.5, 0.6% at 0.3. Small maps get a narrower spacing, maps
            too large for the grid a wider one.

    Reference:
        Hockney and Eastwood (particle mesh); for t-SNE: Pezzotti et al. 2018, Linderman et al. 2019.
    """

    def __init__(self, dims: int, spacing: float) -> None:
        self._dims, self._target_spacing = dims, spacing

    def __call__(self, y: Float[Tensor, "dims n"]) -> tuple[Tensor, Float[Tensor, "dims n"]]:
        """Return the sum over all pairs, and the repulsion of every point (dims × n)."""
        low, high = torch.aminmax(y, dim=1)
        spacing, nodes_per_axis = grid(float((high - low).max()), self._target_spacing, self._dims)
        kernel_fft, self_term = kernel_spectrum(nodes_per_axis, spacing, self._dims, y.device)
        at = (y - low[:, None]) / spacing + 1
        cell = at.floor()
        weights, slopes = _spline(at - cell)
        nodes = _around(cell.long() - 1, nodes_per_axis)
        spread = torch.ones_like(at[0])
        for axis in range(self._dims):
            spread = spread[..., None, :] * weights[:, axis]
        shape = (nodes_per_axis,) * self._dims
        density = at.new_zeros(nodes_per_axis**self._dims).scatter_add_(0, nodes.view(-1), spread.reshape(-1))
        spectrum = torch.fft.rfftn(density.view(shape)).mul_(kernel_fft)
        potential = torch.fft.irfftn(spectrum, s=shape).view(-1)
        values = potential.index_select(0, nodes.view(-1)).view(spread.shape)
        gradient: list[Tensor] = []
        for axis in range(self._dims):
            weight, slope = (w[:, axis].view(4, *(1,) * (self._dims - 1 - axis), -1) for w in (weights, slopes))
            gradient = [(g * weight).sum(0) for g in gradient] + [(values * slope).sum(0)]
            values = (values * weight).sum(0)
        total = values.sum(dtype=torch.float64) - y.shape[1] * self_term
        push = torch.stack(gradient).mul_(-0.5 / spacing)
        return total, push - push.mean(1, keepdim=True)  # forces sum to zero


def grid(extent: float, spacing: float, dims: int) -> tuple[float, int]:
    """Return the spacing and the nodes per axis of the grid for a map, a function of its extent alone.

    Args:
        extent: Largest size of the map along an axis.
        spacing: Wanted spacing.
        dims: 2 or 3.
    """
    while extent < _MIN_CELLS * spacing and spacing > _MIN_SPACING:
        spacing /= 2
    while (extent / spacing + 4) * _PADDING > 0.9 * _NODES[dims]:
        spacing *= 1.25
    needed = (extent / spacing + 4) * _PADDING
    return spacing, _fast_size(ceil(_GROWTH ** ceil(log(needed, _GROWTH))))


@lru_cache(maxsize=4)
def kernel_spectrum(nodes: int, spacing: float, dims: int, device: torch.device | str = "cpu") -> tuple[Tensor, float]:
    """Return the kernel's spectrum on a grid, and a point's potential at its own place.

    The spectrum is divided by that of the splines twice: for spreading and for interpolation.
    """
    kernel_fft = _kernel_fft(nodes, spacing, dims, device)
    return kernel_fft, _self_interaction(kernel_fft, nodes, dims)


def _around(corner: Tensor, nodes: int) -> Tensor:
    """Return the flat indices of the nodes around points, from those of their first ones along each axis."""
    offsets = torch.tensor(
        [sum(offset * nodes**power for offset, power in zip(place, reversed(range(len(corner))), strict=True))
         for place in product(range(4), repeat=len(corner))],
        device=corner.device,
    )  # fmt: skip
    flat = corner[0]
    for line in corner[1:]:
        flat = flat * nodes + line
    return offsets[:, None] + flat


def _spline(t: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights and derivatives of the four nodes around t, which is in [0, 1) between the middle two."""
    u = 1 - t
    weights = (u**3 / 6, (3 * t - 6) * t * t / 6 + 2 / 3, (3 * u - 6) * u * u / 6 + 2 / 3, t**3 / 6)
    slopes = (-u * u / 2, (1.5 * t - 2) * t, (2 - 1.5 * u) * u, t * t / 2)
    return torch.stack(weights), torch.stack(slopes)


def _kernel_fft(nodes: int, spacing: float, dims: int, device: torch.device | str) -> Tensor:
    step = torch.arange(nodes, device=device)
    squared = (torch.minimum(step, nodes - step) * spacing) ** 2
    blur = (2 + torch.cos(2 * torch.pi * step / nodes)) / 3
    grid_squared, grid_blur = squared, blur
    for axis in range(1, dims):
        last = axis == dims - 1
        grid_squared = grid_squared[..., None] + squared
        grid_blur = grid_blur[..., None] * (blur[: nodes // 2 + 1] if last else blur)
    spectrum: Tensor = torch.fft.rfftn(1 / (1 + grid_squared)).real
    return spectrum / grid_blur**2


def _self_interaction(kernel_fft: Tensor, nodes: int, dims: int) -> float:
    """Return the grid's value of a point's kernel with itself (exactly 1), averaged over all positions in a cell."""
    kernel = torch.fft.irfftn(kernel_fft, s=(nodes,) * dims)
    overlap = torch.tensor([1, 120, 1191, 2416, 1191, 120, 1], device=kernel.device) / 5040  # of two cubic splines
    for _ in range(dims):
        kernel = kernel.roll(3, 0)[:7].movedim(0, -1) @ overlap
    return float(kernel)


def _fast_size(at_least: int) -> int:
    """Return the next even number whose prime factors are 2, 3 and 5, a fast FFT size."""
    size = at_least
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1 and size % 2 == 0:
            return size
        size += 1
