"""What a machine of the fleet is ordered to do: a training, or a trial of a study."""

import hashlib
import re
from typing import Any, TypeAlias

from dmlviz.jobs.trial_record import TrialRecord
from dmlviz.runs.run import Run

Record: TypeAlias = Run | TrialRecord
ORDER_NAME = re.compile(r"[0-9a-f]{8}-[0-9]{1,9}-[0-9a-f]{16}")  # server, number, `order_id`


def order_id(record: Record) -> str:
    """Return 16 hexadecimal digits that tell jobs apart: the id of a run, a hash of a trial's folder."""
    if isinstance(record, Run):
        return record.id
    return hashlib.sha256(str(record.path.resolve()).encode()).hexdigest()[:16]


def dataset_of(record: Record) -> str:
    """Return the name of the data set that the job reads."""
    return record.config.dataset if isinstance(record, Run) else str(record.order["trial"]["dataset"])


def content_of(record: Record) -> dict[str, Any]:
    """Return the order as plain JSON types: {"config"} of a training, or {"lab", "trial"}."""
    if isinstance(record, Run):
        return {"config": record.config.model_dump(mode="json")}
    return {"lab": record.order["lab"], "trial": record.order["trial"]}
