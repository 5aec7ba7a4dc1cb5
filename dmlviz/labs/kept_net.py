"""The weights of a net that a trial keeps for the page's playground."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dmlviz.errors import DamagedFileError
from dmlviz.labs.kept_arrays import NET
from dmlviz.storage.arrays import read_arrays


def keep_net(net: nn.Module, folder: Path) -> None:
    """Write the weights of a net into a trial's folder, in 16 bits, shared ones once: a playground needs no more."""
    weights: dict[str, Any] = {
        name: weight.detach().numpy().astype(np.float16) for name, weight in net.named_parameters()
    }
    np.savez_compressed(folder / NET, **weights)


def fill_with_kept(net: nn.Module, folder: Path) -> nn.Module:
    """Give a net the weights that a trial kept, and return it, ready to embed.

    Raises:
        DamagedFileError: If they are of another net.
    """
    arrays, weights = read_arrays(folder / NET), dict(net.named_parameters())
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    if {name: values.shape for name, values in arrays.items()} != shapes:
        raise DamagedFileError(folder / NET, "it does not hold the weights of this lab's net")
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(torch.from_numpy(arrays[name].astype(np.float32)))
    return net.eval()
