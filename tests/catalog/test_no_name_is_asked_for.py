"""Outside the catalog no code asks for a choice by its name: what it must know of it is in the spec."""

import ast
from collections.abc import Iterator
from pathlib import Path

import dmlviz_app

import dmlviz
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS

# Words of other meanings too: a key of a frame, a parameter, a kind of space, an alarm, a picture, a module, a term's.
AMBIGUOUS = {"margin", "center", "circle", "collapsed", "map", "recall_at_k", "numbers", "linear"}
# Where the choices are implemented: a table of scores by name, the kinds of linear projections. And the experiments,
# each of which says what it compares.
HOMES = ("dmlviz/metrics/", "dmlviz/ops/linear_projection.py", "dmlviz/labs/")
NAMES = {*LOSSES, *MINERS, *NETS, *SAMPLERS, *DATASETS.builtin, *METRICS, *PROJECTIONS} - AMBIGUOUS


def comparisons(source: str) -> Iterator[str]:
    """Every name that is compared with, matched, or used as a key of a table."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        else:
            continue
        for constant in (one for part in parts for one in ast.walk(part) if isinstance(one, ast.Constant)):
            if constant.value in NAMES:
                yield f"{constant.lineno}: {constant.value}"


def test_the_search_for_names_finds_an_offender():
    found = comparisons("x = name == 'arcface' or name in ('triplet', 'x')\ny = {'lenet': 1}")
    assert set(found) == {"1: arcface", "1: triplet", "2: lenet"}


def test_no_code_asks_for_a_choice_by_name():
    roots = [Path(dmlviz.__file__).parent, Path(dmlviz_app.__file__).parent]
    catalog = roots[0] / "catalog"
    files = [
        path
        for root in roots
        for path in root.rglob("*.py")
        if catalog not in path.parents and not path.relative_to(root.parent).as_posix().startswith(HOMES)
    ]
    asked = {f"{path}:{where}" for path in files for where in comparisons(path.read_text())}
    assert len(files) > 100
    assert asked == set()
