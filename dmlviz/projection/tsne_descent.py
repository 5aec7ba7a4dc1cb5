"""The descent of t-SNE: compiled on the processor in the plane, by torch on a GPU and in space."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Protocol

import numpy as np
import scipy.fft
import torch
from scipy.sparse import csr_matrix, triu
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from dmlviz.ops.compiled import compiled
from dmlviz.projection.attraction import Attraction
from dmlviz.projection.repulsion import EXACT_UP_TO, FFTRepulsion, exact_repulsion, grid, kernel_spectrum
from dmlviz.projection.threads import Helpers

COARSE, FINE = 0.5, 0.3  # spacings of the grid
_MOMENTUM = 0.8
_MAX_STEP = 5.0
_LEAST = 1e-9  # of the sum of a grid too coarse for a map that has drifted apart
_CHUNKS = 32  # of the points, for threads to share


class Descent(Protocol):
    """Gradient descent with momentum and per-coordinate gains, which grow while the direction stays the same."""

    @property
    def momentum(self) -> np.ndarray:
        """Velocity and gains (2 × n × dims)."""

    @property
    def positions(self) -> np.ndarray:
        """A copy of the positions, n × dims."""

    def restart(self) -> None:
        """Forget the momentum."""

    def step(self, spacing: float, exaggeration: float) -> None:
        """Move every point once, with a grid of this spacing."""

    def divergence(self, spacing: float) -> float:
        """Return KL(P ‖ Q)."""


def descent(
    start: np.ndarray, momentum: np.ndarray | None, pruned: csr_matrix, whole: csr_matrix, device: str, helpers: Helpers
) -> Descent:
    """Return the descent of points.

    Args:
        start: Positions, n × dims.
        momentum: Velocity and gains (2 × n × dims); at rest by default.
        pruned: p_ij (n × n) that attract.
        whole: All p_ij, for the divergence.
        device: Torch device.
        helpers: Threads beside this one; torch uses none.
    """
    kernels = compiled(load_kernels) if device == "cpu" and start.shape[1] == 2 else None
    if momentum is None:
        momentum = np.stack([np.zeros_like(start), np.ones_like(start)])
    if kernels is None:
        return _TorchDescent(start, momentum, pruned, whole, device)
    return _CompiledDescent(start, momentum, pruned, whole, kernels, helpers)


def load_kernels() -> ModuleType:
    """Import the kernels: for `compiled`."""
    from dmlviz.projection import tsne_kernels

    return tsne_kernels


class _CompiledDescent:
    def __init__(
        self,
        start: np.ndarray,
        momentum: np.ndarray,
        pruned: csr_matrix,
        whole: csr_matrix,
        kernels: ModuleType,
        helpers: Helpers,
    ) -> None:
        # Points that attract each other lie near each other in memory: a tenth of the time of 250,000 points is saved.
        self._order = order = reverse_cuthill_mckee(pruned, symmetric_mode=True)
        self._y, self._motion = start[order], momentum.take(order, axis=1)
        self._pruned, self._half = _edges(_ordered(pruned, order)), _edges(_ordered(triu(whole, format="csr"), order))
        self._entropy = -float((whole.data * np.log(whole.data)).sum())
        self._kernels, self._helpers = kernels, helpers
        self._push, self._pull = np.empty_like(start), np.empty_like(start)
        self._bounds = np.empty((2, 2), np.float32)
        ends = np.linspace(0, len(start), _CHUNKS + 1).astype(int).tolist()
        self._attract = [
            partial(kernels.attract, self._y, *self._pruned, self._pull, begin, end) for begin, end in pairwise(ends)
        ]

    @property
    def momentum(self) -> np.ndarray:
        momentum: np.ndarray = np.empty_like(self._motion)
        momentum[:, self._order] = self._motion
        return momentum

    @property
    def positions(self) -> np.ndarray:
        positions: np.ndarray = np.empty_like(self._y)
        positions[self._order] = self._y
        return positions

    def restart(self) -> None:
        self._motion[0], self._motion[1] = 0, 1

    def step(self, spacing: float, exaggeration: float) -> None:
        total = self._helpers.share(self._attract, lambda: self._repel(spacing))
        rate = len(self._y) / exaggeration
        self._kernels.step(
            self._y, self._pull, self._push, exaggeration, total, rate, _MOMENTUM, _MAX_STEP, *self._motion
        )

    def divergence(self, spacing: float) -> float:
        cross_entropy: float = 2 * self._kernels.cross_entropy(self._y, *self._half)
        return cross_entropy - self._entropy + float(np.log(max(self._repel(spacing), _LEAST)))

    def _repel(self, spacing: float) -> float:
        n = len(self._y)
        if n <= EXACT_UP_TO[2]:
            return float(self._kernels.repel(self._y, self._push, 0, n))
        self._kernels.bound(self._y, self._bounds)
        low, high = self._bounds
        extent = float((high - low).max())
        spacing, nodes = grid(extent, spacing, 2)
        spectrum, self_term = kernel_spectrum(nodes, spacing, 2)
        density = np.empty((int(extent / spacing) + 5, nodes), np.float32)  # the other rows are padding
        self._kernels.spread(self._y, low, 1 / spacing, density)
        waves = scipy.fft.fft(scipy.fft.rfft(density, axis=1), nodes, axis=0, overwrite_x=True)
        waves *= spectrum.numpy()
        waves = scipy.fft.ifft(waves, axis=0, overwrite_x=True)[: len(density)]
        potential = scipy.fft.irfft(waves, nodes, axis=1)
        return float(self._kernels.gather(self._y, low, 1 / spacing, potential, self._push)) - n * self_term


class _TorchDescent:
    def __init__(
        self, start: np.ndarray, momentum: np.ndarray, pruned: csr_matrix, whole: csr_matrix, device: str
    ) -> None:
        self._y = torch.from_numpy(start.T.copy()).to(device)
        self._velocity, self._gains = (torch.from_numpy(part.T.copy()).to(device) for part in momentum)
        self._attraction, self._whole = Attraction(pruned, device), Attraction(whole, device)
        self._fields = {spacing: FFTRepulsion(start.shape[1], spacing) for spacing in (COARSE, FINE)}

    @property
    def positions(self) -> np.ndarray:
        return _rows(self._y)

    @property
    def momentum(self) -> np.ndarray:
        return np.stack([_rows(self._velocity), _rows(self._gains)])

    def restart(self) -> None:
        self._velocity, self._gains = torch.zeros_like(self._y), torch.ones_like(self._y)

    def step(self, spacing: float, exaggeration: float) -> None:
        total, push = self._repulsion(spacing)(self._y)
        gradient = (exaggeration * self._attraction(self._y) - push / total.to(push.dtype)).mul_(4)
        same_direction = torch.sign(self._velocity) != torch.sign(gradient)
        self._gains = torch.where(same_direction, self._gains + 0.2, self._gains * 0.8).clamp_(min=0.01)
        rate = self._y.shape[1] / exaggeration
        velocity = _MOMENTUM * self._velocity - rate * self._gains * gradient
        length = velocity.square().sum(0).sqrt_()  # norm() along the short axis takes thirty times as long
        self._velocity = velocity * (_MAX_STEP / length.clamp(min=_MAX_STEP))
        moved = self._y + self._velocity
        self._y = moved - moved.mean(1, keepdim=True)

    def divergence(self, spacing: float) -> float:
        total, _ = self._repulsion(spacing)(self._y)
        return self._whole.cross_entropy(self._y) - self._whole.entropy + float(torch.log(total))

    def _repulsion(self, spacing: float) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        dims, n = self._y.shape
        return exact_repulsion if n <= EXACT_UP_TO[dims] else self._fields[spacing]


def _ordered(affinities: csr_matrix, order: np.ndarray) -> csr_matrix:
    ordered: csr_matrix = affinities[order][:, order]
    ordered.sort_indices()
    return ordered


def _edges(affinities: csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        affinities.indptr.astype(np.int32),
        affinities.indices.astype(np.int32),
        affinities.data.astype(np.float32),
    )


def _rows(y: Tensor) -> np.ndarray:
    return y.T.contiguous().cpu().numpy().copy()
