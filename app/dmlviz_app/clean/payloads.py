"""The progress of a search in training data, and its findings so far, for the review sheet."""

from pathlib import Path

from dmlviz.cleaning.record import CleaningRecord
from dmlviz.data.corrections import load_corrections
from dmlviz.errors import DamagedFileError
from dmlviz.jobs.job import Status
from dmlviz.jobs.job_events import CleaningProgress
from dmlviz.runs.run import Run
from dmlviz_app.protocol.cleaning import Decision, ReviewAnswer
from dmlviz_app.protocol.common import ROUTES, SpriteSheets
from dmlviz_app.server.services import Services


def findings(run: Run, services: Services) -> ReviewAnswer:
    """Return the state of the search, its findings so far, and what was decided about the data set's images."""
    record = CleaningRecord.of(run, services.store)
    status = services.scheduler.status(record)
    try:
        progress = record.progress if status.phase == "running" else None
    except DamagedFileError:
        progress = None
    share = 0.0 if progress is None else progress["share"]
    decided = load_corrections(services.data, run.config.dataset).images
    answer = ReviewAnswer(
        state=status.phase,
        words=_words(status, progress),
        share=share,
        decisions={
            str(image): Decision(action=one.action, label=one.label, tag=one.tag) for image, one in decided.items()
        },
    )
    stored = record.findings
    if stored is None:
        return answer
    sheet = SpriteSheets(
        tile=stored["tile"],
        columns=stored["columns"],
        per_sheet=1_000_000,
        urls=[f"{ROUTES}/runs/{run.id}/cleaning-{stored['part']}.png"],
    )
    return {
        **answer,
        "part": stored["part"],
        "rows": stored["rows"],
        "images": stored["images"],
        "uncompared": stored["uncompared"],
        "recall": stored["recall"],
        "steps": stored["steps"],
        "sheet": sheet,
    }


def pictures(run: Run, services: Services, part: int) -> Path:
    """Return the file with the pictures of a part of the findings; it need not be there."""
    return CleaningRecord.of(run, services.store).path / f"{part}.png"


def _words(status: Status, progress: CleaningProgress | None) -> str:
    """Return the state of a search in a sentence; empty before the first search and after one has finished."""
    return {
        "queued": f"Waiting in the queue: {status.position} of {status.of}.",
        "starting": "Starting …",
        "running": f"{'Loading the images' if progress is None else progress['words']} …",
        "stopping": "Stopping …",
        "stopped": "The search was stopped.",
        "interrupted": "The server ended before the search did.",
        "failed": status.reason,
    }.get(status.phase, "")
