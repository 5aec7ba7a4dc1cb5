"""The weights of a net of one matrix: the matrix of its distance, and its rows as pictures."""

import numpy as np
import torch
from torch import nn

from dmlviz.errors import UserError
from dmlviz.nets.models import EmbeddingNet


def templates(net: EmbeddingNet) -> np.ndarray:
    """Return the rows of W as pictures.

    Args:
        net: A net whose body is one linear layer, such as `build("linear")`.

    Returns:
        float32, rows × channels × height × width: coordinate k of an embedding is the sum of row k times the image.

    Raises:
        UserError: For any other net.
    """
    weight = _matrix(net)
    return weight.reshape(len(weight), *net.image).numpy()


def mahalanobis_matrix(net: EmbeddingNet) -> np.ndarray:
    """Return A = WᵀW, so that the squared distance of two embeddings is (x − y)ᵀA(x − y).

    Args:
        net: A net whose body is one linear layer, without L2 normalization.

    Returns:
        float32, pixels × pixels.

    Raises:
        UserError: For any other net.
    """
    if net.normalize:
        raise UserError(
            "A = WᵀW is the matrix of a net's distance only where embeddings have any length; this net normalizes "
            "them: build it with normalize=False."
        )
    weight = _matrix(net)
    return (weight.T @ weight).numpy()


def _matrix(net: EmbeddingNet) -> torch.Tensor:
    layers = [layer for layer in net.body.modules() if any(True for _ in layer.parameters(recurse=False))]
    if len(layers) != 1 or not isinstance(layers[0], nn.Linear):
        raise UserError(f"Only a net of one linear layer is one matrix; {net.name} has {len(layers)} layers.")
    return layers[0].weight.detach().cpu().float()
