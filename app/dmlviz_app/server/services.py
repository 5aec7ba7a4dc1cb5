"""Services that pages and routes share: settings, runs, jobs; one of each in a process."""

import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.jobs.job import JobReport
from dmlviz.jobs.placement import Fleet
from dmlviz.jobs.scheduler import JobScheduler, resume_fleet_jobs
from dmlviz.labs.lab_study import plan_trials
from dmlviz.runs.ownership import Ownership
from dmlviz.runs.quota import folder_size, format_bytes, parse_limit
from dmlviz.runs.run import EventLogDir
from dmlviz.runs.store import Runs
from dmlviz.storage.files import is_run_id
from dmlviz.studies.runner import StudyRunner
from dmlviz.studies.study import FOLDER as STUDIES
from dmlviz_app.people.classrooms import Classrooms
from dmlviz_app.people.identity import Identity
from dmlviz_app.people.people import DEFAULT_LIMITS, Person
from dmlviz_app.people.personal_datasets import PersonalDatasets
from dmlviz_app.people.personal_jobs import PersonalJobs, PersonalStudies
from dmlviz_app.people.personal_runs import PersonalRuns
from dmlviz_app.people.policy import Role
from dmlviz_app.server.answers import Answers
from dmlviz_app.server.feature_jobs import FeatureJobs
from dmlviz_app.server.logs import log_job
from dmlviz_app.server.metrics import count_job
from dmlviz_app.server.settings import Settings
from dmlviz_app.server.uploads import UploadManager

SOLE = Person(id="", name="", role=Role.SOLE, limits=DEFAULT_LIMITS[Role.SOLE])
COMPUTED = "computed"  # folder in the cache: for each run, data set and study what workers computed
TRAINING_PAGES = "training"  # folder in the cache: for each version and run a page that trains in the browser


class ActiveSessions:
    """The runs that each page of each open session shows."""

    def __init__(self) -> None:
        self._runs_by_page: dict[tuple[str, str], frozenset[str]] = {}
        self._lock = threading.Lock()

    def mark_viewing(self, page: str, runs: Iterable[str]) -> None:
        """Note that the page that runs now shows these runs to its session."""
        context = get_script_run_ctx()
        if context is not None:
            with self._lock:
                self._runs_by_page[context.session_id, page] = frozenset(runs)

    def viewed_runs(self) -> frozenset[str]:
        """Return every run that an open session shows."""
        with self._lock:
            if runtime.exists():
                instance = runtime.get_instance()
                self._runs_by_page = {
                    key: runs for key, runs in self._runs_by_page.items() if instance.is_active_session(key[0])
                }
            return frozenset[str]().union(*self._runs_by_page.values())


@dataclass(frozen=True)
class Services:
    """Services of one server, as one person has them: see `for_person`.

    Attributes:
        settings: The server's settings.
        identity: The people.
        store: All runs.
        scheduler: The jobs of everyone.
        intake: The uploads.
        features: Features that pretrained backbones compute.
        answers: What takes long and a page waits for.
        study_runner: The studies of labs.
        run_owners: The holders of each run.
        data_owners: The holders of each custom data set.
        classrooms: The classes.
        person: The person who asks; the only person there is, unless `for_person` says otherwise.
        audience: The runs that open sessions show.
        names: Names of the people of this server, by ID.
        evicted: IDs, titles and holders of the runs that were deleted to make room for others, and when.
    """

    settings: Settings
    identity: Identity
    store: Runs
    scheduler: JobScheduler
    intake: UploadManager
    features: FeatureJobs
    answers: Answers
    study_runner: StudyRunner
    run_owners: Ownership
    data_owners: Ownership
    classrooms: Classrooms
    person: Person = SOLE
    audience: ActiveSessions = field(default_factory=ActiveSessions)
    names: dict[str, str] = field(default_factory=dict)
    evicted: list[tuple[str, str, str, float]] = field(default_factory=list)

    def for_person(self, person: Person) -> "Services":
        """Return the services as one person may use them."""
        return replace(self, person=person)

    @cached_property
    def runs(self) -> PersonalRuns:
        """The runs that this person sees."""

        def leave_job(run: str) -> bool:
            return self.scheduler.stop(EventLogDir(self.store.folder / run), self.person.id or "nobody")

        return PersonalRuns(self.store, self.run_owners, self.person, leave_job, self.classrooms)

    @cached_property
    def datasets(self) -> PersonalDatasets:
        """The data sets on which this person may train."""
        return PersonalDatasets(self.data, self.data_owners, self.person)

    @cached_property
    def jobs(self) -> PersonalJobs:
        """The jobs as this person may start and stop them."""
        return PersonalJobs(self.scheduler, self.runs, self.datasets, self.person, self.check_room, self.room)

    @cached_property
    def studies(self) -> PersonalStudies:
        """The studies of labs as this person may start and stop them."""
        return PersonalStudies(self.study_runner, self.jobs)

    def used(self) -> int:
        """Return the bytes that this person's runs, data and studies take."""
        features = folder_size(self.features.folder_of(self.person))
        return self.runs.used() + self.datasets.used() + self.studies.used() + features

    def is_beyond(self, holder: str) -> bool:
        """Return whether the person of this ID takes more than they may."""
        person = self.identity.person(holder)
        return person.limits.disk is not None and self.for_person(person).used() > person.limits.disk

    def check_room(self) -> None:
        """Raise UserError if this person's runs, data and studies take as much as they may."""
        limit = self.person.limits.disk
        if limit is not None and (used := self.used()) >= limit:
            raise UserError(
                f"Your runs, data and studies take {format_bytes(used)} of the {format_bytes(limit)} that you may "
                "have; delete some on the page Runs."
            )

    def room(self) -> tuple[int, str]:
        """Return the bytes that a new run of this person may take, and the begin of a sentence that says so."""
        limit = self.person.limits.disk
        rooms = [
            (self.disk_limit, "All runs of this server together may take (--disk-limit)"),
            (shutil.disk_usage(self.store.folder).free, "The disk of the runs has"),
        ]
        if limit is not None:
            rooms.append((max(0, limit - self.used()), "You may still take"))
        return min(rooms)

    def check_upload(self, size: int) -> None:
        """Raise UserError if an upload of `size` bytes is larger than this person may send, or there is no room."""
        self.person.check_known()
        if size > (most := self.person.limits.upload):
            raise UserError(f"You may upload {format_bytes(most)} at a time; this is {format_bytes(size)}.")
        self.check_room()

    @property
    def disk_limit(self) -> int:
        """The bytes that all runs together may take."""
        return parse_limit(self.settings.disk_limit)

    @property
    def data(self) -> Path:
        """The folder of the data sets."""
        return data_root(self.settings.data)

    @property
    def cache(self) -> Path:
        """The folder of pictures that can be made again."""
        return self.settings.runs / ".pictures"


_lock = threading.Lock()
_services: Services | None = None


def start_services(settings: Settings, *, warm: bool = True) -> Services:
    """Start the process's services anew; what ran before is closed. With `warm`, a worker waits for the first job."""
    global _services
    with _lock:
        if _services is not None:
            _close(_services)
        settings.runs.mkdir(parents=True, exist_ok=True)
        DATASETS.add_search_path(data_root(settings.data))
        runs = Runs(settings.runs)
        scheduler = JobScheduler(
            runs,
            slots=settings.slots,
            data_root=settings.data,
            warm=warm,
            on_job=_on_job,
            fleet=_fleet(settings),
        )
        folder = data_root(settings.data)
        run_owners = Ownership(runs.folder, is_run_id)
        data_owners = Ownership(folder / custom_datasets.FOLDER, custom_datasets.is_custom)
        _services = Services(
            settings=settings,
            identity=Identity(settings.access, settings.runs),
            store=runs,
            scheduler=scheduler,
            intake=UploadManager(folder, scheduler),
            features=FeatureJobs(scheduler, folder, data_owners),
            answers=Answers(scheduler),
            study_runner=StudyRunner(scheduler, runs.folder / STUDIES, plan_trials, _room_of),
            run_owners=run_owners,
            data_owners=data_owners,
            classrooms=Classrooms(runs.folder),
        )
        resume_fleet_jobs(scheduler, lambda run: [entry.holder for entry in run_owners.entries(run)])
        return _services


def _room_of(owner: str) -> int:
    """Return the bytes that a person may still take; raise UserError where that is none."""
    all_services = _services
    if all_services is None:
        raise UserError("The server is shutting down: try again when it is back.")
    own = all_services.for_person(all_services.identity.person(owner))
    own.check_room()
    return own.room()[0]


def _on_job(report: JobReport) -> None:
    count_job(report)
    log_job(report)


def _fleet(settings: Settings) -> Fleet | None:
    """Return the machines that train besides this one; None without any. Dask is loaded only here."""
    if settings.fleet is None:
        return None
    from dmlviz.fleet.dask_fleet import DaskFleet

    return DaskFleet(settings.fleet, settings.certificates)


def services() -> Services:
    """Return the process's services; started from the environment where no server did, as in a test of one page."""
    return _services or start_services(Settings())


def stop_services() -> None:
    """End all jobs and their workers."""
    global _services
    with _lock:
        if _services is not None:
            _close(_services)
        _services = None


def _close(old: Services) -> None:
    old.study_runner.close()  # first, so that trials cut off by the scheduler's end count as not begun
    old.scheduler.close()
    old.intake.close()
    old.answers.close()


def session_services() -> Services:
    """Return the services as the person may use them whose session runs this page."""
    all_services = services()
    person = all_services.identity.of_session()
    all_services.names[person.id] = person.name
    return all_services.for_person(person)
