"""What pages and routes share: settings, runs, jobs; one of each in a process, whatever sessions and caches do."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from app.runtime.active_sessions import ActiveSessions
from app.runtime.classrooms import Classrooms
from app.runtime.feature_jobs import FeatureJobs
from app.runtime.hosting import Hosting
from app.runtime.housekeeping import Housekeeping
from app.runtime.identity import AccessSettings, Identity
from app.runtime.logs import log_job
from app.runtime.metrics import count_job
from app.runtime.monitoring import Monitoring, monitoring_from_environment
from app.runtime.people import Person, Role, sole_person
from app.runtime.personal_jobs import PersonalJobs
from app.runtime.personal_runs import PersonalRuns
from app.runtime.personal_studies import PersonalStudies
from app.runtime.uploads import UploadManager
from dmlviz import data
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import backbone_weights, data_root
from dmlviz.errors import UserError
from dmlviz.fleet.folder import PREFIX
from dmlviz.fleet.folder_fleet import FolderFleet, server_name
from dmlviz.jobs.job import Key
from dmlviz.jobs.job_report import JobReport
from dmlviz.jobs.placement import Fleet
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.labs.lab_study import plan_trials
from dmlviz.runs.archive import import_run
from dmlviz.runs.ownership import Ownership
from dmlviz.runs.quota import enforce, folder_size, format_bytes, parse_limit, run_size
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.store import Runs, default_title, runs_folder
from dmlviz.studies.runner import StudyRunner
from dmlviz.studies.study import FOLDER as STUDIES

T = TypeVar("T")
HOUSEKEEPING_INTERVAL_S = 60.0
SCAN_TTL_S = 0.3  # seconds for which a look at the disk holds: a page asks several times


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the app runs and keeps its things; `slots` trainings at a time, one core left free when None.

    `disk_limit` is how many bytes the runs may take, `access` how people are told apart; `fleet` the address of other
    machines that train, and `certificates` the folder with what lets this one talk to them.
    """

    runs: Path = field(default_factory=runs_folder)
    data: Path | None = None
    slots: int | None = None
    disk_limit: int = field(default_factory=parse_limit)
    host: str = "127.0.0.1"
    port: int = 8501
    hosting: Hosting = field(default_factory=Hosting)
    monitoring: Monitoring = field(default_factory=monitoring_from_environment)
    access: AccessSettings = field(default_factory=AccessSettings)
    fleet: str | None = None
    certificates: Path | None = None


@dataclass(frozen=True)
class Services:
    """What a server has one of, and the same as one person sees it: see `for_person`.

    Attributes:
        settings: Where the app runs and keeps its things.
        identity: Tells who somebody is.
        store: All runs, whoever holds them.
        scheduler: The jobs of everyone.
        intake: The uploads.
        features: What pretrained backbones compute.
        run_owners: Who holds which run.
        data_owners: Who holds which custom data set.
        classrooms: The classes.
        runs: The runs that `person` sees.
        jobs: The jobs as `person` may start and stop them.
        studies: The studies of labs as `person` may start and stop them.
        person: Who asks; the only person there is, unless `for_person` says otherwise.
        audience: Which session shows which runs.
        names: Names of the people who have been here, by ID.
        evicted: The runs that were deleted to make room for others, with their titles and holders.
    """

    settings: Settings
    identity: Identity
    store: Runs
    scheduler: JobScheduler
    intake: UploadManager
    features: FeatureJobs
    run_owners: Ownership
    data_owners: Ownership
    classrooms: Classrooms
    runs: Runs
    jobs: PersonalJobs
    studies: PersonalStudies
    person: Person
    audience: ActiveSessions = field(default_factory=ActiveSessions)
    names: dict[str, str] = field(default_factory=dict)
    evicted: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    _cache: dict[object, tuple[float, Any]] = field(default_factory=dict, repr=False)

    def for_person(self, person: Person) -> "Services":
        """Return the services as one person may use them."""
        if person.alone:
            runs = self.store
            jobs = PersonalJobs(self.scheduler, runs, person, lambda dataset: None, lambda run: None)
            studies = PersonalStudies(self.studies.runner, person, lambda dataset: None)
            return replace(self, runs=runs, jobs=jobs, studies=studies, person=person)
        runs = PersonalRuns(
            self.store, self.run_owners, person, lambda run: self.scheduler.stop(run, owner=person.id or "nobody")
        )
        mine = replace(self, runs=runs, person=person)
        jobs = PersonalJobs(self.scheduler, runs, person, mine.check_training, mine.hold_run)

        def before_study(dataset: str) -> None:
            mine.check_training(dataset)
            jobs.check_number(Key("", None, ""))

        studies = PersonalStudies(self.studies.runner, person, before_study)
        return replace(mine, jobs=jobs, studies=studies)

    def available(self) -> list[str]:
        """Names of the data sets that are on disk and that this person may train on, as of a moment ago."""
        names = self._ttl_cache(self.data, lambda: data.available_datasets(self.data))
        return [name for name in names if DATASETS[name].trainable and self.may_train_on(name)]

    def dataset_note(self, name: str) -> str:
        """What a person should know before training on a data set, as of a moment ago; empty for most."""
        return self._ttl_cache(("note", name), lambda: data.dataset_note(name, self.data))

    def trainable(self) -> list[str]:
        """Names of the data sets that this person may train on, those to download included."""
        return [name for name in DATASETS if DATASETS[name].trainable and self.may_train_on(name)]

    def may_train_on(self, dataset: str) -> bool:
        """Whether a data set is everybody's, or this person's."""
        if self.person.alone or self.person.may(Role.ADMIN) or not is_custom(dataset):
            return True
        return self.data_owners.visible_entry(dataset, self.person.id) is not None

    def may_see(self, dataset: str) -> bool:
        """Whether this person may train on a data set, or sees a run of it."""
        if self.may_train_on(dataset):
            return True
        return any(run.config.dataset == dataset for run in self.runs.list())

    def check_training(self, dataset: str) -> None:
        """Raise UserError if this person may not train on a data set, or has no room left."""
        if not self.may_train_on(dataset):
            raise UserError("This data set is not yours, so you cannot train on it; choose another in Data.")
        self.check_room()

    def check_room(self) -> None:
        """Raise UserError if this person's runs and data take as much as they may."""
        limit = self.person.limits.disk
        if not self.person.alone and limit is not None and (used := self.used()) >= limit:
            raise UserError(
                f"Your runs, data and studies take {format_bytes(used)} of the {format_bytes(limit)} that you may "
                "have; delete some on the page Runs."
            )

    def check_upload(self, size: int) -> None:
        """Raise UserError if an upload of `size` bytes is larger than this person may send, or there is no room."""
        if self.person.alone:
            return
        if not self.person.id:
            raise UserError("This browser sends no cookie, so your data could not be told from others'; allow cookies.")
        if size > self.person.limits.upload:
            raise UserError(
                f"You may upload {format_bytes(self.person.limits.upload)} at a time; this is {format_bytes(size)}."
            )
        self.check_room()

    def used(self) -> int:
        """Bytes that this person's runs, data and studies take; what several people hold counts for each."""
        held = [self.store.folder / run for run in self.run_owners.held_by(self.person.id)]
        own = [self.data / custom_datasets.FOLDER / name for name in self.data_owners.held_by(self.person.id)]
        own.append(self.features.folder_of(self.person))
        own += [study.path for study in self.studies.runner.studies() if study.info["owner"] == self.person.id]
        weights = {backbone_weights.weights_of(self.data, name) for name in self.data_owners.held_by(self.person.id)}
        kept = sum(path.stat().st_size for path in weights if path is not None and path.exists())
        return kept + sum(run_size(path) for path in held if path.is_dir()) + sum(map(folder_size, own))

    def hold_run(self, run: str, title: str = "") -> None:
        """Give this person an entry of a run; a ready-made one is everybody's."""
        if self.person.alone or not (self.store.folder / run).is_dir() or (self.store.bundled / run).is_dir():
            return
        title = title or default_title(self.store.get(run).config)
        self._hold(self.run_owners, run, title)

    def import_run(self, file: IO[bytes]) -> Run:
        """Import a run from a zip file, for this person."""
        if self.person.alone:
            return import_run(file, self.store)
        run = import_run(file, self.store, self.person.id, self._check_import)
        title, tags = run.title, tuple(run.tags)
        self.hold_run(run.id, title)
        self.run_owners.change(run.id, self.person.id, tags=tags)
        return self.runs.get(run.id)

    def _check_import(self, config: TrainConfig) -> None:
        """Refuse a run that names somebody else's images, whether they are here or not: their pages would show them."""
        given = DATASETS[config.dataset].size == 0 and config.dataset not in custom_datasets.list_names(self.data)
        if not given and not self.may_train_on(config.dataset):
            raise UserError("This run is of images that you do not have here: upload them first, then import the run.")

    def hold_data(self, dataset: str) -> None:
        """Give this person an entry of a custom data set."""
        if not self.person.alone:
            self._hold(self.data_owners, dataset, DATASETS[dataset].title)

    def _hold(self, owners: Ownership, item: str, title: str) -> None:
        person, guest = self.person, not self.person.may(Role.MEMBER)
        owners.add(item, holder=person.id, name=person.name, title=title, temporary=guest)

    def default_run(self) -> Run | None:
        """The run that the first page plays, as of a moment ago: one that comes with the program, or the newest."""
        return self._ttl_cache("ready made", self._ready_made) or next(iter(self.runs.list()), None)

    def _ready_made(self) -> Run | None:
        """The one that was made first of those that learned something."""
        here, learned = data.available_datasets(self.data), []
        for path in sorted(self.store.bundled.glob("*/run.json")):
            try:
                run = self.store.get(path.parent.name)
            except RunNotFoundError:  # a copy of it here is damaged
                continue
            if run.config.dataset in here and not run.info.get("fails"):
                learned.append(run)
        return min(learned, key=lambda run: run.created, default=None)

    def _ttl_cache(self, key: object, scan: Callable[[], T], ttl_s: float = SCAN_TTL_S) -> T:
        time_s, value = self._cache.get(key, (-ttl_s, None))
        if time.monotonic() - time_s >= ttl_s:
            value = scan()
            self._cache[key] = time.monotonic(), value
        return cast(T, value)

    def enforce_quota(self) -> None:
        """Delete old runs beyond the disk limit; once a minute also what guests left, and what was deleted long ago."""
        shown = self.audience.viewed_runs()

        def in_use(run: str) -> bool:
            return run in shown or any(key.run == run for key, _ in self.scheduler.running_for())

        def is_kept(run: str) -> bool:
            return in_use(run) or any(entry.pinned for entry in self.run_owners.entries(run))

        for run in enforce(self.store, self.settings.disk_limit, is_kept):
            holders = {entry.holder: entry.title for entry in self.run_owners.entries(run.id)} or {"": run.title}
            self.evicted.extend((title, frozenset([holder])) for holder, title in holders.items())
            self.run_owners.forget(run.id)
        housekeeping = Housekeeping(self.store, self.run_owners, self.data_owners, self.data)

        def clean_up() -> None:
            self.features.expire()
            housekeeping.run(in_use)

        self._ttl_cache("housekeeping", clean_up, HOUSEKEEPING_INTERVAL_S)

    def evicted_titles(self) -> list[str]:
        """Titles of this person's runs that were deleted to make room, the last 20."""
        alone = self.person.alone
        return [title for title, holders in self.evicted if alone or self.person.id in holders][-20:]

    @property
    def data(self) -> Path:
        """The folder of the data sets."""
        return data_root(self.settings.data)

    @property
    def cache(self) -> Path:
        """Where pictures are kept that can be made again."""
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
        owner, data_folder = sole_person(""), data_root(settings.data)
        data_owners = Ownership(data_folder / custom_datasets.FOLDER)
        _services = Services(
            settings,
            Identity(settings.access, settings.runs),
            runs,
            scheduler,
            UploadManager(data_folder, runs),
            FeatureJobs(scheduler, data_folder, data_owners),
            Ownership(runs.folder),
            data_owners,
            Classrooms(runs.folder),
            runs,
            PersonalJobs(scheduler, runs, owner, lambda dataset: None, lambda run: None),
            PersonalStudies(StudyRunner(scheduler, runs.folder / STUDIES, plan_trials), owner, lambda dataset: None),
            owner,
        )
        scheduler.resume_fleet_jobs(lambda run: [entry.holder for entry in _services.run_owners.entries(run)])
        return _services


def _on_job(report: JobReport) -> None:
    count_job(report)
    log_job(report)


def _fleet(settings: Settings) -> Fleet | None:
    """The machines that train besides this one; None without any. Dask is loaded only here."""
    if settings.fleet is None:
        return None
    if settings.fleet.startswith(PREFIX):
        return FolderFleet(Path(settings.fleet.removeprefix(PREFIX)), server_name(settings.runs))
    from dmlviz.fleet.dask_fleet import DaskFleet

    return DaskFleet(settings.fleet, settings.certificates)


def services() -> Services:
    """The process's services; started from the environment where no server did, as in a test of one page."""
    return _services or start_services(Settings())


def stop_services() -> None:
    """End all jobs and their workers."""
    global _services
    with _lock:
        if _services is not None:
            _close(_services)
        _services = None


def _close(ended: Services) -> None:
    ended.studies.runner.close()  # first, so that trials cut off by the scheduler's end count as not begun
    ended.scheduler.close()
    ended.intake.close()


def session_services() -> Services:
    """The services as the person may use them whose session runs this page."""
    here = services()
    person = here.identity.of_session()
    here.names[person.id] = person.name
    return here.for_person(person)
