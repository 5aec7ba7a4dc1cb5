"""Deletion by size and age: runs beyond the limit, runs of guests after a day, expired deleted runs."""

import contextlib
import time
from collections.abc import Callable
from functools import cache, partial

from dmlviz.catalog import custom_datasets
from dmlviz.data import backbone_weights
from dmlviz.errors import UserError
from dmlviz.runs.quota import RECENT_S, Rank, creation_time, enforce
from dmlviz.runs.run_folders import TRASH_RETENTION_S
from dmlviz.storage.disk_space import remove_stale_folders
from dmlviz_app.people.people import GUEST_RETENTION_S
from dmlviz_app.server.labels import unique_labels
from dmlviz_app.server.protocol import DeletedRun
from dmlviz_app.server.services import COMPUTED, TRAINING_PAGES, Services

KEEP_COMPUTED_S = 7 * 86_400.0  # from the last file of a run, data set or study; all can be computed again
INTERVAL_S = 60.0  # seconds between two looks for what has expired
_cleaned_s = -INTERVAL_S


def enforce_quota(services: Services) -> None:
    """Delete old runs beyond the disk limit; once a minute also clean up."""
    global _cleaned_s
    in_use = _runs_in_use(services)

    def is_kept(run: str) -> bool:
        return run in in_use or any(entry.pinned for entry in services.run_owners.entries(run))

    for run in enforce(
        services.store, services.disk_limit, is_kept, partial(_rank, services, cache(services.is_beyond))
    ):
        entries, now, made = (
            services.run_owners.entries(run.id),
            time.time(),
            f" of {creation_time(run):%Y-%m-%d %H:%M}",
        )
        services.evicted.extend((run.id, entry.title + made, entry.holder, now) for entry in entries)
        services.evicted.extend([] if entries else [(run.id, run.title + made, "", now)])
        services.run_owners.remove_all(run.id)
    if time.monotonic() - _cleaned_s >= INTERVAL_S:
        _cleaned_s = time.monotonic()
        clean_up(services)


def _rank(services: Services, is_beyond: Callable[[str], bool], run: str) -> Rank:
    """Return how soon a run makes room: one that several people hold only if each of them would lose it."""
    entries = services.run_owners.entries(run)
    if not entries:
        return Rank.TEMPORARY if (services.store.bundled / run).is_dir() else Rank.KEPT
    if all(is_beyond(entry.holder) for entry in entries):
        return Rank.BEYOND
    return Rank.TEMPORARY if all(entry.temporary for entry in entries) else Rank.KEPT


def evicted_runs(services: Services) -> list[DeletedRun]:
    """Return this person's last 20 runs that made room; for an hour also those that are gone for good."""
    deleted, recent = {path.name for path in services.store.trash.runs()}, time.time() - RECENT_S
    titles = {
        run: title
        for run, title, holder, when in services.evicted[-200:]
        if holder == services.person.owner
        and (run in deleted or (when > recent and not (services.store.folder / run).exists()))
    }
    labels = unique_labels([*titles][-20:], titles.__getitem__)
    return [DeletedRun(run=run, title=label, lost=run not in deleted) for run, label in labels.items()]


def clean_up(services: Services) -> None:
    """Delete what has expired, but no run that is in use."""
    in_use, owners = _runs_in_use(services), services.run_owners
    services.features.expire()
    services.store.trash.empty()
    services.store.remove_stale_folders()
    remove_stale_folders(services.data / custom_datasets.FOLDER)
    remove_stale_folders(services.cache / COMPUTED, "*", KEEP_COMPUTED_S)
    remove_stale_folders(services.cache / TRAINING_PAGES, "*/*")  # written anew where one is asked for
    services.answers.expire()
    for run, entry in owners.expired(GUEST_RETENTION_S):
        if run in in_use and len(owners.entries(run)) == 1:
            continue
        with contextlib.suppress(UserError):  # it is gone already, or another process writes it
            if owners.remove(run, entry.holder, before_last=partial(services.store.delete, run)):
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
    return {
        *services.audience.viewed_runs(),
        *(job.order.run for job, _ in services.scheduler.running_for(answers=True)),
    }
