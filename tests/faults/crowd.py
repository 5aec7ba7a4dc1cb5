"""Many people at once: `python tests/faults/crowd.py --users 200 --minutes 10`, on loopback.

Each user is a Streamlit session that asks for the page again every few seconds, and an event stream that is read as it
comes. Beside them two trainings run, and other event streams are not read at all, or slower than they are written.
"""

import asyncio
import contextlib
import os
import random
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
sys.path.insert(0, str(Path(__file__).parent))

from table import Table, parser
from visitors import Visitor, memory, visit

from tests.browser.server_process import Server

P95_MS = {30: 150.0, 200: 400.0}  # of a rerun, at most, for so many users
GROWTH_MB, GROWTH_FILES = 30.0, 20  # from the second tenth of the time to the last, at most
THINK_S = 8.0  # between two reruns of one user, on average
WARM_UP = 0.2  # of the time: while everybody comes, memory grows
SLOW_BYTES = 500  # that a slow reader takes every second
TRAINING = "dataset=digits&net=mlp&embedding_dim=8&steps=200000&num_snapshots=200&eval_subset_size=100&seed="


class Crowd:
    """The users of a server, and what they have seen.

    Args:
        server: The server.
        folder: Where its runs are.
        seconds: How long they stay.
    """

    def __init__(self, server: Server, folder: Path, seconds: float) -> None:
        self.server = server
        self.folder = folder
        self.end = time.monotonic() + seconds
        self.begin = time.monotonic()
        self.runs: list[str] = []
        self.reruns: list[float] = []
        self.lines = 0
        self.errors: list[str] = []
        self.memory: list[float] = []
        self.files: list[int] = []

    async def come(self, users: int, unread: int, slow: int) -> None:
        """Train, let everybody come, look at the server every second, and leave."""
        async with contextlib.AsyncExitStack() as stack:
            for seed in (1, 2):
                trainer = await stack.enter_async_context(visit(self.server.url, TRAINING + str(seed)))
                await trainer.run()
                await trainer.run("Train")
            while len(self.runs) < 2:
                await asyncio.sleep(0.1)
                self.runs = [path.parent.name for path in self.folder.glob("*/events.jsonl")]
            self.begin, self.end = time.monotonic(), time.monotonic() + self.end - self.begin
            for number in range(unread):
                await stack.enter_async_context(self.stream(number, buffer=2048))
            tasks = [self.user(number) for number in range(users)] + [
                self.read_slowly(number) for number in range(slow)
            ]
            await asyncio.gather(self.watch(), *tasks)

    async def watch(self) -> None:
        """Note the server's memory and open files every second."""
        pid = self.server.process.pid
        while time.monotonic() < self.end:
            await asyncio.sleep(1)
            self.memory.append(memory(pid))
            self.files.append(len(os.listdir(f"/proc/{pid}/fd")))

    async def user(self, number: int) -> None:
        """One person: looks at a run, thinks, looks again; the page hears of every frame."""
        draw = random.Random(number)
        await asyncio.sleep(draw.uniform(0, WARM_UP / 2) * (self.end - self.begin))
        query = f"run={self.runs[number % 2]}"
        try:
            async with visit(self.server.url, query) as visitor:
                reading = asyncio.create_task(self.read(number))
                await self.look_again(visitor, draw)
                reading.cancel()
        except Exception as error:
            self.errors.append(f"a session ended: {type(error).__name__}: {str(error)[:100]}")

    async def look_again(self, visitor: Visitor, draw: random.Random) -> None:
        """Ask for the page again and again; the first time, which makes the session, is not measured."""
        await visitor.run()
        measured = False
        while not measured or time.monotonic() < self.end:
            await asyncio.sleep(min(draw.expovariate(1 / THINK_S), self.end - time.monotonic() + 0.01))
            if measured and time.monotonic() >= self.end:
                return  # without a last question: all would ask it in the same moment
            took = await visitor.run()
            if self.share_of_time > WARM_UP:
                self.reruns.append(took)
                measured = True

    @property
    def share_of_time(self) -> float:
        """How much of the time has passed, 0 to 1."""
        return (time.monotonic() - self.begin) / (self.end - self.begin)

    async def read(self, number: int) -> None:
        """Read an event stream as fast as it comes; a stream that ends is an error."""
        async with self.stream(number) as reader:
            while line := await reader.readline():
                self.lines += line.startswith(b"data:")
        self.errors.append("an event stream ended")

    async def read_slowly(self, number: int) -> None:
        """Read a few hundred bytes a second of an event stream."""
        async with self.stream(number, buffer=2048) as reader:
            while time.monotonic() < self.end:
                await reader.read(SLOW_BYTES)
                await asyncio.sleep(1)

    @contextlib.asynccontextmanager
    async def stream(self, number: int, buffer: int | None = None) -> AsyncIterator[asyncio.StreamReader]:
        """An open event stream of a run; with `buffer`, as few bytes as possible wait in the system."""
        place = urlsplit(self.server.url)
        connection = socket.socket()
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (place.hostname, place.port))
        limit = 2**16 if buffer is None else buffer
        reader, writer = await asyncio.open_connection(sock=connection, limit=limit)
        path = f"/dmlviz/runs/{self.runs[number % 2]}/events"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAccept: text/event-stream\r\n\r\n".encode())
        await writer.drain()
        status = await reader.readline()
        if b" 200 " not in status:
            self.errors.append(f"an event stream was refused: {status.decode(errors='replace').strip()}")
        try:
            yield reader
        finally:
            writer.close()

    def judge(self, users: int, table: Table, name: str) -> None:
        """Put what was seen into the table."""
        broken = [*dict.fromkeys(self.errors)]
        if "Traceback" in self.server.log:
            broken.append(f"in the log: {self.server.log.split('Traceback')[-1].strip().splitlines()[-1][:150]}")
        if len(self.reruns) < users:
            broken.append(f"only {len(self.reruns)} reruns")
        p95 = statistics.quantiles(self.reruns, n=20)[-1] if len(self.reruns) > 1 else float("inf")
        limit = next((limit for most, limit in P95_MS.items() if users <= most), float("inf"))
        if p95 > limit:
            broken.append(f"p95 of a rerun is {p95:.0f} ms")
        steady = slice(int(WARM_UP * len(self.memory)), None)
        megabytes, files = self.memory[steady], self.files[steady]
        tenth = max(1, len(megabytes) // 10)
        more = statistics.mean(megabytes[-tenth:]) - statistics.mean(megabytes[:tenth])
        if more > GROWTH_MB:
            broken.append(f"{more:.0f} MB more memory")
        if max(files) - files[0] > GROWTH_FILES:
            broken.append(f"{max(files) - files[0]} more open files")
        table.add(
            name,
            "; ".join(broken),
            **{
                "reruns": len(self.reruns),
                "lines read": self.lines,
                "ms rerun, median": statistics.median(self.reruns or [float("inf")]),
                "ms rerun, p95": p95,
                "MB at the end": megabytes[-1],
                "MB more": more,
                "open files": max(files),
            },
        )


def new_table() -> Table:
    """The table of this command."""
    return Table(
        "R4",
        "many people at once",
        "no error; memory and open files stay; p95 of a rerun ≤ 150 ms for 30 users, ≤ 400 ms for 200.",
        "python tests/faults/crowd.py --users 30 200 --minutes 10",
    )


def run(table: Table, users: int, unread: int, slow: int, seconds: float) -> None:
    """Start a server, let so many people use it for so long, and put what came of it into the table."""
    with tempfile.TemporaryDirectory(prefix="dmlviz-crowd-") as folder:
        command = [
            sys.executable,
            "-m",
            "dmlviz",
            "serve",
            "--port",
            "0",
            "--no-browser",
            "--runs",
            folder,
            "--slots",
            "2",
        ]
        server = Server(command, {"NUMBA_DISABLE_JIT": "1"})
        try:
            crowd = Crowd(server, Path(folder), seconds)
            asyncio.run(crowd.come(users, unread, slow))
        finally:
            server.close()
        crowd.judge(
            users, table, f"{users} users, {unread} unread streams, {slow} slow readers, {seconds / 60:.1f} min"
        )


if __name__ == "__main__":
    options = parser(__doc__ or "", 0)
    options.add_argument("--users", type=int, nargs="+", default=[30, 200], help="how many people (30 200)")
    options.add_argument("--minutes", type=float, default=10.0, help="how long each crowd stays (10)")
    options.add_argument("--unread", type=int, default=300, help="event streams that nobody reads (300)")
    options.add_argument("--slow", type=int, default=20, help="slow readers (20)")
    chosen = options.parse_args()
    table = new_table()
    for users in chosen.users:
        run(table, users, chosen.unread, chosen.slow, 60 * chosen.minutes)
    sys.exit(table.finish(chosen.write))
