"""The process that writes, as the training process sees it: messages queue up and go out in a thread."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading

import numpy as np

from dmlviz.process_setup import ONE_THREAD_ENV
from dmlviz.recording.messages import EndMessage, Item, Message, PlanMessage, send
from dmlviz.recording.run_writer import RunPlan

MAX_WAITING_BYTES = 256 << 20  # of snapshots in the queue; beyond it the training waits for the writer
PIPE_BYTES = 1 << 20
PROGRAM = "import sys; sys.path[:] = {path!r}; from dmlviz.recording.writer_process import main; main()"


class WriterHandle:
    """Starts the process that writes, and sends it messages.

    Args:
        plan: Description of the run.
        labels: Class IDs (n).

    Attributes:
        trouble: Reason why something could not be written; empty while all is well.
    """

    def __init__(self, plan: RunPlan, labels: np.ndarray) -> None:
        self.trouble = ""
        self._queue: queue.Queue[Item | None] = queue.Queue()
        self._waiting: list[int] = []  # bytes of the snapshots in the queue
        self._change = threading.Condition()
        self._on_disk = threading.Event()  # all embeddings are on disk, or the process has ended
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | ONE_THREAD_ENV,
            bufsize=0,
            pipesize=PIPE_BYTES,
            start_new_session=True,  # Ctrl-C is for the training, which then closes the recording
        )
        message = PlanMessage(
            event="plan",
            runs=str(plan.runs),
            title=plan.title,
            recording=plan.recording,
            dataset=plan.dataset,
            steps=plan.steps,
            projection=None if plan.projection is None else plan.projection.to_json(),
        )
        self._queue.put((message, labels))
        self._threads = [
            threading.Thread(target=target, name="recording", daemon=True) for target in (self._feed, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, message: Message, array: np.ndarray | None = None) -> None:
        """Queue a message; waits where the writer is far behind, so that memory stays bounded."""
        if array is not None:
            size = array.nbytes
            with self._change:
                self._change.wait_for(lambda: not self._waiting or sum(self._waiting) + size < MAX_WAITING_BYTES)
                self._waiting.append(size)
        self._queue.put((message, array))

    def close(self, message: EndMessage) -> None:
        """Send the last message, and wait until all embeddings are on disk; the process goes on with their scores."""
        self._queue.put((message, None))
        self._queue.put(None)
        self._on_disk.wait()

    def wait(self) -> None:
        """Wait until the process has ended, after `close`."""
        for thread in self._threads:
            thread.join()
        status = self._process.wait()
        if status and not self.trouble:
            self.trouble = self._trouble(status)

    def _feed(self) -> None:
        """Write the messages to the process; after it has ended, drop them."""
        file, is_open = self._process.stdin, True
        assert file is not None
        while (item := self._queue.get()) is not None:
            message, array = item
            is_snapshot = message["event"] == "snapshot"
            if message["event"] == "snapshot":
                message["behind"] = len(self._waiting) > 1
            try:
                if is_open:
                    send(file, message, array)
            except OSError:
                is_open = False
                self.trouble = self.trouble or self._trouble(self._process.wait())
            finally:
                if is_snapshot:
                    with self._change:
                        self._waiting.pop(0)
                        self._change.notify()
        with contextlib.suppress(OSError):  # it was full of unread messages
            file.close()

    def _listen(self) -> None:
        """Read what the process says: that the embeddings are stored, and what it complains of."""
        file = self._process.stdout
        assert file is not None
        with file:
            for line in file:
                try:
                    answer = json.loads(line)
                except ValueError:
                    continue
                if answer.get("stored"):
                    self._on_disk.set()
                self.trouble = self.trouble or str(answer.get("trouble", ""))
        self._on_disk.set()

    @staticmethod
    def _trouble(status: int) -> str:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"the process that writes the run has ended ({how})."
