"""The process that writes: `python -m dmlviz.recording.writer_process`, with messages on its standard input.

It outlives the training by a moment, so that a training that crashes, or is killed, leaves a complete run. It answers
in lines of JSON: {"trouble": …} when something could not be written, and the next message is tried again;
{"stored": true} when all embeddings are on disk, and only scores are to come.
"""

import contextlib
import json
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.jobs.follower import Follower
from dmlviz.process_setup import limit_faiss_to_one_thread, lower_priority
from dmlviz.recording.messages import Item, SnapshotMessage, StepMessage, receive
from dmlviz.recording.run_writer import RunPlan, RunWriter
from dmlviz.runs.record_writer import error_message

PARENT_CHECK_S = 2.0
LOST = "The training process ended without closing the recording."


class Session:
    """Writes what the messages of one recording say, and reports what cannot be written."""

    def __init__(self, plan: RunPlan, labels: np.ndarray) -> None:
        self.plan = plan
        self.labels = labels
        self.writer: RunWriter | None = None
        self.follower: Follower | None = None
        self.began = time.monotonic()
        self.cpu_seconds = 0.0
        self.waiting: list[StepMessage] = []  # steps before the first snapshot

    def handle(self, message: StepMessage | SnapshotMessage, array: np.ndarray | None) -> None:
        """Write one message."""
        self.cpu_seconds = message["cpu_seconds"]
        try:
            if message["event"] == "step":
                self._step(message)
            elif array is not None:
                self._snapshot(message, array)
        except Exception as error:  # the training goes on, and the next message may succeed
            answer(trouble=error_message(error))

    def end(self, reason: str) -> None:
        """End the run; without a snapshot there is none."""
        if self.writer is None:
            return
        try:
            with self.writer:
                self.writer.store()
                answer(stored=True)
                self.writer.end(reason, time.monotonic() - self.began, self.cpu_seconds)
            if self.follower is not None:
                self.follower.wait()
        except Exception as error:
            answer(trouble=error_message(error))

    def _step(self, message: StepMessage) -> None:
        if self.writer is None:
            self.waiting.append(message)
        else:
            self.writer.step(message["step"], message["loss"], message["active"], self.cpu_seconds)

    def _snapshot(self, message: SnapshotMessage, embeddings: np.ndarray) -> None:
        if self.writer is None:
            self.writer = RunWriter(self.plan, self.labels, embeddings)
            for waiting in self.waiting:
                self._step(waiting)
            self.waiting = []
        self.writer.snapshot(message["step"], embeddings, scored=not message["behind"])
        if self.plan.projection is not None and self.follower is None:
            self.follower = Follower(self.writer.run, self.plan.projection)
            self.follower.start()


def answer(**fields: Any) -> None:
    """Answer the training process, if it is still there."""
    with contextlib.suppress(OSError):
        print(json.dumps(fields), flush=True)


def messages(file: IO[bytes], parent: int) -> Iterator[Item]:
    """Yield messages until the other end is closed, or the training process is gone: a child of it may hold the end."""
    while True:
        ready, _, _ = select.select([file], [], [], PARENT_CHECK_S)
        if not ready:
            if os.getppid() != parent:
                return
            continue
        message = receive(file)
        if message is None:
            return
        yield message


def main() -> None:
    """Write one recording."""
    parent = os.getppid()
    lower_priority()  # the training goes first
    limit_faiss_to_one_thread()
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as file:
        write_recording(messages(file, parent))


def write_recording(stream: Iterator[Item]) -> None:
    """Write one recording from its messages: the plan with the labels, then what happens."""
    first = next(stream, None)
    if first is None:
        return
    plan, labels = first
    assert labels is not None
    assert plan["event"] == "plan"
    drawn = None if plan["projection"] is None else ProjectionConfig.from_json(plan["projection"])
    run_plan = RunPlan(Path(plan["runs"]), plan["title"], plan["recording"], plan["dataset"], plan["steps"], drawn)
    session = Session(run_plan, labels)
    reason = LOST
    for message, array in stream:
        if message["event"] == "end":
            reason = message["reason"]
            session.cpu_seconds = message["cpu_seconds"]
            break
        if message["event"] != "plan":
            session.handle(message, array)
    session.end(reason)


if __name__ == "__main__":
    main()
