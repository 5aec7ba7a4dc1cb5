"""What a worker process does for a training and for a projection. What it needs is imported when it begins."""

from collections.abc import Iterator

from dmlviz.jobs.job_record import JobRecord
from dmlviz.jobs.work import Work
from dmlviz.runs.run import Run

LAYOUT_THREADS = 4  # more gain little


def train(work: Work) -> Iterator[object]:
    """Train a run; once it was stopped, return what is left: to embed and score the test images."""
    from dmlviz.runs.training_run import train_and_record
    from dmlviz.training.events import Stopping

    run = Run(work.folder)
    data = work.datasets.get(run.config.dataset)
    room = JobRecord(work.folder).order.get("room")
    events = train_and_record(run, data_root=work.data_root, data=data, stop=work.stop, room=room)
    for event in events:
        if isinstance(event, Stopping) and work.stop():
            break
    return events


def project(work: Work) -> None:
    """Compute a projection of a run; one that follows its training takes no core from it."""
    from dmlviz.jobs.claims import is_claimed
    from dmlviz.ops.squared_distances import available_cores, use_threads
    from dmlviz.runs.projection_run import run_projection

    def trains(run: Run) -> bool:
        return run.state == "running" or is_claimed(run.path.parent, run.path)

    follows = trains(Run(work.folder.parent.parent))
    with use_threads(1 if follows else min(available_cores(), LAYOUT_THREADS)):
        begin = JobRecord(work.folder).order.get("begin", "")
        run_projection(work.folder, stop=work.stop, trains=trains, begin=begin)
