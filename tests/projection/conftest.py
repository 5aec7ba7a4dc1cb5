"""Handwritten digits of scikit-learn as points: real clusters, nothing to download."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits


@pytest.fixture(autouse=True)
def one_thread():
    """As in a worker; equal calls give equal maps only so."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """700 digits as 64 numbers each, and their classes."""
    images, classes = load_digits(return_X_y=True)
    return images[:700].astype(np.float32) / 16, classes[:700]
