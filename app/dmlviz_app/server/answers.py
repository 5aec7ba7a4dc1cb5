"""Answers that take long or are large: prepared by workers, one for equal requests, and gone with their readers.

Whatever costs more than 50 ms or 50 MB is an order (`dmlviz.jobs.order.answer`): it waits for its turn beside those of
others, has a limit of time, writes its result into a folder, and is stopped when nobody waits for it any more.
"""

import asyncio
import hashlib
import json
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from dmlviz.errors import BusyError, DiskFullError, UserError
from dmlviz.jobs.job_record import AnswerOrder, AnswerRecord
from dmlviz.jobs.order import Order, answer
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.storage.disk_space import disk_full, remove_stale_folders
from dmlviz.storage.file_lock import FileLock

PREFIX, LOCK = "dmlviz-answers-", "lock"  # of a folder beside other temporary files, with one for each answer
LIMIT_S = 300.0  # seconds that an answer may take in its worker; a busy machine needs twenty for most
NEW_S = 60.0  # seconds in which a new server locks its folder
STALL_S = 60.0  # seconds in which a reader takes the next part of a file, or is gone
LOOK_S = 0.5  # seconds between two looks whether a reader is still there
MAX_OF_PERSON, MAX_OF_ALL = 6, 60  # large answers that are on their way at once: a browser opens six connections


class UnderWayError(UserError):
    """What was asked for is being prepared; `work` is the ID of that work."""

    def __init__(self, work: str) -> None:
        super().__init__("This is being computed: ask again in a minute.")
        self.work = work


class WorkerEndedError(UserError):
    """The worker that was to answer ended, most likely killed as the machine needed its memory."""


class Turns:
    """How many people, and each of them, have something large on its way. Safe for several threads."""

    def __init__(self, of_person: int, of_all: int) -> None:
        self._of_person, self._of_all = of_person, of_all
        self._people: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def of(self, person: str, busy: str) -> Iterator[None]:
        """Hold one for as long as the block lasts; raise BusyError, with the sentence `busy`, where there is none."""
        with self._lock:
            if self._people[person] >= self._of_person or self._people.total() >= self._of_all:
                raise BusyError(busy)
            self._people[person] += 1
        try:
            yield
        finally:
            with self._lock:
                self._people[person] -= 1
                self._people += Counter()  # drops those who have none


class Answers:
    """The answers of a server."""

    def __init__(self, scheduler: JobScheduler) -> None:
        self.scheduler = scheduler
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with suppress(OSError):  # another server may remove it, too
                is_new = time.time() - folder.stat().st_mtime < NEW_S  # it may be about to be locked
                if not is_new and not FileLock(folder / LOCK).locked:  # left by a server that was killed
                    shutil.rmtree(folder, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        self._in_use = FileLock(self.folder / LOCK)
        self._in_use.acquire()
        self._turns = Turns(MAX_OF_PERSON, MAX_OF_ALL)
        self._readers: Counter[Path] = Counter()
        self._lock = threading.Lock()

    def order(self, ask: str, about: str = "", **arguments: Any) -> Order[AnswerRecord]:
        """Return the order of an answer: see `dmlviz.workers.answers`; equal ones have the same folder."""
        content = AnswerOrder(kind="answer", ask=ask, about=about, arguments=arguments)
        name = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        return answer(self.folder / name, content, LIMIT_S)

    def close(self) -> None:
        """Remove all answers."""
        self._in_use.release()
        shutil.rmtree(self.folder, ignore_errors=True)

    def expire(self) -> None:
        """Remove what has failed and nobody asked for since, so that it is tried again."""
        remove_stale_folders(self.folder, "*/")

    def begin(self, order: Order[AnswerRecord], owner: str) -> str:
        """Begin what is kept elsewhere and nobody waits for, unless it is under way; return why it failed, or ""."""
        end = AnswerRecord(order.folder).end
        if end is not None and end["event"] != "finished":
            return str(end["reason"])
        with suppress(BusyError):  # asked again with the next look
            self.scheduler.submit(order, owner, partial(self._remove_unread, order.folder, "finished"))
        return ""

    def begin_and_wait(self, order: Order[AnswerRecord], owner: str) -> NoReturn:
        """Begin what is kept elsewhere, as `begin`; raise UnderWayError, or UserError with the reason why it failed."""
        if reason := self.begin(order, owner):
            raise UserError(reason)
        raise UnderWayError(order.id)

    @asynccontextmanager
    async def open(
        self, request: Request, person: str, order: Order[AnswerRecord], killed: str = ""
    ) -> AsyncIterator[AnswerRecord]:
        """Give an answer for as long as the block lasts; its folder is removed when nobody reads it any more.

        Args:
            request: The request of the reader.
            person: The ID of the reader.
            order: The order.
            killed: The sentence for one whose worker was killed; by default how it ended.

        Raises:
            BusyError: If this person, or all, have many on their way.
            UserError: If it cannot be prepared, or the reader is gone.
        """
        with self._turns.of(person, "You have other answers on their way; ask again when they are here."):
            with self._lock:
                self._readers[order.folder] += 1
            try:
                yield await self._prepared(request, person, order, killed)
            finally:
                await asyncio.shield(asyncio.to_thread(self._release, order.folder))

    async def _prepared(self, request: Request, person: str, order: Order[AnswerRecord], killed: str) -> AnswerRecord:
        over, loop = asyncio.Event(), asyncio.get_running_loop()

        def on_end() -> None:
            self._remove_unread(order.folder)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(over.set)

        record = await asyncio.to_thread(self.scheduler.submit, order, person, on_end)
        while record.end is None and not over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), LOOK_S)
            if not over.is_set() and await request.is_disconnected():
                raise UserError("The reader is gone.")
        end = record.end
        if end is None:  # its end could not be written
            raise disk_full(order.folder)
        if end["event"] != "finished":
            if end["reason"].startswith("The disk is full"):
                raise DiskFullError.said_by(end["reason"])
            if end.get("cause") == "ended":
                raise WorkerEndedError(killed or end["reason"])
            raise UserError(end["reason"])
        return record

    def _release(self, folder: Path) -> None:
        with self._lock:
            self._readers[folder] -= 1
            if self._readers[folder]:
                return
            del self._readers[folder]
        if not self.scheduler.stop(AnswerRecord(folder)):  # else it is removed at its end
            self._remove_unread(folder)

    def _remove_unread(self, folder: Path, only: str = "") -> None:
        """Remove the folder of an answer that nobody reads; with `only`, if it has ended so."""
        with self._lock:
            is_read = folder in self._readers
        if not is_read and only in ("", AnswerRecord(folder).state):
            shutil.rmtree(folder, ignore_errors=True)


class AnswerFile(FileResponse):
    """The file of an answer, streamed from disk to a reader who takes it, under the name to keep it by."""

    chunk_size = 1 << 19  # bytes: a large file costs the server half of what it does in pieces of 64 kB

    def __init__(self, record: AnswerRecord, held: AsyncExitStack, media_type: str, headers: dict[str, str]) -> None:
        name = str({**(record.end or {})}.get("name", ""))
        text = quote(name, safe="")
        said = f'filename="{name}"' if text == name else f"filename*=utf-8''{text}"
        headers = {**headers, "Content-Disposition": f"attachment; {said}"}
        super().__init__(str(record.result), headers=headers, media_type=media_type)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file; a reader who takes nothing for a minute is gone."""

        async def to_reader(message: Message) -> None:
            async with asyncio.timeout(STALL_S):
                await send(message)

        async with self._held:
            with suppress(TimeoutError):
                await super().__call__(scope, receive, to_reader)
