"""Validated, hashable configurations: `TrainConfig` and `ProjectionConfig`."""

from dmlviz.config.base import NONE, Config, flag
from dmlviz.config.projection import ProjectionConfig
from dmlviz.config.training import TrainConfig

__all__ = ["NONE", "Config", "ProjectionConfig", "TrainConfig", "flag"]
