"""A job on another machine, seen from the server: it looks like a worker process to the scheduler."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Literal, Protocol

from dmlviz.errors import UserError
from dmlviz.fleet import MachineLostError
from dmlviz.fleet.live_record import LiveRecord, LiveRun, LiveTrial
from dmlviz.fleet.machine import Message
from dmlviz.jobs.job_record import TrialRecord
from dmlviz.jobs.placement import EventQueue, WorkerEvent
from dmlviz.runs.record_writer import error_message
from dmlviz.runs.run import EventLogDir, Run

SILENCE_S = 5.0  # seconds without a message after which the machine is asked for what was missed
KILL_TIMEOUT_S = 3.0  # seconds that a machine has to end a job and send what there is

Note = tuple[Literal["message", "result", "lost", "stop", "kill"], Any]


class Link(Protocol):
    """Connection to the machine that does one job. Its methods raise MachineLostError without an answer."""

    def message_from(self, first: int) -> Message | None:
        """Return the message from line number `first` on; None when the job is over there."""

    def stop(self, force: bool) -> None:
        """Stop the job between two batches, or at once."""

    def close(self) -> None:
        """Give up the result."""


class RemoteJob:
    """A training, or a trial of a study, on a machine of the fleet.

    Args:
        record: The run or the trial, without events.
        machine: The machine's name.
        events: Queue of its messages and its end.
        connect: Sends the order and returns the link; the link's owner calls `on_message`, `on_result`, `on_lost`.
        on_end: Called before its end is reported, with whether the machine was lost.
    """

    def __init__(
        self,
        record: EventLogDir,
        machine: str,
        events: EventQueue,
        connect: Callable[["RemoteJob"], Link],
        on_end: Callable[["RemoteJob", bool], object],
    ) -> None:
        self.record = record
        self.machine = machine
        self._events = events
        self._connect = connect
        self._on_end = on_end
        self._notes: SimpleQueue[Note] = SimpleQueue()
        self._live: LiveRecord[Any] = (
            LiveRun(record) if isinstance(record, Run) else LiveTrial(TrialRecord(record.path))
        )
        self._thread = threading.Thread(target=self._work, name=f"job on {machine}", daemon=True)

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self.machine

    def start(self) -> None:
        """Start the job."""
        self._thread.start()

    def on_message(self, message: Message) -> None:
        """Receive a message of the machine."""
        self._notes.put(("message", message))

    def on_result(self, fetch: Callable[[], bytes]) -> None:
        """Receive the end of the job; `fetch` gets the packed run, and may raise MachineLostError or UserError."""
        self._notes.put(("result", fetch))

    def on_lost(self, why: str) -> None:
        """Note that the machine is gone, and why, in a sentence."""
        self._notes.put(("lost", why))

    def terminate(self) -> None:
        """Ask the machine to stop between two batches."""
        self._notes.put(("stop", None))

    def kill(self) -> None:
        """Kill the job."""
        self._notes.put(("kill", None))

    def join(self, timeout: float | None = None) -> None:
        """Wait until the job's end is in the queue."""
        self._thread.join(timeout)

    def _work(self) -> None:
        why, is_lost, link = "", False, None
        try:
            if not self.record.lock.acquire():
                raise UserError(f"Another process is writing {self.record.id}; wait until it ends, or stop it.")
            self._live.update_info(machine=self.machine)
            link = self._connect(self)
            self._follow(link)
        except MachineLostError as error:
            why, is_lost = str(error), True
        except UserError as error:
            why = f"{self.machine} cannot train this: {error}"
        except Exception as error:
            logging.getLogger(__name__).exception("a job of the fleet failed")
            why = error_message(error)
        finally:
            self.record.lock.release()
            if link is not None:
                link.close()
            self._on_end(self, is_lost)
            self._events.put(WorkerEvent(self, None, why, is_lost))

    def _follow(self, link: Link) -> None:
        """Write the machine's messages until the job is over; raise MachineLostError if it does not end."""
        last_message, deadline = time.monotonic(), float("inf")
        while True:
            try:
                kind, value = self._notes.get(timeout=min(SILENCE_S, max(0.0, deadline - time.monotonic())))
            except Empty:
                kind, value = "message", None
            if kind != "result" and time.monotonic() >= deadline:
                raise MachineLostError(f"{self.machine} did not end the job in {KILL_TIMEOUT_S:.0f} seconds.")
            match kind:
                case "message":
                    if value is not None and self._live.write(value):
                        last_message = time.monotonic()
                    elif value is not None or time.monotonic() - last_message >= SILENCE_S:
                        self._catch_up(link)
                        last_message = time.monotonic()
                case "result":
                    self._live.finish(value())
                    return
                case "lost":
                    raise MachineLostError(value)
                case "stop":
                    with contextlib.suppress(MachineLostError):  # the scheduler will soon ask by force
                        link.stop(force=False)
                        self._events.put(WorkerEvent(self, {"stopping": True}))
                case "kill":
                    with contextlib.suppress(MachineLostError):
                        link.stop(force=True)
                    deadline = time.monotonic() + KILL_TIMEOUT_S

    def _catch_up(self, link: Link) -> None:
        """Request missing lines; those still missing come with the packed run."""
        with contextlib.suppress(MachineLostError):
            while (message := link.message_from(self._live.lines)) is not None and message["lines"]:
                before = self._live.lines
                self._live.write(message)
                if self._live.lines == before:
                    return
