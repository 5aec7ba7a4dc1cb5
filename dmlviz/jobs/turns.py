"""Whose turn it is."""

from collections import Counter
from collections.abc import Mapping, Sequence

from dmlviz.jobs.job import Job


def in_turn(waiting_jobs: Sequence[Job], served: Mapping[str, int]) -> list[Job]:
    """Return what waits, in the order of its turns.

    A job whose machine was lost comes first. Then every owner's first job, of those who were served longest ago
    before others, then every owner's second job, and so on; among equals first come, first served.
    """
    waiting: Counter[str] = Counter()
    turns = []
    for number, job in enumerate(waiting_jobs):
        owner = job.owners[0]
        turn = -1 if job.lost else waiting[owner] if owner else 0
        turns.append(((turn, served.get(owner, 0), number), job))
        waiting[owner] += 1
    return [job for _, job in sorted(turns, key=lambda pair: pair[0])]
