"""A class of thirty: from the teacher's click to every page; and a hundred people who train at sixteen slots.

Pages are event streams and Streamlit sessions without a browser. A page is there when its script has run to the end.
Run it with DMLVIZ_DATA set: `python tests/bench/bench_classroom.py`.
"""

import asyncio
import heapq
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import httpx
from dmlviz_app.people.classrooms import Classrooms
from dmlviz_app.people.cookies import COOKIE, BrowserCookie, load_key, public_id
from dmlviz_app.people.people import BROWSER
from visitors import cpu, serving, visit

from dmlviz.config import TrainConfig
from dmlviz.jobs.order import training
from dmlviz.jobs.placement import WorkerEvent
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs

STUDENTS = 30
CLICKS = 20
PEOPLE, SLOTS, JOB_S = 100, 16, 1.0


class Student:
    """One page of a student: it hears what the teacher does."""

    def __init__(self, url: str, cookie: str) -> None:
        self.client = httpx.AsyncClient(base_url=url, cookies={COOKIE: cookie}, timeout=None)
        self.heard: dict[int, float] = {}  # when a step of the teacher arrived

    async def listen(self, code: str) -> None:
        async with self.client.stream("GET", f"/dmlviz/classrooms/{code}/events") as answer:
            async for line in answer.aiter_lines():
                if line.startswith('data: {"event": "classroom"'):
                    lead = json.loads(line[6:])["lead"]
                    if lead and lead["step"] is not None:
                        self.heard.setdefault(lead["step"], time.perf_counter())


def told(name: str, seconds: list[float]) -> None:
    """Print median and worst."""
    print(f"{name:58s} median {1e3 * statistics.median(seconds):7.0f} ms   worst {1e3 * max(seconds):7.0f} ms")


async def follow(url: str, server: int, code: str, cookies: list[str]) -> None:
    """Time the teacher's clicks."""
    async with httpx.AsyncClient(base_url=url, cookies={COOKIE: cookies[0]}, timeout=60) as teacher:
        students = [Student(url, cookie) for cookie in cookies[1:]]
        tasks = [asyncio.create_task(student.listen(code)) for student in students]
        await asyncio.sleep(3)
        waits, worst = [], []
        for step in range(CLICKS):
            began = time.perf_counter()
            place = {"page": "", "query": {"step": str(step)}, "step": step}
            answer = await teacher.post(f"/dmlviz/classrooms/{code}/place", json=place)
            assert answer.status_code == 200, answer.text
            while not all(step in student.heard for student in students):
                await asyncio.sleep(0.002)
            took = [student.heard[step] - began for student in students]
            waits += took
            worst.append(max(took))
        told(f"a step of the teacher → {STUDENTS} pages, each", waits)
        told(f"a step of the teacher → the last of {STUDENTS} pages", worst)
        for task in tasks:
            task.cancel()
    await move(url, server, cookies[1:])


async def move(url: str, server: int, cookies: list[str]) -> None:
    """Every page goes to another address at the same moment, as when the teacher opens another run or page."""
    rooms = [visit(url, cookie=cookie) for cookie in cookies]
    visitors = [await room.__aenter__() for room in rooms]
    for visitor in visitors:
        await visitor.run()
    each, last, work = [], [], []
    for turn in range(8):
        for visitor in visitors:
            visitor.query = f"color={('error', 'class')[turn % 2]}&metric={('cosine', 'euclidean')[turn % 2]}"
        began, used = time.perf_counter(), cpu(server)
        each += [wait / 1e3 for wait in await asyncio.gather(*(visitor.run() for visitor in visitors))]
        last.append(time.perf_counter() - began)
        work.append(cpu(server) - used)
    told(f"another address of Explore on {STUDENTS} pages at once, each", each)
    told(f"another address of Explore on {STUDENTS} pages at once, the last", last)
    told("  of that, work of the server", work)
    for room in rooms:
        await room.__aexit__(None, None, None)


def prepare(runs: Path) -> tuple[str, list[str]]:
    """Write a class that is open and led; return its code, and the cookies of the teacher and of the students."""
    browsers = BrowserCookie(load_key(runs))
    cookies = [browsers.issue() for _ in range(STUDENTS + 1)]
    teacher, *students = (f"{BROWSER}{public_id(browsers.token({COOKIE: cookie}) or '')}" for cookie in cookies)
    rooms = Classrooms(runs)
    code = rooms.open(teacher, "Bench", 1).code
    for number, student in enumerate(students):
        rooms.join(code, student, f"Student {number}")
    rooms.set_leading(code, teacher, True)
    return code, cookies


class SleepingWorker:
    """Sleeps in place of a training."""

    machine = name = ""

    def __init__(self, folder: Path, pool: "SleepingPool") -> None:
        pool.begun[folder.name] = time.perf_counter()
        threading.Timer(JOB_S, lambda: pool.events.put(WorkerEvent(self, None))).start()

    def kill(self) -> None:
        """Nothing to end."""

    terminate = kill

    def join(self, timeout: float | None = None) -> None:
        """Nothing to wait for."""


class SleepingPool:
    """Stands in for the pool of processes."""

    warm = False

    def __init__(self, events: object) -> None:
        self.events = events
        self.begun: dict[str, float] = {}

    def dispatch(self, folder: Path, dataset: str) -> SleepingWorker:
        """Start to sleep."""
        return SleepingWorker(folder, self)

    def prestart(self) -> None:
        """Nothing to start."""

    def discard(self, worker: object) -> bool:
        """No worker waits."""
        return False

    def close(self) -> None:
        """Nothing to end."""


def queue() -> None:
    """Time when each of a hundred people's jobs begins, against the arithmetic: the first slot that is free then."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = JobScheduler(Runs(Path(folder)), slots=SLOTS, warm=False)
        jobs.dispatcher.pool = pool = SleepingPool(jobs.dispatcher.events)
        config = TrainConfig(dataset="digits", net="mlp", steps=10)
        asked = {}
        for number in range(PEOPLE):
            when = time.perf_counter()
            asked[jobs.submit(training(jobs.runs, config.replace(seed=number)), f"person {number}").id] = when
        while jobs.running_for():
            time.sleep(0.05)
        waits = [pool.begun[run] - when for run, when in asked.items()]
        free = [0.0] * SLOTS
        late = []
        for run, when in asked.items():
            begins = max(when, free[0])
            heapq.heapreplace(free, begins + JOB_S)
            late.append(pool.begun[run] - begins)
        print(f"{PEOPLE} people, {SLOTS} slots, jobs of {JOB_S:g} s: the last waits {max(waits):.2f} s")
        told("how far each beginning is from the arithmetic", [abs(each) for each in late])
        jobs.close()


if __name__ == "__main__":
    queue()
    with tempfile.TemporaryDirectory() as folder:
        code, cookies = prepare(Path(folder))
        with serving(Path(folder), "--shared") as (url, server):
            asyncio.run(follow(url, server, code, cookies))
