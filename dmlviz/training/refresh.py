"""Losses and miners that look at the whole training set from time to time, and the way to let them."""

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class NeedsTrainEmbeddings(Protocol):
    """Wants the embeddings of the whole training set before the first batch, and again every `every` epochs."""

    every: int

    def refresh(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> None:
        """Take the embeddings and labels of all training images, in their order."""


def refresh_in_chunks(
    component: NeedsTrainEmbeddings,
    embed: Callable[[slice], Float[Tensor, "chunk d"]],
    labels: Int[Tensor, " n"],
    chunk: int = 2000,
) -> Iterator[None]:
    """Embed the training set chunk by chunk, one at each `next`, and hand it to the component with the last one.

    A training takes one chunk between two batches, so that it never stands still; for the first time, all of them:
    `for _ in refreshing(…): pass`. `embed` gives the embeddings of a slice of the training images.
    """
    embeddings = []
    for start in range(0, len(labels), chunk):
        with torch.no_grad():
            embeddings.append(embed(slice(start, min(start + chunk, len(labels)))).detach())
        yield
    if embeddings:
        component.refresh(torch.cat(embeddings), labels)
