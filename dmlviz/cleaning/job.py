"""Looks through the training data of a run in a worker process; the first suspects are written before the rest."""

from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image

from dmlviz.cleaning.decisions import CleaningRecord
from dmlviz.cleaning.findings import Cell, Findings, ReviewRow, StoredFindings
from dmlviz.cleaning.search import find
from dmlviz.cleaning.vector_search import pictures_of_vectors
from dmlviz.data import data_root as resolved_root
from dmlviz.data import load
from dmlviz.data.sprite_sheet import COMPRESSION, small_images, tile, tile_side
from dmlviz.jobs.job_events import CleaningFinished, CleaningProgress
from dmlviz.jobs.job_record import StoppedError, Work
from dmlviz.runs.run import Run
from dmlviz.storage.files import atomic_write, write_json

COLUMNS = 20  # tiles in a row


def clean_run(work: Work) -> None:
    """Search training data, as `dmlviz.cleaning.decisions.cleaning` orders; an exception ends the job as "failed".

    Raises:
        UserError: If the folder holds no order, or another process is at it.
    """
    folder, root = work.folder, resolved_root(work.data_root)
    record = CleaningRecord(folder)
    run = Run(record.order["run"])

    def go_on(words: str, share: float) -> None:
        if work.stop():
            raise StoppedError
        writer.progress(CleaningProgress(event="progress", words=words, share=round(share, 3)))

    with record.writing() as writer:
        findings = find(run, root, go_on, partial(_write, folder, root, 1))
        _write(folder, root, 2, findings)
        writer.finished(CleaningFinished(event="finished"))


def _write(folder: Path, root: Path, part: int, findings: Findings) -> None:
    """Write findings with, for each, the tiles of its image and of the one that it is compared with."""
    images, pictures = _images(findings, root), pictures_of(findings)
    if images is None:
        pictures = []
    elif pictures:
        tiles = small_images(np.stack([images[is_test][image] for is_test, image in pictures]))
        with atomic_write(folder / f"{part}.png") as file:
            Image.fromarray(tile(tiles, COLUMNS)).save(file, "PNG", compress_level=COMPRESSION)
    places = {picture: place for place, picture in enumerate(pictures)}
    rows = [
        vars(row)
        | {
            "tile": places.get((False, row.image)),
            "other_tile": None if row.other is None else places.get((row.kind == "leak", row.other)),
        }
        for row in findings.rows
    ]
    stored = StoredFindings(
        part=part,
        rows=cast(list[ReviewRow], rows),
        images=findings.images,
        uncompared=findings.uncompared,
        recall=findings.recall,
        steps=list(findings.steps),
        noun=findings.noun,
        notes=list(findings.notes),
        cells=[Cell(**cell, tile=places[False, cell["image"]]) for cell in findings.cells],
        tile=0 if images is None else tile_side(images[False]),
        columns=COLUMNS,
    )
    write_json(folder / "findings.json", stored)


def _images(findings: Findings, root: Path) -> dict[bool, np.ndarray] | None:
    """Return the images that were looked at, and the test images (True); None of vectors without pictures."""
    if not findings.of_vectors:
        dataset = load(findings.dataset, root)
        return {False: dataset.train.images, True: dataset.test.images}
    own = pictures_of_vectors(findings.dataset, root)
    return None if own is None else {False: own}


def pictures_of(findings: Findings) -> list[tuple[bool, int]]:
    """Return every picture of a review sheet once: whether it is a test image, and its index."""
    own = {(False, row["image"]) for row in findings.cells} | {(False, row.image) for row in findings.rows}
    others = {(row.kind == "leak", row.other) for row in findings.rows if row.other is not None}
    return sorted(own | others)
