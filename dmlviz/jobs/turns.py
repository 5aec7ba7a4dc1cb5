"""The jobs that run and those that wait, and whose turn it is."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dmlviz.errors import BusyError, UserError
from dmlviz.jobs.job import Job
from dmlviz.jobs.placement import JobWorker

MAX_QUEUED_PER_OWNER = 3  # waiting jobs of one owner, besides the one under way
MAX_ANSWERS_PER_OWNER, MAX_ANSWERS = 6, 60  # under way and waiting: of one owner, and of all


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

    def check_limit(self, owner: str, is_answer: bool = False) -> None:
        """Raise UserError when a person has enough jobs, or answers, under way and waiting."""
        owners = Counter(job.owners[0] for job in self if job.order.is_answer is is_answer)
        if is_answer:
            if (owner and owners[owner] >= MAX_ANSWERS_PER_OWNER) or owners.total() >= MAX_ANSWERS:
                raise BusyError("Other answers are being prepared for you; ask again when they are here.")
        elif owner and owners[owner] > MAX_QUEUED_PER_OWNER:
            raise UserError(
                f"One person has at most one job running and {MAX_QUEUED_PER_OWNER} waiting, and you have these: stop "
                "one, or wait until one ends."
            )

    def start(self, job: Job, worker: JobWorker) -> None:
        """Note that a waiting job begins."""
        self.waiting.remove(job)
        self.active[worker] = job
        self._count += 1
        if job.owners[0]:
            self._last_by_owner[job.owners[0]] = self._count

    def is_next(self, job: Job) -> bool:
        """Return whether a waiting job may begin: no other one of its owner runs; answers are apart from jobs."""
        under_way = {
            active.owners[0] for active in self.active.values() if active.order.is_answer is job.order.is_answer
        }
        return not job.owners[0] or job.owners[0] not in under_way

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
