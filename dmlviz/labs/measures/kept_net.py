"""The weights of a net that a trial keeps for the page's playground."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from dmlviz.errors import DamagedFileError
from dmlviz.labs.kept_arrays import NET
from dmlviz.storage.arrays import read_arrays


def keep_net(net: nn.Module, folder: Path) -> None:
    """Write the weights of a net into a trial's folder, in 16 bits: a drawing needs no more."""
    arrays = {name: values.numpy().astype(np.float16) for name, values in net.state_dict().items()}
    np.savez_compressed(folder / NET, **arrays)


def fill_with_kept(net: nn.Module, folder: Path) -> nn.Module:
    """Give a net the weights that a trial kept, and return it, ready to embed.

    Raises:
        DamagedFileError: If they are of another net.
    """
    arrays = read_arrays(folder / NET)
    try:
        net.load_state_dict({name: torch.from_numpy(values.astype(np.float32)) for name, values in arrays.items()})
    except RuntimeError:
        raise DamagedFileError(folder / NET, "it does not hold the weights of this lab's net") from None
    return net.eval()
