"""Validated, hashable configurations: `TrainConfig` and `ProjectionConfig`."""

from dmlviz.config.base import Config
from dmlviz.config.projection import ProjectionConfig
from dmlviz.config.training import TrainConfig

__all__ = ["Config", "ProjectionConfig", "TrainConfig"]
