"""A fleet that shares a folder, such as one of NFS: what lies where, and who is alive.

    machines/NAME.json          written by a machine every second: who it is, and a number that grows
    servers/NAME.json           the same of a server
    orders/MACHINE/ORDER/       one training or trial; made by the server, which also deletes it
        order.json              what to do, and the server's name
        stop, kill              empty files: stop between two batches, or at once
        messages/000000.json    what the machine says, as `dmlviz.fleet.machine` has it
        run.zip                 the packed run, at the end; or
        error.json              why there is none

Every file appears complete, by a rename. No clock is compared with another machine's: whoever's number has not grown
for STALE_S seconds is lost.
"""

import json
import re
import secrets
import stat
import time
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.fleet.errors import FleetError
from dmlviz.storage.files import atomic_write, ensure_dir, read_json, write_json

PREFIX = "folder:"  # of the address of such a fleet
BEAT_S = 1.0  # seconds between two beats
STALE_S = 30.0  # seconds without a beat after which somebody is lost
POLL_S = 0.1  # seconds between two looks for something new
MAX_MESSAGE_BYTES = 64_000_000
MAX_RUN_BYTES = 1_500_000_000
LIVE_INFO = ("device", "threads")  # what a message may say for run.json
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,59}")


def check_folder(folder: Path) -> Path:
    """Return the folder of a fleet, made if need be.

    Raises:
        FleetError: If it cannot be written to, or if everybody on the machine could give orders through it.
    """
    try:
        for name in ("machines", "servers", "orders"):
            ensure_dir(folder / name)
        mode = folder.stat().st_mode
    except OSError as error:
        raise FleetError(
            f"The fleet's folder {folder} cannot be used: {error.strerror}. Choose one that all machines can write to."
        ) from None
    if mode & stat.S_IWOTH:
        raise FleetError(
            f"Everybody can write to the fleet's folder {folder}, and so give orders; forbid it: chmod o-w {folder}"
        )
    return folder.resolve()


def check_name(name: str) -> str:
    """Return the name of a machine; raise FleetError unless it can be the name of a file."""
    if not _NAME.fullmatch(name):
        raise FleetError(
            "A machine's name has at most 60 letters, digits or . _ -, and begins with a letter or a digit; "
            f"got {name[:70]!r}. Choose another with --name."
        )
    return name


class Beat:
    """Says that this process lives, in a file that it writes again every second.

    Args:
        file: The file.
        facts: What else to say.
    """

    def __init__(self, file: Path, facts: dict[str, Any]) -> None:
        self.file = file
        self.instance = secrets.token_hex(8)  # whoever comes back after a fault is another
        self._facts = facts
        self._number = 0
        self._written = float("-inf")

    def write(self, **facts: Any) -> None:
        """Write the file, if it is time again."""
        now = time.monotonic()
        if now - self._written >= BEAT_S:
            self._written, self._number = now, self._number + 1
            write_json(self.file, self._facts | facts | {"instance": self.instance, "beat": self._number})

    def close(self) -> None:
        """Delete the file: nobody need wait until it is stale."""
        self.file.unlink(missing_ok=True)


class Pulse:
    """Looks at the beats of others.

    Args:
        folder: The folder of their files.
        stale_s: Seconds without a beat after which somebody is lost.
        benefit: Whether who is seen for the first time counts as living; otherwise only after another beat.
    """

    def __init__(self, folder: Path, stale_s: float = STALE_S, *, benefit: bool) -> None:
        self.folder = folder
        self._stale_s = stale_s
        self._benefit = benefit
        self._seen: dict[str, tuple[object, float]] = {}

    def living(self) -> dict[str, dict[str, Any]]:
        """Return what everybody says who lives, by name."""
        now, living = time.monotonic(), {}
        for path in self.folder.glob("*.json"):
            facts = read_json(path)
            if not isinstance(facts, dict) or not _NAME.fullmatch(path.stem):
                continue
            mark = (facts.get("instance"), facts.get("beat"))
            if path.stem not in self._seen:
                self._seen[path.stem] = mark, now if self._benefit else float("-inf")
            elif self._seen[path.stem][0] != mark:
                self._seen[path.stem] = mark, now
            if now - self._seen[path.stem][1] < self._stale_s:
                living[path.stem] = facts
        return living


def write_message(path: Path, message: dict[str, Any]) -> None:
    """Write a message of a machine as JSON, its files as base64."""
    files = {name: b64encode(content).decode() for name, content in message["files"].items()}
    with atomic_write(path) as file:
        file.write(json.dumps(message | {"files": files}).encode())


def read_message(path: Path) -> dict[str, Any] | None:
    """Return a message; None while it is not there.

    Raises:
        UserError: If it is none.
    """
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= MAX_MESSAGE_BYTES else b""
    except OSError:
        return None
    try:
        message = json.loads(content)
        files = {str(name): b64decode(text, validate=True) for name, text in message["files"].items()}
        lines = [str(line) for line in message["lines"]]
        info = {name: message["info"][name] for name in LIVE_INFO if name in message["info"]}
        return {"first": int(message["first"]), "lines": lines, "files": files, "info": info}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"Its message {path.name} cannot be read.") from None
