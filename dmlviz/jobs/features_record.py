"""The folder in which features of a data set are computed: what is to be done, how far it is, what is done already."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dmlviz.errors import DamagedFileError
from dmlviz.runs.event_log_dir import EventLogDir
from dmlviz.storage.files import ensure_dir, read_json, write_json
from dmlviz.storage.run_schema.validation import OBJECT

ORDER_FILE = "features.json"


class FeaturesRecord(EventLogDir):
    """A folder with `features.json` (the order), `events.jsonl`, and the features of the images that are done.

    The events are "started", "progress" (`done` and `of` images, `left` seconds or null) and an end: "finished"
    (`dataset`, the name of the new one), "stopped" or "failed" (`reason`).
    """

    kinds: TypeAdapter[Any] = OBJECT

    @classmethod
    def create(cls, path: Path, order: dict[str, Any]) -> "FeaturesRecord":
        """Make the folder of a computation that has not begun.

        Args:
            path: The folder; of an earlier attempt only its events are taken away.
            order: What is to be done: {"dataset", "backbone", "weights": a path or None, "title"}, and what else its
                reader wants to know.
        """
        ensure_dir(path)
        (path / "events.jsonl").unlink(missing_ok=True)
        write_json(path / ORDER_FILE, order)
        return cls(path)

    @property
    def order(self) -> dict[str, Any]:
        """What is to be done; raise DamagedFileError where it cannot be read."""
        order = read_json(self.path / ORDER_FILE)
        if not isinstance(order, dict):
            raise DamagedFileError(self.path / ORDER_FILE, "it names no data set and no backbone")
        return order

    @property
    def progress(self) -> dict[str, Any]:
        """The last word on the progress; empty before there is one. Raise DamagedFileError where it cannot be read."""
        lines = (line for line in reversed(self.log.lines()) if b'"event":"progress"' in line)
        last = next(lines, None)
        return {} if last is None else self.log.event(last)
