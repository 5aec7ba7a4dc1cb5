"""A backbone for small images."""

from dataclasses import replace

import pytest

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.nets.torchvision_operators import register_missing


@pytest.fixture(scope="module")
def small_backbone():
    """ResNet-18 for images of 32 pixels: a forty-ninth of the work."""
    register_missing()
    usual = BACKBONES["resnet18"]
    BACKBONES._entries["resnet18"] = replace(usual, side=32)
    yield
    BACKBONES._entries["resnet18"] = usual
