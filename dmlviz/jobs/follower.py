"""A map that follows a training of this program, drawn by another process, so that the training is hardly slower."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.jobs.order import projection
from dmlviz.process_setup import ONE_THREAD_ENV, lower_priority
from dmlviz.runs.record_writer import error_message
from dmlviz.runs.run import ProjectionRun, Run, RunNotFoundError
from dmlviz.runs.store import Runs
from dmlviz.training.events import Event, Snapshot

PROGRAM = "import sys; sys.path[:] = {path!r}; from dmlviz.jobs.follower import main; main(*sys.argv[1:])"
LOOK_S = 0.1


class Follower:
    """The process that draws each snapshot of a run and, when the run ends, settles the map of all test images.

    Args:
        run: The run.
        config: A map that follows.
    """

    def __init__(self, run: Run, config: ProjectionConfig) -> None:
        self.run, self.config = run, config
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the process, unless it was started; the run is finished, or is written and has a snapshot."""
        if self._process is None:
            path, config = str(self.run.path.absolute()), self.config.to_json()
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM.format(path=sys.path), path, config],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | ONE_THREAD_ENV,
                start_new_session=True,  # Ctrl-C is for the training, which then ends, and the map settles
            )
        return self._process

    @property
    def record(self) -> ProjectionRun | None:
        """The map, once it is whole."""
        with contextlib.suppress(RunNotFoundError):
            record = self.run.projection(self.config.id)
            return record if record.state == "finished" else None
        return None

    def beside(self, events: Iterator[Event]) -> Iterator[Event]:
        """Yield the events of a training as they are recorded; the first snapshot starts the process."""
        for event in events:
            yield event
            if isinstance(event, Snapshot):
                self.start()

    def wait(self) -> ProjectionRun:
        """Wait until the map is whole, and return it; raise UserError where none was made."""
        process = self.start()
        said = process.communicate()[0].decode(errors="replace").strip()
        if process.returncode:
            raise UserError(f"The map could not be drawn: {said or 'its process was ended'}")
        if (record := self.record) is None:
            end = self.run.projection(self.config.id).end
            raise UserError(f"The map was not drawn: {(end and end.get('reason')) or 'its process was ended'}")
        return record


def main(path: str, config: str) -> None:
    """Draw the map in the folder of the run, unless another process does or has done so."""
    from dmlviz.plugins import load_plugins
    from dmlviz.runs.projection_run import run_projection

    lower_priority()
    try:
        load_plugins()
        run = Run(path)
        order = projection(Runs(run.path.parent), run.id, ProjectionConfig.from_json(config), resume=True)
        if (record := order.existing()) is None:
            run_projection(order.begin().path, every=True)
        else:
            while record.state == "running":
                time.sleep(LOOK_S)
    except Exception as error:
        print(error_message(error))
        sys.exit(1)
