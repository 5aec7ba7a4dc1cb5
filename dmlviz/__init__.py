"""Watch a metric being learned: deep metric learning on small images, live.

Importing `dmlviz`, its config, runs and jobs loads no torch; `train` and the losses load it on first use.
"""

from typing import TYPE_CHECKING, Any

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError

if TYPE_CHECKING:
    from dmlviz.training import train

__version__ = "0.1.0"
__all__ = ["ProjectionConfig", "TrainConfig", "UserError", "train"]


def __getattr__(name: str) -> Any:
    if name == "train":
        from dmlviz.training import train

        return train
    raise AttributeError(f"module 'dmlviz' has no attribute {name!r}")
