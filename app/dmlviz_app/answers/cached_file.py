"""Files of the cache folder: what a route or a worker makes once, and is kept where the disk takes it."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request

from dmlviz.errors import BusyError, DamagedFileError, UserError
from dmlviz.storage.files import atomic_write
from dmlviz.storage.regular_file import open_regular
from dmlviz_app.server.access import personal
from dmlviz_app.server.answers import LOOK_S, WorkerEndedError
from dmlviz_app.server.threads import ASKERS

CHEAP = 2_000  # test images; what is computed of so many takes a few milliseconds


def cached_file(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return the content of a file of the cache; made and kept where it is not there.

    Args:
        path: The file.
        make: Makes its content. On a full disk, or one that can only be read, it is called each time.
    """
    content = kept_file(path)
    if content is None:
        content = make()
        keep_file(path, content)
    return content


async def computed_file(request: Request, name: str, ask: str, about: str = "", **arguments: Any) -> bytes:
    """Return the content of a file of the cache; where it is not there, a worker computes it, once for equal requests.

    Args:
        request: The request of the reader, who waits for their turn without a thread.
        name: The file within the cache folder, another one when what it is computed from has changed.
        ask: The kind of work.
        about: ID of a run.
        **arguments: Those of the work.

    Raises:
        BusyError: If this person, or all, ask a lot already.
        UserError: If it cannot be computed, or the reader is gone.
    """
    services = personal(request)
    path, has_failed = services.cache / name, False
    order = services.answers.order(ask, about, name=name, **arguments)
    with ASKERS.of(services.person.id, "You have asked a lot at once; ask again when the answers are here."):
        while (content := await asyncio.to_thread(kept_file, path)) is None:
            try:
                async with services.answers.open(request, services.person.id, order) as record:
                    content = await asyncio.to_thread(record.result.read_bytes)
                    await asyncio.to_thread(keep_file, path, content)
                    return content
            except BusyError:  # other answers are on their way
                if await request.is_disconnected():
                    raise UserError("The reader is gone.") from None
                await asyncio.sleep(LOOK_S)
            except WorkerEndedError:
                if has_failed:
                    raise
                has_failed = True  # once more: a machine has its memory back in a moment
    return content


def kept_file(path: Path) -> bytes | None:
    """Return the content of a file of the cache; None where it is not there."""
    with contextlib.suppress(FileNotFoundError, DamagedFileError), open_regular(path) as file:
        return file.read()
    return None


def keep_file(path: Path, content: bytes) -> None:
    """Write a file of the cache, if the disk takes it."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, len(content)) as file:
            file.write(content)
