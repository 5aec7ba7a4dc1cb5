"""A run that a machine of the fleet trains, on the server's disk: live lines and frames first, the whole run last."""

import hashlib
import os
from io import BytesIO
from typing import Any

from dmlviz.errors import UserError
from dmlviz.fleet.errors import MachineLostError
from dmlviz.fleet.machine import LAST_EVENTS
from dmlviz.runs.archive import is_run_file, unpacked_run
from dmlviz.runs.run import Run
from dmlviz.storage.files import atomic_write, ensure_dir, read_json, write_json


class LiveRecord:
    """Writes what a machine sends into the folder of a run.

    Until the packed run is there, the log has no final event: what is cut off can be told from what is whole.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.lines = 0  # of the log, so far
        self._complete = False  # but for what comes with the packed run

    def update_info(self, **fields: Any) -> None:
        """Write fields into run.json; its title may be new."""
        self.run.info = (read_json(self.run.path / "run.json") or self.run.info) | fields
        write_json(self.run.path / "run.json", self.run.info)

    def write(self, message: dict[str, Any]) -> bool:
        """Write the new lines of a message, and before them the files that they speak of.

        Returns:
            False, and nothing is written, if lines before it are missing.

        Raises:
            UserError: If the message holds what does not belong to a run.
        """
        known = self.lines - message["first"]
        if self._complete:
            return True
        if known < 0:
            return False
        lines: list[bytes] = []
        for line in message["lines"][known:]:
            event = self.run.log.event(line.encode(), self.lines + len(lines))
            if event["event"] in LAST_EVENTS:
                self._complete = True
                break
            lines.append(line.encode())
        for name, content in message["files"].items():
            self._write_file(name, content)
        if message["info"]:
            self.update_info(**message["info"])
        self.run.log.append_lines(lines)
        self.lines += len(lines)
        return True

    def finish(self, packed: bytes) -> None:
        """Put the packed run in the place of what came before, its final event last.

        Raises:
            UserError: If it is no valid run of these settings.
            MachineLostError: If it was cut off.
        """
        with unpacked_run(BytesIO(packed), self.run.path.parent) as whole:
            if whole.id != self.run.id:
                raise UserError(f"It is run {whole.id}, not {self.run.id}.")
            if whole.end is None:
                raise MachineLostError("The training was cut off.")
            for path in sorted(whole.path.rglob("*")):
                name = path.relative_to(whole.path)
                if path.is_file() and str(name) not in ("run.json", "events.jsonl"):
                    os.replace(path, ensure_dir((self.run.path / name).parent) / name.name)
            kept = ("device", "threads", "timings")
            self.update_info(**{name: whole.info[name] for name in kept if name in whole.info})
            before, after = self.run.log.lines(), whole.log.lines()
            if after[: len(before)] == before:
                self.run.log.append_lines(after[len(before) :])
            else:
                os.replace(whole.log.path, self.run.log.path)

    def _write_file(self, name: str, content: bytes) -> None:
        path = self.run.path / name
        if not is_run_file(name):
            raise UserError(f"A run has no file {name[:60]!r}.")
        if path.suffix == ".i16" and hashlib.sha256(content).hexdigest()[:16] != path.stem:
            raise UserError(f"{name} is not what its name says.")
        ensure_dir(path.parent)
        with atomic_write(path) as file:
            file.write(content)
