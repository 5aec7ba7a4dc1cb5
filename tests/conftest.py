"""In tests of losses, miners and ops the shapes and types in signatures are checked at every call. No test touches
anybody's own folders."""

import atexit
import gc
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy.testing  # noqa: F401  NumPy 1.26 starts a process when this is imported: not within a quick test
import pytest
import threadpoolctl
from hypothesis import settings
from jaxtyping import install_import_hook
from xdist.scheduler import LoadFileScheduling

from tests.waiting import until

gc.disable()  # until all tests are collected: it looked through a million objects again and again
threadpoolctl.threadpool_info()  # starts a process the first time: not within a quick test
platform.processor()  # so does this

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests share two cores among several processes
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes start; each would compile dmlviz again
sys.dont_write_bytecode = False  # and each worker would rewrite the assertions of all tests
_shared = Path(__file__).parents[2] / "shared" / "data"
if _shared.is_dir():
    os.environ.setdefault("DMLVIZ_DATA", str(_shared))
os.environ["DMLVIZ_RUNS"] = tempfile.mkdtemp(prefix="dmlviz-tests-")
atexit.register(shutil.rmtree, os.environ["DMLVIZ_RUNS"], ignore_errors=True)

CHECKED = (
    "dmlviz.ops.labeled_batch",
    "dmlviz.ops.pairwise",
    "dmlviz.ops.reductions",
    "dmlviz.losses.all_triplets",
    "dmlviz.losses.class_weights",
    "dmlviz.losses.hierarchical",
    "dmlviz.losses.pairs",
    "dmlviz.losses.proxies",
    "dmlviz.losses.structured",
    "dmlviz.miners",
)

CHECKED_IN = ("losses", "miners", "ops")  # folders of tests: elsewhere the checks took a tenth of the time of trainings
install_import_hook(CHECKED, "beartype.beartype")
settings.register_profile("shared machine", deadline=None)  # an example of 200 ms is late, not wrong
settings.load_profile("shared machine")


FRONTEND = Path(__file__).parents[1] / "frontend"


@pytest.fixture(scope="session", name="until")
def _until() -> Callable[..., float]:
    """`until(promise)`: wait until `promise()` holds."""
    return until


@pytest.fixture(autouse=True)
def _search_paths_of_one_test():
    """Data folders of tests before are not searched: hundreds of them made each look at one's own data cost 10 ms."""
    from dmlviz.catalog.datasets import DATASETS

    before = [*DATASETS._roots]
    yield
    DATASETS._roots[:] = before


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory) -> Path:
    """What `made` of a data folder holds: data sets made of the digits, once for all processes of a run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def page_script() -> Callable[..., Any]:
    """`page_script(name, given)`: what that function of frontend/test/scripts.js returns when it is given that."""
    if shutil.which("node") is None or not (FRONTEND / "node_modules").is_dir():
        pytest.skip("needs Node.js and `npm ci` in frontend/")

    def run(name: str, given: object = None) -> Any:
        command = ["node", str(FRONTEND / "test" / "run.mjs"), "--script", name]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def counting() -> Iterator[Any]:
    """A lab of plain numbers, for this process and for the workers that it starts."""
    from dmlviz import plugins
    from dmlviz.labs.registry import LABS

    file = Path(__file__).parent / "studies" / "counting_lab.py"
    before = os.environ.get(plugins.ENVIRONMENT)
    plugins.load_plugins([file])
    yield LABS["counting"]
    LABS.remove("counting")
    plugins._loaded.discard(str(file.resolve()))
    os.environ.pop(plugins.ENVIRONMENT) if before is None else os.environ.update({plugins.ENVIRONMENT: before})


# `./test quick` leaves out these folders and what is marked `slow`. No other test may start a process.
SLOW = ("tests/browser/", "tests/faults/", "tests/fleet/", "tests/integrations/", "tests/jobs/")
STARTS_PROCESS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}
processes: list[str] = []  # what was started since a test began
sys.addaudithook(lambda event, given: event in STARTS_PROCESS and processes.append(f"{event}{given[:2]}"))


def is_slow(item) -> bool:
    return item.nodeid.startswith(SLOW) or item.get_closest_marker("slow") is not None


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out tests that start a process or take seconds")
    parser.addoption("--cases", type=int, default=10**9, help="up to so many cases of each test, always the same ones")
    parser.addoption("--whole", action="store_true", help="all cases of tests of which a sample is run otherwise")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    processes.clear()
    jaxtyping.config.update("jaxtyping_disable", item.path.parent.name not in CHECKED_IN)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """In every run, for nothing but a test that is left out of quick ones may need what starts slowly."""
    yield
    if processes and not is_slow(item):
        pytest.fail(f"This test starts a process: mark it `slow`. It started {processes[0]}")


def leave_out_of_samples(items, most):
    """Keep n cases of each test marked `sample(n)`, up to `most` of any; always the same ones: its name is the seed."""
    cases = defaultdict(list)
    for item in items:
        n, *_ = [*(marker.args[0] for marker in item.iter_markers("sample")), most]
        cases[item.nodeid.partition("[")[0], min(n, most)].append(item)
    kept = {
        item
        for (name, n), all_of_it in cases.items()
        for item in random.Random(name).sample(all_of_it, min(n, len(all_of_it)))
    }
    items[:] = [item for item in items if item in kept]


@pytest.fixture(scope="session")
def whole(pytestconfig) -> bool:
    """Whether a test does all that it can do, and not only a sample."""
    return pytestconfig.getoption("whole")


# All tests of such a row run in one process, and the longest rows begin first. They share what takes seconds to start:
# Chromium and the app's server, a fleet's machines, the process that forks the workers. Two Chromiums that draw in
# software starve each other: with two rows of stories, menus closed by themselves and animations stood still.
TOGETHER = {"stories": ("tests/browser/",), "fleet": ("tests/fleet/",), "jobs": ("tests/jobs/",)}
LONG = (
    "tests/app/",
    "tests/training/",
    "tests/losses/",
    "tests/faults/",
    "tests/integrations/",
    "tests/cli/",
    "tests/test_",
)


def together(nodeid: str) -> str | None:
    """The row that a test belongs to; None for most."""
    return next((row for row, starts in TOGETHER.items() if nodeid.startswith(starts)), None)


class RowOrFileScheduling(LoadFileScheduling):
    """File by file, and each row of `TOGETHER` as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid) or super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config, log):
    return RowOrFileScheduling(config, log)


def pytest_collection_modifyitems(config, items):
    """Rows first, then long files, so that no worker begins a long one when the others have ended."""
    if config.getoption("quick"):
        items[:] = [item for item in items if not is_slow(item)]
    if not config.getoption("whole"):
        leave_out_of_samples(items, config.getoption("cases"))
    order = [*TOGETHER, *LONG]

    def place(item):
        start = together(item.nodeid) or next((start for start in LONG if item.nodeid.startswith(start)), None)
        return order.index(start) if start else len(order)

    items.sort(key=place)


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and config.getoption("quick"):
        terminalreporter.write_line("All tests of these files are slow: run them without `quick`.")


def pytest_collection_finish():
    """Keep what was imported out of garbage collections: Streamlit collects in full after each run of a page."""
    gc.freeze()
    gc.enable()
