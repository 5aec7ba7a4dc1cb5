"""A process that does one job, and writes its events into its folder: `python -m dmlviz.workers.job_worker FOLDER`.

With --wait it imports everything first, prints {"ready":true}, and reads the folder as one line of JSON from standard
input. With --serve it stays and answers one question after another: see `dmlviz.workers.questions`. It works at a low
priority on one thread, stops after the current batch on SIGTERM, and ends with the process that holds the other end of
its standard input.
"""

import argparse
import contextlib
import json
import os
import queue
import signal
import stat
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.jobs.job_record import ORDER_FILE, JobRecord, Work
from dmlviz.jobs.placement import Message
from dmlviz.ops.squared_distances import available_cores, use_threads
from dmlviz.parts import kinds, lazy
from dmlviz.plugins import installed, load_plugins
from dmlviz.process_setup import exit_when_closed, limit_to_one_thread, lower_priority

SCORING_THREADS = 4  # of a training that was stopped; more would take the cores from other people's trainings


class StopFlag:
    """True after SIGTERM; calls `on_first_check` when it is first found to be so."""

    def __init__(self, on_first_check: Callable[[], object] = lambda: None) -> None:
        self.requested = False
        self._on_first_check: Callable[[], object] | None = on_first_check

    def on_signal(self, *_: object) -> None:
        """Note that the process should stop; the work looks at it between two batches."""
        self.requested = True

    def __call__(self) -> bool:
        """Return whether the process was asked to stop."""
        if self.requested and self._on_first_check is not None:
            callback, self._on_first_check = self._on_first_check, None
            callback()
        return self.requested


class ParentChannel:
    """The process at the other end of standard input: it sends jobs, reads answers, and this process ends with it."""

    def __init__(self) -> None:
        self.orders: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.stop = StopFlag(lambda: self.send(stopping=True))
        # The output of libraries must not mix with the answers.
        self._answers = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)
        kind = os.fstat(0).st_mode
        if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            threading.Thread(target=self._listen, daemon=True).start()

    def send(self, **message: Any) -> None:
        """Print one line of JSON; do nothing if the reader is gone."""
        with contextlib.suppress(OSError):
            self._answers.write(json.dumps(message) + "\n")
            self._answers.flush()

    def _listen(self) -> None:
        # Not through sys.stdin: a thread that waits there holds a lock which the end of the interpreter wants.
        partial_line = b""
        while data := os.read(0, 1 << 16):
            *lines, partial_line = (partial_line + data).split(b"\n")
            for line in lines:
                order = json.loads(line)
                if "stop" in order:  # where there are no signals
                    self.stop.on_signal()
                else:
                    self.orders.put(order)
        os._exit(1)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.workers.job_worker", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="the folder of a job, which holds order.json")
    parser.add_argument("--wait", action="store_true", help="import everything, then wait for an order")
    parser.add_argument("--serve", action="store_true", help="stay and answer questions")
    parser.add_argument("--data", type=Path, help="where the data sets are")
    parser.add_argument("--likely", help="the data set to have at hand")
    options = parser.parse_args(arguments)
    if (options.folder is not None) + options.wait + options.serve != 1:
        parser.error("give a folder, --wait or --serve")
    parent = ParentChannel()
    try:
        load_plugins()
    except UserError as error:
        sys.exit(str(error))
    if options.data is not None:
        DATASETS.add_search_path(options.data)
    # On Linux each thread has its own priority, and this one keeps the usual one, for the end of a stopped training.
    background = ThreadPoolExecutor(1, initializer=_work_in_background)
    if options.serve:
        background.submit(_serve, parent, options.data).result()
    elif options.wait:
        datasets = background.submit(_warm_up, parent, options.data, options.likely).result()
        parent.send(ready=True)
        order = parent.orders.get()
        root = Path(order["data"]) if order.get("data") else options.data
        if root is not None:
            DATASETS.add_search_path(root)
        _work(parent, background, Path(order["folder"]), root, datasets)
    else:
        _work(parent, background, options.folder.resolve(), options.data, {})


def _work_in_background() -> None:
    lower_priority()
    limit_to_one_thread()


def _work(
    parent: ParentChannel,
    background: ThreadPoolExecutor,
    folder: Path,
    data_root: Path | None,
    datasets: Message,
) -> None:
    stop = parent.stop
    signal.signal(signal.SIGTERM, stop.on_signal)
    exit_when_closed(0)
    try:
        kind = JobRecord(folder).order.get("kind")
        known = kinds("job")
        if kind not in known:
            raise UserError(f"A worker does {', '.join(known)}; got {str(kind)[:40]!r} in {folder / ORDER_FILE}.")
        if kind == "project":  # somebody may wait for its first layout; it lowers its priority itself
            background = ThreadPoolExecutor(1, initializer=limit_to_one_thread)
        rest = background.submit(lazy(known[kind].work), Work(folder, data_root, stop, datasets)).result()
        if rest is not None:  # a caller waits for it, so it is done in this thread
            limit_to_one_thread()  # torch's threads cost more than they bring on busy cores; those of the scores do not
            with use_threads(min(available_cores(), SCORING_THREADS)):
                deque(rest, maxlen=0)
    except UserError as error:  # a folder that holds no job, or that another process is writing
        sys.exit(str(error))
    parent.send(done=True)
    os._exit(0)  # everything is on disk; taking torch down in good order would cost the next job half a second


def _serve(parent: ParentChannel, data_root: Path | None) -> None:
    from dmlviz.runs.record_writer import error_message
    from dmlviz.workers.questions import answer

    limit_to_one_thread()
    parent.send(ready=True)
    while True:
        question = parent.orders.get()
        try:
            parent.send(**answer(question, data_root))
        except Exception as error:
            parent.send(error=error_message(error))


def _warm_up(parent: ParentChannel, data_root: Path | None, likely: str | None) -> Message:
    """Prepare what a job needs, unless the job has been sent already; return the likely data set."""
    from dmlviz import data

    for prepare in warm_up_steps():
        prepare()
        if not parent.orders.empty():
            return {}
    available = data.available_datasets(data_root)
    name = likely if likely in available else available[0]
    try:
        return {name: data.load(name, data_root)}
    except UserError:  # the job itself will say what is wrong
        return {}


def warm_up_steps(forking: bool = False) -> Iterator[Callable[[], object]]:
    """Return the steps that are slow the first time in a process, in parts, the most needed first.

    Args:
        forking: Leave out what must not be done before a fork: to use the GPU.
    """
    yield limit_to_one_thread
    if forking:  # to look for a GPU must not touch it either
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    yield _import_training
    import torch

    if not (forking and torch.cuda.is_available()):
        yield _trial_step
    for module in dict.fromkeys(
        ["dmlviz.projection.live", *(one.module for one in PROJECTIONS.values() if one.module)]
    ):
        yield partial(import_module, module)
    yield _import_jobs
    yield _prepare_kernels


def _import_jobs() -> None:
    """Import what does the jobs, and read which plug-ins there are: 150 ms between a click on t-SNE and its layout."""
    installed()
    for name in ("dmlviz.jobs.order", *(one.work.partition(":")[0] for one in kinds("job").values())):
        import_module(name)


def _prepare_kernels() -> None:
    """Read the kernels that are kept; otherwise begin to compile them in a process of their own, and do not wait."""
    from dmlviz.ops.compiled import are_kept
    from dmlviz.projection import compilation

    if are_kept():
        compilation.compile_all()
    else:
        command = [sys.executable, "-m", "dmlviz.projection.compilation"]
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _import_training() -> None:
    import dmlviz.runs.training_run  # noqa: F401


@cache
def _trial_step() -> None:
    from dmlviz.runs.training_run import warm_up

    warm_up()


if __name__ == "__main__":
    main()
