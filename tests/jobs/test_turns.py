"""A class at few slots: who waits how long. The workers only wait to be told that they are done."""

from collections import Counter

import pytest

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.jobs.order import projection, training
from dmlviz.jobs.placement import WorkerEvent
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs

SLOTS = 16


class WaitingWorker:
    """Does nothing until a test ends it."""

    machine = name = ""

    def __init__(self, folder):
        self.run = folder.name

    def kill(self):
        pass

    terminate = kill

    def join(self, timeout=None):
        pass


class WaitingPool:
    """Stands in for the pool of processes."""

    warm = False

    def __init__(self, events):
        self.events = events
        self.active = []

    def dispatch(self, folder, dataset):
        self.active.append(WaitingWorker(folder))
        return self.active[-1]

    def answer(self, folder):
        return self.dispatch(folder, "")

    def prestart(self):
        pass

    def discard(self, worker):
        return False

    def close(self):
        pass


class Classroom:
    """People who ask, and rounds in which every slot has one job."""

    def __init__(self, folder, until):
        self.jobs = JobScheduler(Runs(folder), slots=SLOTS, warm=False)
        self.jobs.dispatcher.pool = self.pool = WaitingPool(self.jobs.dispatcher.events)
        self.owner = {}
        self.until = until

    def submit(self, person):
        config = TrainConfig(dataset="digits", net="mlp", steps=10, seed=len(self.owner))
        self.owner[config.id] = person
        return self.jobs.submit(training(self.jobs.runs, config), person)

    def rounds(self):
        """Who is at work in each round; a round ends for all at once."""
        told = []
        while self.pool.active:
            now, self.pool.active[:] = [*self.pool.active], []
            told.append([self.owner[worker.run] for worker in now])
            for worker in now:
                self.pool.events.put(WorkerEvent(worker, None))
            self.until(lambda now=now: not self.at_work(now))
        return told

    def at_work(self, workers):
        """Those of the workers that the scheduler still counts; not between an end and what it then starts."""
        with self.jobs._change:
            return set(workers) & set(self.jobs.turns.active)


@pytest.fixture
def classroom(tmp_path, until):
    room = Classroom(tmp_path, until)
    yield room
    room.jobs.close()


def test_a_hundred_people_wait_as_long_as_the_arithmetic_says(classroom):
    people = [f"person {number}" for number in range(100)]
    runs = {person: classroom.submit(person) for person in people}
    told = {person: classroom.jobs.status(run).position for person, run in runs.items()}
    rounds = classroom.rounds()
    assert [person for each in rounds for person in each] == people
    assert [len(each) for each in rounds] == [SLOTS] * 6 + [4]
    for number, person in enumerate(people):
        assert person in rounds[number // SLOTS]
        assert told[person] == (None if number < SLOTS else number - SLOTS + 1), "as the page says it"


def test_everybody_has_a_first_job_before_anybody_has_a_second(classroom):
    people = [f"person {number}" for number in range(2 * SLOTS)]
    for person in people:  # one after another, all that they may
        for _ in range(3):
            classroom.submit(person)
    rounds = classroom.rounds()
    assert len(rounds) == 6
    for turn in range(3):
        assert Counter(rounds[2 * turn] + rounds[2 * turn + 1]) == Counter(people), "each once in two rounds"


def test_who_comes_late_does_not_wait_for_the_second_jobs_of_others(classroom):
    early = [f"early {number}" for number in range(SLOTS)]
    for person in early * 3:
        classroom.submit(person)
    run = classroom.submit("late")
    assert classroom.jobs.status(run).position == 1
    assert "late" in classroom.rounds()[1]


def test_a_map_that_moves_waits_for_none_that_settles(classroom, until):
    jobs, following = classroom.jobs, ProjectionConfig(method="tsne", follow=True)
    maps = []
    for seed in range(3):
        run = jobs.submit(
            training(jobs.runs, TrainConfig(dataset="digits", net="mlp", steps=10, seed=seed)), f"person {seed}"
        )
        maps.append(jobs.submit(projection(jobs.runs, run.id, following), "ada"))
    assert jobs.status(maps[2]).phase == "queued"
    for worker in [*jobs.turns.active][:3:2]:  # the first two trainings; their maps settle
        classroom.pool.events.put(WorkerEvent(worker, None))
    until(lambda: jobs.status(maps[2]).phase != "queued")
    assert {maps[0].path, maps[1].path} < {job.record.path for job in jobs.turns.active.values()}
