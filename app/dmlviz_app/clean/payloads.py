"""The progress of a search in training data, and its findings so far, for the review sheet."""

from io import BytesIO
from pathlib import Path

from dmlviz.cleaning.decisions import CleaningRecord
from dmlviz.cleaning.findings import findings_of
from dmlviz.data.corrections import load_corrections
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.claims import work_id
from dmlviz.jobs.job import Status
from dmlviz.jobs.job_events import CleaningProgress
from dmlviz.runs.run import Run
from dmlviz.runs.run_columns import run_columns
from dmlviz.storage.csv_table import write_csv
from dmlviz_app.answers.item_neighbors import values_of_rows
from dmlviz_app.clean.protocol import Decision, ReviewAnswer
from dmlviz_app.clean.state import has_own_vectors
from dmlviz_app.server.protocol import ROUTES, SpriteSheets
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
        work=work_id(record.path),
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
    for name in ("part", "rows", "images", "uncompared", "recall", "steps", "noun", "notes", "cells"):
        answer[name] = stored[name]
    if stored["tile"]:
        answer["sheet"] = SpriteSheets(
            tile=stored["tile"],
            columns=stored["columns"],
            per_sheet=1_000_000,
            urls=[f"{ROUTES}/runs/{run.id}/cleaning-{stored['part']}.png"],
        )
    elif (columns := run_columns(run, services.data)) is not None:
        answer["values"] = values_of_rows(columns, sorted({row["image"] for row in stored["rows"]}))
    return answer


def table(run: Run, services: Services) -> bytes:
    """Return the findings in own vectors, and all other rows that were decided about, with the decisions, as CSV.

    Raises:
        UserError: Before the first search, or for a run of training images.
    """
    stored, labels = CleaningRecord.of(run, services.store).findings, run.labels
    if stored is None or labels is None or not has_own_vectors(run):
        raise UserError("Look through own vectors first: then there is a table of what was found and decided.")
    corrections, file = load_corrections(services.data, run.config.dataset), BytesIO()
    findings = findings_of(run, stored).with_decided(corrections, labels)
    write_csv(findings.table(corrections), file)
    return file.getvalue()


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
