"""The jobs that run and those that wait, and whose turn it is."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dmlviz.errors import BusyError, UserError
from dmlviz.jobs.job import Job
from dmlviz.jobs.order import JOBS, Lane
from dmlviz.jobs.placement import JobWorker


class Turns:
    """The jobs of a scheduler: owners take turns, with one job of each at a time. It locks nothing itself.

    Attributes:
        active: The running jobs by their workers.
        waiting: The others, in the order in which they came.
    """

    def __init__(self) -> None:
        self.active: dict[JobWorker, Job] = {}
        self.waiting: list[Job] = []
        self._last_by_owner: dict[str, int] = {}  # by owner: the number of the job that was started last
        self._count = 0

    def __iter__(self) -> Iterator[Job]:
        """All jobs, the running ones first."""
        return iter([*self.active.values(), *self.waiting])

    def find(self, folder: Path) -> Job | None:
        """Return the job whose record is this folder, if there is one."""
        return next((job for job in self if job.record.path == folder), None)

    def check_limit(self, owner: str, lane: Lane) -> None:
        """Raise UserError when a person, or all, have enough of a lane under way and waiting."""
        owners = Counter(job.owners[0] for job in self if job.order.lane is lane)
        is_over = bool(owner) and owners[owner] >= lane.of_person
        if is_over and lane is JOBS:
            raise UserError(
                f"One person has at most one job running and {lane.of_person - 1} waiting, and you have these: stop "
                "one, or wait until one ends."
            )
        if is_over or (lane.of_all is not None and owners.total() >= lane.of_all):
            raise BusyError("Other answers are being prepared for you; ask again when they are here.")

    def start(self, job: Job, worker: JobWorker) -> None:
        """Note that a waiting job begins."""
        self.waiting.remove(job)
        self.active[worker] = job
        self._count += 1
        if job.owners[0]:
            self._last_by_owner[job.owners[0]] = self._count

    def is_next(self, job: Job) -> bool:
        """Return whether a waiting job may begin: its owner has not enough running in its lane."""
        lane, owner = job.order.lane, job.owners[0]
        under_way = sum(one.order.lane is lane and one.owners[0] == owner for one in self.active.values())
        return not owner or under_way < lane.of_person_at_once

    def queue_of(self, job: Job) -> list[Job]:
        """Return what waits in the lane of a job, in the order of its turns."""
        same = (one for one in self.in_order() if one.order.lane is job.order.lane)
        return [one for one in same if one is job or not one.elsewhere]

    def in_order(self) -> list[Job]:
        """Return what waits, in the order of its turns.

        A job whose machine was lost comes first. Then every owner's first job, of those who were served longest ago
        before others, then every owner's second job, and so on; among equals first come, first served.
        """
        before: Counter[str] = Counter()
        turns = []
        for number, job in enumerate(self.waiting):
            owner = job.owners[0]
            turn = -1 if job.lost else before[owner] if owner else 0
            turns.append(((turn, self._last_by_owner.get(owner, 0), number), job))
            before[owner] += 1
        return [job for _, job in sorted(turns, key=lambda pair: pair[0])]
