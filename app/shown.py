"""What the page shows now: a run, how it stands, its pictures, and the projection that was asked for."""

from dataclasses import dataclass, replace

from app import pictures
from app.services import Services
from app.state import LIVE, UIState
from app.streaming import LIVE_PHASES
from dmlviz import data
from dmlviz.errors import UserError
from dmlviz.jobs import Status
from dmlviz.record import Drawing, Run, UnknownRun


@dataclass(frozen=True)
class Shown:
    """A run with its status; `pictures` None while its data set is not on disk; `drawing` None in the live view."""

    run: Run
    status: Status
    pictures: pictures.Pictures | None
    drawing: Drawing | None = None
    drawing_status: Status | None = None

    @property
    def live(self) -> bool:
        """Whether the run is queued or trains."""
        return self.status.phase in LIVE_PHASES

    @property
    def drawing_live(self) -> bool:
        """Whether the projection is queued or computed."""
        return self.drawing_status is not None and self.drawing_status.phase in LIVE_PHASES

    @property
    def complete(self) -> bool:
        """Whether all test images are embedded, so that they can be projected and searched."""
        return not self.live and (self.run.path / "embeddings.npy").exists()


def resolve(ui: UIState, services: Services, owner: str) -> Shown | None:
    """Find what the state names, and start the projection it names where there is none yet.

    None when there is nothing to show at all; what cannot be shown is said in a note and left.
    """
    run = None
    if ui.run is not None:
        try:
            run = services.runs.get(ui.run)
        except UnknownRun:
            ui.notes.append("That run is not here any more; showing the ready-made one.")
            ui.show(None)
    run = run or ready_made(services)
    if run is None:
        return None
    shown = Shown(run, services.jobs.status(run.id), _pictures(run, services))
    try:
        return _with_drawing(shown, ui, services, owner)
    except UserError as error:
        ui.notes.append(str(error))
        ui.view = LIVE
        return shown


def ready_made(services: Services) -> Run | None:
    """The run that the first page plays: one that comes with the program, otherwise the newest."""
    here = data.available(services.data)
    for path in sorted(services.runs.bundled.glob("*/run.json")):
        run = services.runs.get(path.parent.name)
        if run.config.dataset in here:
            return run
    return next(iter(services.runs.list()), None)


def _with_drawing(shown: Shown, ui: UIState, services: Services, owner: str) -> Shown:
    wanted = ui.projection()
    if wanted is None:
        return shown
    try:
        drawing = shown.run.drawing(wanted.id)
    except UnknownRun:
        services.jobs.project(shown.run.id, wanted, owner)
        drawing = services.runs.get(shown.run.id).drawing(wanted.id)
    return replace(shown, drawing=drawing, drawing_status=services.jobs.status(shown.run.id, wanted.id))


def _pictures(run: Run, services: Services) -> pictures.Pictures | None:
    try:
        return pictures.pictures(run.config.dataset, services.data)
    except UserError:
        return None
