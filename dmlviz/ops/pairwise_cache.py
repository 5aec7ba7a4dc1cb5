"""A cache of distance and cosine matrices, shared within one training step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import torch
from torch import Tensor


class _CacheEntry(NamedTuple):
    name: str
    source: Tensor
    version: int
    matrix: Tensor


_cache: ContextVar[list[_CacheEntry] | None] = ContextVar("pairwise_cache", default=None)


@contextmanager
def cache_pairwise() -> Iterator[None]:
    """Cache distance and cosine matrices, so that miner, loss and statistics of one batch share them.

    With gradients enabled a cached matrix carries its graph; otherwise (`torch.no_grad()`, detached embeddings) it is
    detached. All users share one graph, so call backward once.
    """
    if _cache.get() is not None:
        yield
        return
    token = _cache.set([])
    try:
        yield
    finally:
        _cache.reset(token)


def memoize(name: str, x: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Return `compute(x)`, or the matrix cached under that name for equal memory.

    Args:
        name: "euclidean", "sqeuclidean" or "cosine".
        x: n × d.
        compute: Computes the matrix (n × n) of `x`.
    """
    entries = _cache.get()
    if entries is None:
        return compute(x)
    version = 0 if x.is_inference() else x._version
    with_graph = torch.is_grad_enabled() and x.requires_grad
    for entry in entries:
        if entry.name == name and entry.version == version and _same_numbers(entry.source, x):
            if not with_graph:
                return entry.matrix.detach()
            if entry.source is x and entry.matrix.requires_grad:
                return entry.matrix
    with torch.set_grad_enabled(x.requires_grad):  # the miner runs first, without gradient; the loss needs the graph
        matrix = compute(x)
    entries.append(_CacheEntry(name, x, version, matrix))
    return matrix if with_graph else matrix.detach()


def is_cached(name: str, x: Tensor) -> bool:
    """Return whether that matrix of `x` is cached."""
    version = 0 if x.is_inference() else x._version
    entries = _cache.get() or ()
    return any(entry.name == name and entry.version == version and _same_numbers(entry.source, x) for entry in entries)


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    # The cache keeps the tensor alive, so equal addresses mean the same memory.
    return a is b or (
        a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype
    )
