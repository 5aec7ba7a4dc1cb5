"""t-SNE's attractive forces along the edges of the neighbor graph."""

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_matrix
from torch import Tensor

_NUM_LANES = 24
_SEGMENTS = 8192
_MIN_DEGREE = 512


class Attraction:
    """Σ_j p_ij (y_i − y_j) / (1 + |y_i − y_j|²) over the nonzero p_ij of a sparse symmetric matrix.

    For speed, the edges of a row are split into segments of 24, padded with weight 0 and stored side by side, so that
    every operation runs along contiguous memory. Rows are sorted by their number of segments: first segments of all
    rows, then second segments of the rows that have two, and so on. Each layer then adds to contiguous rows, without
    an index; a few thousand segments at a time stay in the cache. Layers of few rows are added by index.

    Args:
        affinities: p_ij (n × n), symmetric, of sum 1.
        device: Torch device.
    """

    def __init__(self, affinities: csr_matrix, device: torch.device | str = "cpu") -> None:
        self.n = affinities.shape[0]
        degree = np.diff(affinities.indptr)
        segments = -(-degree // _NUM_LANES)
        order = np.argsort(-segments, kind="stable")
        rank = np.empty(self.n, np.int32)
        rank[order] = np.arange(self.n)
        reach = np.array([np.count_nonzero(segments > layer) for layer in range(segments.max(initial=0))], int)
        begin = np.concatenate([[0], np.cumsum(reach)])
        row = np.concatenate([np.arange(rows, dtype=np.int32) for rows in reach] or [np.zeros(0, np.int32)])
        place = np.arange(affinities.nnz) - np.repeat(affinities.indptr[:-1], degree)
        segment = begin[place // _NUM_LANES] + np.repeat(rank, degree)
        other = np.tile(row, (_NUM_LANES, 1))
        weight = np.zeros(other.shape, np.float32)
        other[place % _NUM_LANES, segment] = rank[affinities.indices]
        weight[place % _NUM_LANES, segment] = affinities.data

        wide = int(np.count_nonzero(reach >= _MIN_DEGREE))
        stretches = [
            (begin[layer], slice(first, min(first + _SEGMENTS, reach[layer])))
            for layer in range(wide)
            for first in range(0, reach[layer], _SEGMENTS)
        ]
        scattered = [slice(first, first + _SEGMENTS) for first in range(begin[wide], len(row), _SEGMENTS)]
        self._scratch = _Scratch(min(_SEGMENTS, len(row)), device)
        self._stretches = [
            (rows, self._block(other, weight, slice(start + rows.start, start + rows.stop)))
            for start, rows in stretches
        ]
        self._scattered = [
            (torch.from_numpy(row[part].copy()).to(device), self._block(other, weight, part)) for part in scattered
        ]
        self._order, self._rank = (torch.from_numpy(table).to(device) for table in (order, rank))
        data = affinities.data.astype(np.float64)
        self.entropy = -float((data * np.log(data)).sum())

    def __call__(self, y: Float[Tensor, "dims n"]) -> Float[Tensor, "dims n"]:
        """Return the attraction of every point (dims × n)."""
        y = torch.index_select(y, 1, self._order)
        pulls = torch.zeros_like(y)
        for rows, block in self._stretches:
            pulls[:, rows] += block.attraction(y, y[:, rows])
        for row, block in self._scattered:
            pulls.index_add_(1, row, block.attraction(y, torch.index_select(y, 1, row)))
        return torch.index_select(pulls, 1, self._rank)

    def cross_entropy(self, y: Float[Tensor, "dims n"]) -> float:
        """Return Σ p_ij log(1 + |y_i − y_j|²)."""
        y = torch.index_select(y, 1, self._order)
        total = 0.0
        for rows, block in self._stretches:
            total += block.cross_entropy(y, y[:, rows])
        for row, block in self._scattered:
            total += block.cross_entropy(y, torch.index_select(y, 1, row))
        return total

    def _block(self, other: np.ndarray, weight: np.ndarray, part: slice) -> "_Block":
        device = self._scratch.device
        indices = torch.from_numpy(other[:, part].reshape(-1)).to(device)
        return _Block(indices, torch.from_numpy(weight[:, part].copy()).to(device), self._scratch)


class _Scratch:
    """Memory shared by all blocks, so that it stays in the cache: one line per dimension and one more."""

    def __init__(self, segments: int, device: torch.device | str) -> None:
        self.device = device
        self.lines = [torch.empty(_NUM_LANES * segments, device=device) for _ in range(4)]


class _Block:
    """Segments side by side: the other ends of their edges (lanes × segments, flat) and the edges' weights."""

    def __init__(self, other: Tensor, weight: Tensor, scratch: _Scratch) -> None:
        self.other = other
        self.weight = weight
        self.flat = [line[: len(other)] for line in scratch.lines]
        self.lines = [line.view(weight.shape) for line in self.flat]

    def attraction(self, y: Tensor, ends: Tensor) -> Tensor:
        """Return the attraction (dims × segments) of these segments on their rows, at positions `ends`."""
        differences, pull = self._differences(y, ends)
        torch.div(self.weight, pull.add_(1), out=pull)
        pulls = torch.empty_like(ends)
        for axis, difference in enumerate(differences):
            torch.sum(difference.mul_(pull), 0, out=pulls[axis])
        return pulls

    def cross_entropy(self, y: Tensor, ends: Tensor) -> float:
        """Return Σ p_ij log(1 + |y_i − y_j|²) over these edges."""
        _, squared = self._differences(y, ends)
        return float(squared.log1p_().mul_(self.weight).sum())

    def _differences(self, y: Tensor, ends: Tensor) -> tuple[list[Tensor], Tensor]:
        """Return the difference along each edge, per dimension, and its squared length, both in scratch memory."""
        squared, differences = self.lines[0], self.lines[1 : 1 + len(y)]
        for axis, difference in enumerate(differences):
            torch.index_select(y[axis], 0, self.other, out=self.flat[1 + axis])
            torch.sub(ends[axis], difference, out=difference)
        torch.mul(differences[0], differences[0], out=squared)
        for difference in differences[1:]:
            squared.addcmul_(difference, difference)
        return differences, squared
