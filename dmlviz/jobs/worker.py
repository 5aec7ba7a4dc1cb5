"""A process that does one job and writes its events into the job's folder: `python -m dmlviz.jobs.worker FOLDER`.

With --wait it imports everything first, prints {"ready":true}, and reads its job as one line of JSON from standard
input. With --serve it stays and answers one question after another: {"job":"embed",…}, {"loss":"curve",…},
{"batch":STEP,…}, {"logits":ITEM,…} or {"lab":NAME,…}. It works at a low priority on one thread, stops after the current
batch on SIGTERM, and ends with the process that holds the other end of its standard input.
"""

import argparse
import contextlib
import json
import os
import queue
import signal
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.jobs import features_record, trial_record
from dmlviz.ops.squared_distances import available_cores, use_threads
from dmlviz.plugins import load_plugins
from dmlviz.process_setup import exit_when_closed, limit_to_one_thread, lower_priority
from dmlviz.runs.run import Run

if TYPE_CHECKING:
    from dmlviz.training.events import Event

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
        """Whether the process was asked to stop."""
        if self.requested and self._on_first_check is not None:
            callback, self._on_first_check = self._on_first_check, None
            callback()
        return self.requested


class ParentChannel:
    """The process at the other end of standard input: it sends jobs, reads answers, and this process ends with it."""

    def __init__(self) -> None:
        self.orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        # Whatever a library prints must not mix with the answers.
        self._answers = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)
        kind = os.fstat(0).st_mode
        if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            threading.Thread(target=self._listen, daemon=True).start()

    def send(self, **message: Any) -> None:
        """Print one line of JSON; nothing happens if nobody reads it any more."""
        with contextlib.suppress(OSError):
            self._answers.write(json.dumps(message) + "\n")
            self._answers.flush()

    def _listen(self) -> None:
        # Not through sys.stdin: a thread that waits there holds a lock which the end of the interpreter wants.
        partial_line = b""
        while data := os.read(0, 1 << 16):
            *lines, partial_line = (partial_line + data).split(b"\n")
            for line in lines:
                self.orders.put(json.loads(line))
        os._exit(1)


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.jobs.worker", description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, help="the folder of a run, of a projection in it, of a trial or features"
    )
    parser.add_argument("--wait", action="store_true", help="import everything, then wait for an order")
    parser.add_argument("--serve", action="store_true", help="stay, embed pictures and sample losses")
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
        background.submit(_serve, parent).result()
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
    datasets: dict[str, Any],
) -> None:
    stop = StopFlag(lambda: parent.send(stopping=True))
    signal.signal(signal.SIGTERM, stop.on_signal)
    exit_when_closed(0)
    try:
        if folder.parent.name == "projections":
            from dmlviz.runs.projection_run import run_projection

            background.submit(run_projection, folder, stop=stop).result()
        elif (folder / features_record.ORDER_FILE).exists():
            from dmlviz.jobs.features_job import compute_features

            background.submit(compute_features, folder, data_root=data_root, stop=stop).result()
        elif (folder / trial_record.ORDER_FILE).exists():
            # By its name: the room of the labs is above this one, and only a worker that does a trial loads it.
            run_trial = import_module("dmlviz.labs.trial_worker").run_trial
            background.submit(run_trial, folder, data_root=data_root, stop=stop).result()
        else:
            _train(Run(folder), background, data_root, datasets, stop)
    except UserError as error:  # a folder that holds no job, or that somebody else is writing
        sys.exit(str(error))
    parent.send(done=True)
    os._exit(0)  # everything is on disk; taking torch down in good order would cost the next job half a second


def _train(
    run: Run, background: ThreadPoolExecutor, data_root: Path | None, datasets: dict[str, Any], stop: StopFlag
) -> None:
    """Train in the background; after SIGTERM somebody waits, so embed and score the test images in this thread."""

    def train_until_stopped() -> "Iterator[Event]":
        from dmlviz.runs.training_run import train_and_record
        from dmlviz.training.events import Stopping

        data = datasets.get(run.config.dataset)
        events = train_and_record(run, data_root=data_root, data=data, stop=stop)
        for event in events:
            if isinstance(event, Stopping) and stop.requested:
                break
        return events

    rest = background.submit(train_until_stopped).result()
    limit_to_one_thread()  # threads of torch cost more than they bring on busy cores; those of the scores do not
    with use_threads(min(available_cores(), SCORING_THREADS)):
        deque(rest, maxlen=0)


def _serve(parent: ParentChannel) -> None:
    from dmlviz.losses import sampling
    from dmlviz.runs.embed import handle_request
    from dmlviz.runs.logits import logits
    from dmlviz.runs.record_writer import error_message
    from dmlviz.training.batch_terms import batch_terms

    def answer(order: dict[str, Any]) -> dict[str, Any]:
        if "loss" in order:
            return sampling.answer(order)
        if "batch" in order:
            run = Run(order["run"])
            return asdict(batch_terms(run.config, run.batch(order["batch"])))
        if "logits" in order:
            return logits(Run(order["run"]), order["logits"])
        if "lab" in order:  # by its name, as a trial's worker
            reply: dict[str, Any] = import_module("dmlviz.labs.playground").answer(order)
            return reply
        return handle_request(order)

    limit_to_one_thread()
    parent.send(ready=True)
    while True:
        order = parent.orders.get()
        try:
            parent.send(**answer(order))
        except Exception as error:
            parent.send(error=error_message(error))


def _warm_up(parent: ParentChannel, data_root: Path | None, likely: str | None) -> dict[str, Any]:
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
    """What a process does slowly the first time, in parts, the most needed first.

    Args:
        forking: Leave out what must not be done before a fork: to use the GPU.
    """
    yield limit_to_one_thread
    if forking:  # to look for a GPU must not touch it either
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    yield partial(import_module, "dmlviz.training.loop")
    if not (forking and import_module("torch").cuda.is_available()):
        yield _trial_step
    for module in dict.fromkeys(
        ["dmlviz.projection.layout", *(one.module for one in PROJECTIONS.values() if one.module)]
    ):
        yield partial(import_module, module)


@cache
def _trial_step() -> None:
    from dmlviz.training.loop import warm_up

    warm_up()


if __name__ == "__main__":
    main()
