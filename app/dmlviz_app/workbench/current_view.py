"""The run, status, test images and projection on screen."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.jobs.job import Status
from dmlviz.lessons import LESSONS, Task
from dmlviz.runs.run import LIVE, ProjectionRun, Run, RunNotFoundError
from dmlviz.runs.run_columns import has_columns
from dmlviz.runs.store import Runs
from dmlviz_app.answers import sprites
from dmlviz_app.forms.view_query import projection_views
from dmlviz_app.forms.view_state import UIState, current
from dmlviz_app.people.classroom import Classroom
from dmlviz_app.people.personal_datasets import moment
from dmlviz_app.server.services import Services, session_services


def class_task(room: Classroom) -> Task | None:
    """Return the task that is set for all; None for none, or for one of another version of the program."""
    lesson = LESSONS.get(room.lesson or "")
    return None if lesson is None or room.task > len(lesson.tasks) else lesson.tasks[room.task - 1]


def class_run(services: Services, room: Classroom) -> Run | None:
    """Return the run of the task on the data set of the class, whoever trained it; None before that."""
    task = class_task(room)
    if task is None:
        return None
    try:
        return services.store.get(task.training(room.dataset or services.datasets.default()).id)
    except RunNotFoundError:
        return None


def revealed_run(services: Services) -> Run | None:
    """Return the run that the class of this person has been shown; None in no class, or before the answer is shown."""
    room = services.classrooms.of_person(services.person.id)
    run = None if room is None or room.task_key not in room.revealed else class_run(services, room)
    try:
        return None if run is None else services.runs.get(run.id)
    except RunNotFoundError:  # nobody shares it
        return None


MAP_DIMENSIONS = 3  # vectors of so many are a map themselves


@dataclass(frozen=True)
class RunView:
    """A run with its status; `pictures` None while its data set is not on disk; `projection` None in the live view.

    `awaited` is the view that this one stands in for until it is drawn. `second` is the view of the same projection by
    the other engine, where it is shown beside. `columns` says whether more is known of the test images, as columns.
    """

    run: Run
    status: Status
    pictures: sprites.ImageTiles | None
    projection: ProjectionRun | None = None
    projection_status: Status | None = None
    second: "RunView | None" = None
    awaited: "RunView | None" = None
    columns: bool = False

    @property
    def live(self) -> bool:
        """Return whether the run is queued or trains."""
        return self.status.is_live

    @property
    def machine(self) -> str:
        """The machine of the fleet that trains the run or has trained it; empty for this one."""
        return self.status.machine or (self.run.info.get("machine", "") if not self.live else "")

    @property
    def projection_live(self) -> bool:
        """Return whether the projection is queued or computed."""
        return self.projection_status is not None and self.projection_status.is_live

    @property
    def follows(self) -> bool:
        """Return whether the projection follows the training, which is under way."""
        return self.live and self.projection is not None and self.projection.config.follow

    @property
    def is_without_layouts(self) -> bool:
        """Return whether the projection followed a training that ended before its first snapshot."""
        if self.projection is None or self.live or self.projection_live or self.complete:
            return False
        return self.projection.config.follow and not self.projection.layouts

    @cached_property  # a page asks several times, and each answer looks at four files
    def complete(self) -> bool:
        """Return whether all test images are embedded, so that they can be projected and searched."""
        return not self.live and self.run.embedded


@dataclass(frozen=True)
class PageContext:
    """All that a run of the page, or of a part of it, starts from."""

    ui: UIState
    services: Services
    run_view: RunView | None


def page_context(state: UIState | None = None) -> PageContext:
    """Resolve what this session shows now, by its address, or by this state."""
    ui, app_services = state or current(), session_services()
    run_view = resolve_view(ui, app_services)
    app_services.audience.mark_viewing("explore", [run_view.run.id] if run_view is not None else [])
    return PageContext(ui, app_services, run_view)


def context_key(context: PageContext) -> tuple[object, ...]:
    """Key of the page's context: where a fragment finds that it changed, the whole page is rerun."""
    run_view = context.run_view
    if run_view is None:
        return ()
    view = run_view.projection.id if run_view.projection is not None else LIVE
    status = run_view.live, run_view.projection_live, run_view.pictures is None
    second = run_view.second
    beside = None if second is None or second.projection is None else (second.projection.id, second.projection_live)
    settings = repr((context.ui.settings, context.ui.params))
    settings += repr(context.ui.seen.step) if context.ui.curves is not None else ""  # an open drawer follows the replay
    return run_view.run.id, view, beside, *status, tuple(context.ui.messages.all().items()), settings


def resolve_view(ui: UIState, services: Services) -> RunView | None:
    """Resolve the run and projection in the state; start the projection if it does not exist yet.

    Returns None if there is no run at all; what cannot be shown becomes a message.
    """
    run = shown_run(ui, services)
    if run is None:
        return None
    run_view = run_view_of(run, services)
    if ui.subset is not None and ui.subset.dataset != run.config.dataset:
        ui.messages.say("map", "The selected images are of another data set; showing all images.")
        ui.subset = None
    if ui.map_id:
        try:
            ui.show_projection(run.projection(ui.map_id).config, run.config.dataset)
        except UserError as error:
            ui.messages.say("map.view", error)
        ui.map_id = ""
    if ui.opened != run.id:
        ui.opened = run.id
        _open_on_umap(ui, run_view, services)
    own = run_view
    try:
        run_view = with_projection(run_view, ui.projection(), services)
        status = run_view.projection_status
        if run_view.follows and status is not None and status.phase == "queued":
            return replace(own, awaited=run_view)  # the linear view stands in until a worker is free
        if run_view.is_without_layouts:
            return own  # which says why its training ended
        ui.awaits &= run_view.projection_live
        if ui.awaits:
            return replace(with_projection(run_view, ProjectionConfig(method="pca"), services), awaited=run_view)
    except UserError as error:
        ui.drop_projection(ui.view)
        ui.messages.say("map", error)
        ui.restore_view()
        return run_view if ui.view == LIVE else resolve_view(ui, services)
    try:
        second = ui.second_projection()
        return run_view if second is None else replace(run_view, second=with_projection(run_view, second, services))
    except UserError as error:
        ui.messages.say("map", error)
        ui.beside = False
        return run_view


def shown_run(ui: UIState, services: Services) -> Run | None:
    """Return the run that Explore shows; None where it is deleted while somebody looks at it, or there is none.

    Instead of a run of the address that does not exist it is the default one, which becomes a message.
    """
    if ui.run is not None:
        try:
            return services.runs.get(ui.run)
        except RunNotFoundError:
            if ui.run == ui.opened:
                return None
            ui.show(None)
            ui.messages.say("run", "Run not found; showing the default.")
    return default_run(services)


def run_view_of(run: Run, services: Services) -> RunView:
    """Return a run as its own view shows it."""
    columns = has_columns(run, services.data)
    return RunView(run, services.jobs.status(run.id), run_images(run, services), columns=columns)


def _open_on_umap(ui: UIState, run_view: RunView, services: Services) -> None:
    """Choose UMAP as the first map of vectors that no net here has learned: their own map has no course to replay."""
    config = run_view.run.config
    if DATASETS[config.dataset].trainable or not run_view.complete or config.embedding_dim <= MAP_DIMENSIONS:
        return
    if ui.view != LIVE or ui.subset is not None:
        return
    if run_view.run.recorded and any(event["event"] == "alarm" for event in run_view.run.events()):
        return  # an alarm stands on the map of its steps
    with suppress(UserError):  # of too few points, or no more jobs: then their own map stays
        for method in ("pca", "umap"):
            with_projection(run_view, ProjectionConfig(method=method), services)
        ui.view, ui.awaits = "umap", True


def default_run(services: Services) -> Run | None:
    """Return the run that the first page shows.

    It is that of a class after its answer; else the first ready-made one that learned something, or the newest.
    """
    return (
        revealed_run(services)
        or _ready_made(services.store, services.data, moment())
        or next(iter(services.runs.list()), None)
    )


@lru_cache(maxsize=4)
def _ready_made(store: Runs, folder: Path, _moment: int) -> Run | None:
    available, candidates = data.available_datasets(folder), []
    for path in sorted(store.bundled.glob("*/run.json")):
        try:
            run = store.get(path.parent.name)
        except RunNotFoundError:  # a copy of it here is damaged
            continue
        if run.config.dataset in available and not run.info.get("fails"):
            candidates.append(run)
    return min(candidates, key=lambda run: run.created, default=None)


def view_titles(run: Run, *, subset: bool = False) -> dict[str, str]:
    """Return the maps that a run (or a subset of its images) can have, by name, first that of its training."""
    native = run.default_view
    views = [name for name in projection_views() if subset or name != native]
    return {LIVE: PROJECTIONS[native].title} | {name: PROJECTIONS[name].title for name in views}


def followed(run_view: RunView, config: ProjectionConfig) -> ProjectionConfig:
    """Return how a run is drawn by these settings: as a map that follows while it trains, and where one has."""
    if not config.may_follow:
        return config
    following = config.replace(follow=True)
    has_followed = (run_view.run.path / "projections" / following.id).is_dir()
    return following if run_view.live or has_followed else config


def with_projection(run_view: RunView, config: ProjectionConfig | None, services: Services) -> RunView:
    """Return the view with this projection, which is started if it does not exist; raise UserError if it failed."""
    if config is None:
        return run_view
    config = followed(run_view, config)
    try:
        projection = run_view.run.projection(config.id)
    except RunNotFoundError:
        services.jobs.project(run_view.run.id, config)
        projection = services.runs.get(run_view.run.id).projection(config.id)
    status = services.jobs.status(run_view.run.id, config.id)
    if config.follow and run_view.live and status.phase in ("stopped", "interrupted"):  # another map took its place
        services.jobs.project(run_view.run.id, config, resume=True)
        status = services.jobs.status(run_view.run.id, config.id)
    if status.phase == "failed" and projection.resume_state is None and not projection.layouts:
        raise UserError(status.reason)  # there is nothing to see of it: the map before stays
    return replace(run_view, projection=projection, projection_status=status)


def run_images(run: Run, services: Services) -> sprites.ImageTiles | None:
    """Load the test images of a run's data set; None while they are not on disk."""
    try:
        return sprites.image_tiles(run.config.dataset, services.data)
    except UserError:
        return None
