"""In tests the shapes and types in signatures are checked at every call, and nobody's own folders are touched."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from jaxtyping import install_import_hook

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests share two cores among several processes
_shared = Path(__file__).parents[2] / "shared" / "data"
if _shared.is_dir():
    os.environ.setdefault("DMLVIZ_DATA", str(_shared))
os.environ["DMLVIZ_RUNS"] = tempfile.mkdtemp(prefix="dmlviz-tests-")
atexit.register(shutil.rmtree, os.environ["DMLVIZ_RUNS"], ignore_errors=True)

CHECKED = (
    "dmlviz.geometry",
    "dmlviz.losses.all_triplets",
    "dmlviz.losses.class_weights",
    "dmlviz.losses.hierarchical",
    "dmlviz.losses.pairs",
    "dmlviz.losses.proxies",
    "dmlviz.losses.structured",
    "dmlviz.miners",
)

install_import_hook(CHECKED, "beartype.beartype")
