"""Components that need embeddings of the whole training set, and a generator that computes them in chunks."""

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class NeedsTrainEmbeddings(Protocol):
    """A loss or miner that needs embeddings of the whole training set before step 1 and every `every` epochs."""

    every: int

    def refresh(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> None:
        """Receive embeddings (n × d) and labels (n) of all training images, in order."""


def refresh_in_chunks(
    component: NeedsTrainEmbeddings,
    embed: Callable[[slice], Float[Tensor, "chunk d"]],
    labels: Int[Tensor, " n"],
    chunk: int = 2000,
) -> Iterator[None]:
    """Embed the training set, one chunk per `next`, then call `component.refresh`.

    The training loop takes one chunk between two batches, so that it never pauses.

    Args:
        component: The loss or miner.
        embed: Returns the embeddings of a slice of the training images.
        labels: The classes of all training images (n).
        chunk: Images per step.

    Yields:
        None, after each chunk.
    """
    embeddings = []
    for start in range(0, len(labels), chunk):
        with torch.no_grad():
            embeddings.append(embed(slice(start, min(start + chunk, len(labels)))).detach())
        yield
    if embeddings:
        component.refresh(torch.cat(embeddings), labels)
