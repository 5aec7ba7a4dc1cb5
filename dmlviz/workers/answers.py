"""Answers that a page waits for and that take long or are large: what a worker does for them.

Each function writes the file of the answer, and returns the name under which a person keeps it; empty for none.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.jobs.job_events import AnswerFinished, AnswerProgress
from dmlviz.jobs.job_record import AnswerRecord, Work
from dmlviz.parts import kinds, lazy
from dmlviz.process_setup import limit_further_resources
from dmlviz.runs.archive import TOO_MUCH, export_run, unpack_run
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.neighbor_table import index_table, nearest_bytes
from dmlviz.runs.per_query import keep_per_query, per_query_bytes
from dmlviz.runs.point_values import point_values
from dmlviz.runs.run import Run
from dmlviz.storage.disk_space import writing
from dmlviz.storage.files import write_json
from dmlviz.storage.run_schema.descriptions import RunDescription
from dmlviz.workers import imports
from dmlviz.workers.imports import ImportRequest

SECONDS, BYTES_PER_SECOND = 2, 25_000_000  # of processor time: so many, and one more for so many bytes of an archive
MEMORY = 100_000_000  # bytes that an archive may take, beyond what the process has
MAX_THREADS = 4  # more would take the cores from other people's trainings


@dataclass(frozen=True)
class Target:
    """What an answer needs besides its arguments.

    Attributes:
        file: The file to write.
        data_root: Folder of the data sets.
        progress: Called with the share that is done.
    """

    file: Path
    data_root: Path | None
    progress: Callable[[float], object]


def export(
    target: Target,
    run: str,
    info: RunDescription,
    format: str,
    view: str | None,
    look: dict[str, str],
    holders: list[str] | None = None,
) -> str:
    """Write a run, or its map `view`, in a format.

    `info` has the title that the person sees, `look` their address, `holders` whose threshold it has.
    """
    from dmlviz.export import RunExport, write
    from dmlviz.export.look import Look

    source = _run(run, info)
    contents = RunExport.from_run(source, None if view is None else source.projection(view), target.data_root)
    contents = replace(contents, holders=holders, look=Look.of_address(look, source.config.dataset))
    with writing(target.file.parent), open(target.file, "wb") as file:
        write(format, contents, file)
    return contents.file_name(format)


def archive(target: Target, run: str, info: RunDescription) -> str:
    """Write a whole run as one zip."""
    source = _run(run, info)
    with writing(target.file.parent), open(target.file, "wb") as file:
        export_run(source, file)
    return f"{source.title}.zip"


def unpack(target: Target, archive: str, folder: str, holder: str, room: int) -> str:
    """Unpack and check an archive, with limits, into a new folder; the answer is the ID of the run."""
    with open(archive, "rb") as source:
        limit_further_resources(SECONDS + source.seek(0, 2) // BYTES_PER_SECOND, MEMORY)
        try:
            with writing(Path(folder).parent):
                Path(folder).mkdir()
                target.file.write_text(unpack_run(source, Path(folder), holder, room))
        except MemoryError:
            raise UserError(TOO_MUCH) from None
    return ""


def upload(target: Target, request: ImportRequest) -> str:
    """Read uploaded files, as `dmlviz.workers.imports.read` does, and write the preview."""
    limit_further_resources(imports.MAX_SECONDS, imports.MAX_MEMORY)
    write_json(target.file, imports.read(target.file.parent, request, target.progress))
    return ""


def neighbors(target: Target, run: str, stamp: int) -> str:
    """Keep the nearest neighbors of all test images in the folder of the run; `stamp` is that of its embeddings."""
    import faiss

    from dmlviz.ops.squared_distances import available_cores

    faiss.omp_set_num_threads(min(available_cores(), MAX_THREADS))
    index_table(Run(run))
    return ""


def nearest(target: Target, name: str, run: str) -> str:
    """Write the nearest other test image of each; the name says which embeddings are meant, here and below."""
    target.file.write_bytes(nearest_bytes(Run(run)))
    return ""


def faithfulness(target: Target, name: str, run: str) -> str:
    """Write the share of each image's neighbors that are neighbors on the run's own map (n float32)."""
    target.file.write_bytes(point_values(Run(run), None, "faithfulness").astype("<f4").tobytes())
    return ""


def sheet(target: Target, name: str, dataset: str, number: int) -> str:
    """Write a sprite sheet of the test images of a data set."""
    from dmlviz.data import load, sprite_sheet

    target.file.write_bytes(sprite_sheet.encode_sheet(load(dataset, target.data_root).test.images, number))
    return ""


def per_query(target: Target, run: str, created: str, step: int | None, near: bool) -> str:
    """Write the scores of each image of the run that was `created` then; all of them at the end stay in its folder."""
    target.file.write_bytes(per_query_bytes(Run(run), step, near))
    if step is None and not near:
        with suppress(OSError):  # of a ready-made run
            keep_per_query(Run(run))
    return ""


def pixels(target: Target, run: str) -> str:
    """Write the retrieval scores of a run's raw pixels."""
    target.file.write_text(json.dumps(pixel_scores(Run(run), target.data_root)))
    return ""


def pixel_scores(run: Run, data_root: Path | None = None) -> dict[str, float]:
    """Return retrieval scores by Euclidean pixel distance, of the images that a run's snapshots score.

    Those are validation images, or the tracked test images where the run has none.

    Raises:
        UserError: Before the run has started.
    """
    from dmlviz import metrics
    from dmlviz.data import load

    indices, scored_rows = run.tracked_indices, run.scored_indices
    if indices is None:
        raise UserError(f"{run.title} has not started.")
    data = load(run.config.dataset, data_root)
    split, rows = (data.test, indices) if scored_rows is None else (data.train, scored_rows)
    values = split.images[rows].reshape(len(rows), -1).astype(np.float32) / 255
    return metrics.evaluate(values, split.labels[rows], clustering=False, full_ranking=False, verification=False)


def curves(target: Target, run: str, baseline: str, tracked: bool, path: str) -> str:
    """Write the curves of a baseline to `path`."""
    from dmlviz.figures import baselines

    baselines.save(baselines.measure(baseline, Run(run), tracked, target.data_root), Path(path))
    return ""


def new_batch(target: Target, run: str, view: str | None, given: dict[str, Any]) -> str:
    """Write where the test images of `data`, the `rows` of a run, a `file` or pictures of `holders` lie on a map."""
    from dmlviz.runs.new_batch import as_content, embeddings_of, images_of, of_file, place, place_embeddings

    source, said = Run(run), list[str]()
    if "rows" in given:
        items, names = embeddings_of(Run(given["rows"]))
    elif "data" in given:
        items, names = images_of(source, given["data"], target.data_root)
    elif "file" in given:
        limit_further_resources(imports.MAX_SECONDS, imports.MAX_MEMORY)
        found, names, _, hints, said = of_file(source, Path(given["file"]))
        if not found:
            raise UserError(said[0])
        items, said = np.stack(found), [*said, *hints]
    else:
        kept = Gallery(source)
        pictures = kept.pictures(given["holders"] and tuple(given["holders"]))
        items = np.stack([kept.image(one.id) for one in pictures]) if pictures else np.empty(0)
        names = [one.name for one in pictures]
    over = place if DATASETS[source.config.dataset].trainable else place_embeddings
    batch = over(source, items, names, None if view is None else source.projection(view))
    write_json(target.file, as_content(source, items, batch, said))
    return ""


def training_page(target: Target, run: str, folder: str) -> str:
    """Write a page that trains the settings of a run in the browser, into `folder`."""
    from dmlviz.export.playground import write_training

    write_training(Path(folder), Run(run).config, target.data_root)
    return ""


def prepare_answer(work: Work) -> None:
    """Do the order of an answer; how it ends is written into its folder."""
    record = AnswerRecord(work.folder)
    with record.writing() as writer:
        order = record.order

        def progress(share: float) -> None:
            writer.progress(AnswerProgress(event="progress", share=share))

        target = Target(record.result, work.data_root, progress)
        name = lazy(kinds("answer")[order["ask"]].work)(target, **order["arguments"])
        writer.finished(AnswerFinished(event="finished", name=name))


def _run(path: str, info: RunDescription) -> Run:
    run = Run(path)
    run.info |= info
    return run
