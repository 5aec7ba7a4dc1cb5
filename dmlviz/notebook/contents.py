"""What the widget shows, packed as the exported page packs it: see `frontend/src/notebook/runPage.ts`."""

from base64 import b64encode
from typing import Any

import numpy as np

from dmlviz.export.contents import RunExport
from dmlviz.export.page import page_contents


def finished_contents(kept: RunExport, plain: bool = False) -> dict[str, Any]:
    """Return what is shown of a finished run; `plain` leaves out its scores and its loss curve."""
    return page_contents(kept) | {"begun": kept.run.info["created"], "plain": plain}


def live_contents(kept: RunExport, labels: np.ndarray) -> dict[str, Any]:
    """Return the same of a run that is on: without neighbors, and without events, which are sent as they come.

    Args:
        kept: the run, in its own view.
        labels: class IDs of the images (n).
    """
    run, tracked = kept.run, kept.run.tracked_indices
    return {
        "run": run.id,
        "view": "live",
        "begun": run.info["created"],
        "dataset": run.config.dataset,
        "classes": list(kept.classes),
        "n": len(labels),
        "labels": b64encode(np.ascontiguousarray(labels).astype("<u2").tobytes()).decode(),
        "tracked": [] if tracked is None else tracked.tolist(),
        "near": None,
        "sprites": {
            "pngs": [b64encode(png).decode() for png in kept.sheets.pngs] if kept.sheets else [],
            "tile": kept.sheets.tile if kept.sheets else 28,
        },
        "plain": False,
        "streams": [],
        "left_out": 0,
    }
