"""The folder of one trial of a study: what is to be done, how far it is, and what came out."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dmlviz.errors import DamagedFileError
from dmlviz.runs.event_log_dir import EventLogDir
from dmlviz.storage.files import ensure_dir, read_json, write_json
from dmlviz.storage.run_schema.validation import OBJECT

ORDER_FILE = "trial.json"


class TrialRecord(EventLogDir):
    """A folder with `trial.json` (the order), `events.jsonl` (progress and end) and what the trial writes beside them.

    The events are "started", "progress" (`share`, `values`) and an end: "finished" (`values`), "stopped" or "failed"
    (`reason`).
    """

    kinds: TypeAdapter[Any] = OBJECT

    @classmethod
    def create(cls, path: Path, order: dict[str, Any]) -> "TrialRecord":
        """Make the folder of a trial that has not begun.

        Args:
            path: The folder; of an earlier attempt only its events are taken away.
            order: What is to be done: {"lab", "trial"}.
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
            raise DamagedFileError(self.path / ORDER_FILE, "it holds no trial")
        return order
