"""Live events: one reader per run, any number of listeners, as server-sent events."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path

from dmlviz.jobs.job import Status
from dmlviz.storage.files import LogFollower
from dmlviz.storage.run_schema.events import BegunEvent, EndEvent, MachineEvent, QueueEvent
from dmlviz_app.people.classroom import Changes

POLL_INTERVAL_S = 0.02  # seconds between two looks at a log; the longest that a frame waits before it is announced
STATUS_INTERVAL_S = 0.25  # seconds between two questions about queue and end
HEARTBEAT_S = 15.0  # seconds of silence after which a comment keeps proxies from closing the line

Ask = Callable[[], Status]
"""Answers how the job that writes the log stands."""


class LogStream:
    """Reads one log while it has listeners, and gives each line to all of them."""

    def __init__(self, log: Path, state: Ask) -> None:
        self.lines: list[str] = []
        self.queue: QueueEvent | None = None
        self.machine: MachineEvent | None = None
        self.restarts = 0  # times that the log was begun again
        self.end: EndEvent | None = None
        self.listeners = 0
        self.change = asyncio.Event()
        self._follower = LogFollower(log)
        self._state = state
        self._task: asyncio.Task[None] | None = None

    def join(self) -> None:
        """Add a listener; the first starts the reading."""
        self.listeners += 1
        if self._task is None:
            self._task = asyncio.create_task(self._read())

    def leave(self) -> bool:
        """Remove a listener; return True if it was the last, which ends the reading."""
        self.listeners -= 1
        if self.listeners == 0 and self._task is not None:
            self._task.cancel()
        return self.listeners == 0

    async def _read(self) -> None:
        try:
            await self._follow()
        except Exception:
            logging.getLogger(__name__).exception("a log could not be followed")
            self._finish("interrupted")

    async def _follow(self) -> None:
        last_status = -STATUS_INTERVAL_S
        clock = asyncio.get_running_loop().time
        while self.end is None:
            state = None
            if clock() - last_status >= STATUS_INTERVAL_S:
                # Asked before the log is read, so that the lines then read include all that was written before the end.
                state, last_status = await asyncio.to_thread(self._state), clock()
            new = self._follower.read_new()
            begun_again = self._follower.restarts != self.restarts
            if begun_again:
                self.lines.clear()
                self.restarts = self._follower.restarts
            self.lines += [line for _, line in new]
            queue = _queue_event(state) if state is not None else self.queue
            machine = _machine_event(state) if state is not None else self.machine
            if state is not None and not state.is_live:
                self._finish(state.phase)
            elif new or begun_again or (queue, machine) != (self.queue, self.machine):
                self.queue, self.machine = queue, machine
                self._announce()
            await asyncio.sleep(POLL_INTERVAL_S)

    def _finish(self, phase: str) -> None:
        self.end = EndEvent(event="end", state=phase)
        self._announce()

    def _announce(self) -> None:
        self.change.set()
        self.change = asyncio.Event()


def _queue_event(state: Status) -> QueueEvent | None:
    if state.phase not in ("queued", "starting"):
        return None
    return {"event": "queue", "phase": state.phase, "position": state.position, "of": state.of}


def _machine_event(state: Status) -> MachineEvent | None:
    if not state.machine and not state.lost:
        return None
    return {"event": "machine", "machine": state.machine, "lost": state.lost}


class StreamHub:
    """The logs that are followed now, by path."""

    def __init__(self) -> None:
        self._open: dict[Path, LogStream] = {}
        self.closing = asyncio.Event()

    async def follow(
        self, log: Path, state: Ask, after: int = -1, heartbeat: float = HEARTBEAT_S
    ) -> AsyncGenerator[str]:
        """Yield the blocks of an event stream: the lines of a log, queue positions, then the end.

        Args:
            log: The log.
            state: Answers how its job stands.
            after: Number of the last line that the listener has; -1 for none.
            heartbeat: Seconds of silence after which a comment is sent.
        """
        stream = self._open.get(log)
        if stream is None or stream.end is not None:
            stream = self._open[log] = LogStream(log, state)
        stream.join()
        line_count, queue, machine, restarts = after + 1, None, None, stream.restarts
        try:
            yield "retry: 1000\n\n"
            while True:
                change = stream.change
                block: list[str] = []
                if stream.restarts != restarts:
                    restarts, line_count, queue, machine = stream.restarts, 0, None, None
                    block.append(f"data: {json.dumps(BegunEvent(event='begun'))}\n\n")
                block += [f"id: {n}\ndata: {line}\n\n" for n, line in enumerate(stream.lines[line_count:], line_count)]
                line_count = max(line_count, len(stream.lines))
                if stream.queue is not None and stream.queue != queue:
                    queue = stream.queue
                    block.append(f"data: {json.dumps(queue)}\n\n")
                if stream.machine is not None and stream.machine != machine:
                    machine = stream.machine
                    block.append(f"data: {json.dumps(machine)}\n\n")
                if stream.end is not None:
                    block.append(f"data: {json.dumps(stream.end)}\n\n")
                if block:
                    yield "".join(block)
                if stream.end is not None or self.closing.is_set():
                    return
                if stream.change is change and not await self._wait(change, heartbeat):
                    yield ": still here\n\n"
        finally:
            if stream.leave() and self._open.get(log) is stream:
                del self._open[log]

    async def follow_state(
        self, changes: Changes, state: Callable[[], Mapping[str, object] | None], heartbeat: float = HEARTBEAT_S
    ) -> AsyncGenerator[str]:
        """Yield the blocks of an event stream of a state: as it is now, and whenever it is another.

        Args:
            changes: Says when to ask for the state again.
            state: Answers the state as an event; None when the stream is over.
            heartbeat: Seconds of silence after which a comment is sent, and the state is asked for.
        """
        with changes.listen() as change:
            yield "retry: 1000\n\n"
            last_text = None
            while not self.closing.is_set():
                change.clear()
                event = await asyncio.to_thread(state)
                if event is None:
                    yield f"data: {json.dumps(EndEvent(event='end', state='finished'))}\n\n"
                    return
                text = json.dumps(event)
                if text != last_text:
                    last_text = text
                    yield f"data: {text}\n\n"
                if not await self._wait(change, heartbeat):
                    yield ": still here\n\n"

    async def _wait(self, change: asyncio.Event, heartbeat: float) -> bool:
        waiting = [asyncio.create_task(change.wait()), asyncio.create_task(self.closing.wait())]
        try:
            done, _ = await asyncio.wait(waiting, timeout=heartbeat, return_when=asyncio.FIRST_COMPLETED)
            return bool(done)
        finally:
            for task in waiting:
                task.cancel()

    @property
    def open_streams(self) -> int:
        """The number of logs that are being read."""
        return len(self._open)

    @property
    def listeners(self) -> int:
        """The number of listening pages."""
        return sum(stream.listeners for stream in self._open.values())

    def close(self) -> None:
        """End every stream, because the server is ending."""
        self.closing.set()


event_hub = StreamHub()
