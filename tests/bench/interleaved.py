"""How the benchmarks time: ours and its peers in turn, medians of CPU time; and what a loss keeps for backward.

One thread, and CPU time rather than the clock's: a busy machine then disturbs both sides less.
"""

import time
from collections.abc import Callable
from statistics import median

import torch

torch.set_num_threads(1)


def medians(work: dict[str, Callable[[], object]], rounds: int = 21) -> dict[str, float]:
    """Run each in turn, `rounds` times after one warm-up; return the median CPU milliseconds of each."""
    for run in work.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            begun = time.process_time()
            run()
            times[name].append(1e3 * (time.process_time() - begun))
    return {name: median(some) for name, some in times.items()}


def kept_megabytes(loss: Callable[[], torch.Tensor]) -> float:
    """Megabytes of distinct memory that the graph of `loss()` holds until backward."""
    storages: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss()
    return sum(storages.values()) / 2**20


def step(loss: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Loss and gradient of embeddings, as one call; returns the gradient."""

    def run() -> torch.Tensor:
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(loss(leaf), leaf)[0]

    return run


def row(name: str, times: dict[str, float], note: str = "") -> None:
    """Print ours, then each peer with how many times longer it took."""
    (_, ours), *peers = times.items()
    compared = "   ".join(f"{peer} {took:9.2f} ms = {took / ours:7.1f} ×" for peer, took in peers)
    print(f"{name:40s} ours {ours:8.2f} ms   {compared}   {note}")
