"""The examples in the library's docstrings run and print what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import dmlviz

ROOT = Path(dmlviz.__file__).parent
MODULES = [
    ".".join(("dmlviz", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
