"""Deletion by size and age: runs beyond the limit, runs of guests after a day, expired deleted runs."""

import contextlib
import time

from dmlviz.catalog import custom_datasets
from dmlviz.data import backbone_weights
from dmlviz.errors import UserError
from dmlviz.runs.quota import enforce
from dmlviz.runs.trash import TRASH_RETENTION_S
from dmlviz.storage.disk_space import remove_stale_folders
from dmlviz_app.people.people import GUEST_RETENTION_S
from dmlviz_app.server.services import TRAINING_PAGES, Services

INTERVAL_S = 60.0  # seconds between two looks for what has expired
_cleaned_s = -INTERVAL_S


def enforce_quota(services: Services) -> None:
    """Delete old runs beyond the disk limit; once a minute also clean up."""
    global _cleaned_s
    in_use = _runs_in_use(services)

    def is_kept(run: str) -> bool:
        return run in in_use or any(entry.pinned for entry in services.run_owners.entries(run))

    for run in enforce(services.store, services.disk_limit, is_kept):
        entries = services.run_owners.entries(run.id)
        services.evicted.extend([(entry.title, entry.holder) for entry in entries] or [(run.title, "")])
        services.run_owners.forget(run.id)
    if time.monotonic() - _cleaned_s >= INTERVAL_S:
        _cleaned_s = time.monotonic()
        clean_up(services)


def evicted_titles(services: Services) -> list[str]:
    """Return the titles of this person's runs that were deleted to make room, the last 20."""
    return [title for title, holder in services.evicted if holder == services.person.owner][-20:]


def clean_up(services: Services) -> None:
    """Delete what has expired, but no run that is in use."""
    in_use, owners = _runs_in_use(services), services.run_owners
    services.features.expire()
    services.store.trash.empty()
    services.store.remove_stale_folders()
    remove_stale_folders(services.data / custom_datasets.FOLDER)
    remove_stale_folders(services.cache / TRAINING_PAGES, "*/*")  # written anew where one is asked for
    for run, entry in owners.expired(GUEST_RETENTION_S):
        if len(owners.entries(run)) > 1:
            owners.remove(run, entry.holder)
        elif run not in in_use:
            with contextlib.suppress(UserError):  # it is gone already, or another process writes it
                services.store.delete(run)
            services.store.trash.remove(run)
            owners.forget(run)
    for dataset, entry in services.data_owners.expired(GUEST_RETENTION_S):
        if services.data_owners.remove(dataset, entry.holder):
            with contextlib.suppress(UserError):
                backbone_weights.remove_dataset(services.data, dataset)
            services.data_owners.forget(dataset)
    backbone_weights.remove_unused(services.data)
    folders = services.store.folder, services.store.trash.folder
    owners.sweep(lambda run: any((folder / run).is_dir() for folder in folders), TRASH_RETENTION_S)


def _runs_in_use(services: Services) -> set[str]:
    return {*services.audience.viewed_runs(), *(job.order.run for job, _ in services.scheduler.running_for())}
