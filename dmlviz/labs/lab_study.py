"""A lab's study: its plan, how far it is, its figures' rows, and the ready-made one."""

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.job_record import TrialRecord
from dmlviz.labs.lab import FigureRow, FigureSpec, Lab
from dmlviz.labs.registry import LABS
from dmlviz.storage.archives import unpacked
from dmlviz.storage.csv_table import safe_cell
from dmlviz.studies.study import Study, done_seconds
from dmlviz.studies.trial import Size, Trial, TrialResult


def plan_trials(lab: str, size: Size, dataset: str, results: Sequence[TrialResult]) -> Sequence[Trial]:
    """Return the trials that a lab wants, given the results so far."""
    return LABS[lab].plan(size, dataset, results)


def check_dataset(lab: Lab, dataset: str | None) -> str:
    """Return the data set of a study: the one given, or the lab's usual one; raise UserError for a wrong one."""
    if dataset is None:
        return lab.datasets[0]
    if dataset not in lab.datasets:
        raise UserError(f"The lab {lab.name} uses {' or '.join(lab.datasets)}; got {dataset!r}.")
    return dataset


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    Attributes:
        done: Trials that have ended.
        total: Trials that there will be.
        failed: Trials that ended without a result.
        share: Share of the work that is done, 0 to 1, trials under way included.
        seconds_left: Estimate of the wall seconds that are left.
    """

    done: int
    total: int
    failed: int
    share: float
    seconds_left: float


def study_progress(study: Study) -> StudyProgress:
    """Return how far a study is; the time left comes from what its trials took so far."""
    info = study.info
    total, seconds = LABS[info["lab"]].total(info["size"], info["dataset"])
    results = study.results()
    expected, measured = done_seconds([result for result in results if not result.error])
    parts = trials_under_way(study)
    partial = sum(trial.seconds * share for trial, share, _ in parts)
    work = sum(result.trial.seconds for result in results) + partial
    slowness = measured / expected if expected and measured else 1.0
    parallel = 1 if info["owner"] else info["slots"]
    left = max(0.0, seconds - work) * slowness / parallel
    return StudyProgress(
        done=len(results),
        total=max(total, len(results)),
        failed=sum(bool(result.error) for result in results),
        share=min(1.0, work / seconds) if seconds else 1.0,
        seconds_left=left,
    )


def trials_under_way(study: Study) -> list[tuple[Trial, float, TrialResult | None]]:
    """Return each trial that goes on now, the share of it that is done, and what it has measured so far."""
    if study.state != "running":
        return []
    done = {result.trial.name for result in study.results()}
    parts: list[tuple[Trial, float, TrialResult | None]] = []
    for folder in sorted((study.path / "trials").glob("*")):
        if folder.name in done:
            continue
        try:
            record = TrialRecord(folder)
            trial, last = Trial(**record.order["trial"]), record.log.last()
        except (DamagedFileError, TypeError):  # being made
            continue
        if last is None or last["event"] != "progress":
            parts.append((trial, 0.0, None))
            continue
        partial = TrialResult(trial=trial, values=last["values"], folder=folder) if last["values"] else None
        parts.append((trial, float(last["share"]), partial))
    return parts


def study_rows(study: Study) -> list[FigureRow]:
    """Return the figures' rows of a study, as far as it is."""
    lab = LABS[study.info["lab"]]
    results = study.results()
    if lab.live:
        results += [partial for _, _, partial in trials_under_way(study) if partial is not None]
    return list(lab.rows(results))


def ready_made(lab: str) -> Study | None:
    """Return the finished study of a lab that comes with the program; None where there is none."""
    archive = results_archive(lab)
    return Study(unpacked(archive) / archive.stem) if archive.is_file() else None


def results_archive(lab: str) -> Path:
    """Return where the archive of a lab's ready-made study is, or would be."""
    return Path(__file__).parent / lab.replace("-", "_") / "results.zip"


def cost_in_words(lab: Lab, size: Size, dataset: str, slots: int = 1) -> str:
    """Return what a study costs, as in "12 trials, 2 min", with so many worker processes."""
    trials, seconds = lab.total(size, dataset)
    return f"{trials} trials, {format_seconds(seconds / max(1, slots))}"


def format_seconds(seconds: float) -> str:
    """Return a duration in words.

    Examples:
        >>> format_seconds(40), format_seconds(170), format_seconds(6000)
        ('40 s', '3 min', '1 h 40 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def as_command(lab: str, size: Size, dataset: str) -> str:
    """Return the command that repeats a study and writes its figures' rows."""
    quick = " --quick" if size == "quick" else ""
    return f"dmlviz lab {lab}{quick} --dataset {dataset} --json {lab}.json"


def as_script(lab: str, size: Size, dataset: str) -> str:
    """Return a Python script that repeats a study in one process, and writes each figure as a page."""
    return f'''"""The lab {lab} of dmlviz. The same with several processes: {as_command(lab, size, dataset)}"""

from dmlviz.labs.drawing import draw
from dmlviz.labs.registry import LABS
from dmlviz.labs.run import run_lab

lab = LABS["{lab}"]
results = run_lab("{lab}", size="{size}", dataset="{dataset}", on_result=lambda result: print(result.trial.name))
rows = lab.rows(results)
for figure in lab.figures:
    draw(figure, rows).write_html(f"{{lab.name}}-{{figure.name}}.html")
'''


def as_csv(rows: Sequence[FigureRow]) -> str:
    """Return figures' rows as CSV: figure, series, x, y, low, high, n."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = [field.name for field in fields(FigureRow)]
    writer.writerow(names)
    writer.writerows(map(safe_cell, astuple(row)[: len(names)]) for row in rows)
    return file.getvalue()


def as_page(spec: FigureSpec, rows: Sequence[FigureRow], dark: bool = False) -> str:
    """Return a figure as an HTML page that needs no network."""
    from dmlviz.labs.drawing import draw

    page: str = draw(spec, rows, dark).to_html(include_plotlyjs=True, default_height="100vh")
    return page
