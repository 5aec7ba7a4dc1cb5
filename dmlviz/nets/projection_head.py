"""The projection head of training without labels: the loss looks at its output, everything else at its input."""

import torch
from torch import nn


def projection_head(embedding_dim: int, projection_dim: int, seed: int) -> nn.Module:
    """Return a hidden layer and a linear one, from embeddings (n × embedding_dim) to n × projection_dim.

    Args:
        embedding_dim: dimensions of the embedding.
        projection_dim: dimensions of the output, and units of the hidden layer.
        seed: seed of the weights; torch's global random state stays untouched.

    Reference:
        Chen, Kornblith, Norouzi, Hinton: A simple framework for contrastive learning (SimCLR), ICML 2020, section 4.2
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(embedding_dim, projection_dim),
            nn.BatchNorm1d(projection_dim),
            nn.ReLU(),
            nn.Linear(projection_dim, projection_dim),
        )
