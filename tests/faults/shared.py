"""What one person, or a class, can do to a shared server: `python tests/faults/shared.py`, on loopback.

One person asks for the same file thirty-two times at once, another presses Train on a run larger than their room,
thirty sessions and thirty windows of Chromium open one link in the same moment, and a hundred visitors come to a server
that may open 256 files. One person takes more than their room on a server that is full, and two servers of one folder
are asked for the same run.
"""

import asyncio
import contextlib
import resource
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
sys.path.insert(0, str(Path(__file__).parent))

from table import Table, options
from visitors import serving, visit

from dmlviz.runs.ownership import Ownership
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.storage.files import write_json
from tests.browser.conftest import ARGUMENTS, CHROMIUM

RUN = "1982b684f3268e0c"  # ready-made
LARGE = "dataset=digits&net=mlp&embedding_dim=4096&steps=1000&num_snapshots=1000"
SMALL = "dataset=digits&net=mlp&embedding_dim=8&steps=300&num_snapshots=4&seed="
MAX_FILES = 256
SEEN_MS = 600_000  # in which thirty windows have drawn a map, on two busy cores
OVER_S = 60  # seconds in which a short training has ended


def new_table() -> Table:
    """The table that `run` fills."""
    return Table(
        "shared",
        "What one person, or a class, does to a shared server",
        "others are answered, nobody's runs are lost, and all of a class see what is shared with them.",
        "python tests/faults/shared.py",
    )


def run(table: Table, people: int = 30, visitors: int = 100, flood: int = 32) -> None:
    """Do all of it once."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        shared = _held(runs, 77, "browser:0123456789ab")
        owners = Ownership(runs)
        owners.share(shared.name, "browser:0123456789ab", "link")
        key = owners.entry(shared.name, "browser:0123456789ab").key
        with serving(runs, "--shared") as (url, _):
            for case, broken in (
                (f"{flood} times the same file for one person", asyncio.run(_flood(url, flood))),
                (f"{people} sessions open one link at once", asyncio.run(_link(url, shared.name, key, people))),
                (
                    f"{people} windows of Chromium open one link at once",
                    asyncio.run(_see(url, shared.name, key, people)),
                ),
                ("a run larger than a person's room", asyncio.run(_large(url, runs))),
            ):
                table.add(case, broken)
        table.add("a full server, and a person beyond their room", asyncio.run(_evicted(Path(folder) / "full")))
        table.add("two servers of one folder are asked for one run", asyncio.run(_two_servers(Path(folder) / "two")))
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_FILES, before[1]))
        try:
            with serving(runs, "--shared") as (url, _):
                table.add(f"{visitors} visitors, {MAX_FILES} open files", asyncio.run(_visitors(url, visitors)))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _held(runs: Path, seed: int, holder: str) -> Path:
    """Make a finished run of a person, and return its folder."""
    source = Runs(runs).get(RUN)
    config = source.config.replace(seed=seed)
    folder = runs / config.id
    shutil.copytree(source.path, folder)
    write_json(folder / "run.json", source.info | {"id": config.id, "config": config.model_dump(mode="json")})
    Ownership(runs).add(config.id, holder=holder, name="T", title="t")
    return folder


def _get(url: str, cookie: str) -> int:
    request = urllib.request.Request(url, headers={"Cookie": f"dmlviz_browser={cookie}"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            answer.read()
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def _cookie(url: str) -> str:
    """The cookie that the server gives a new browser."""
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": "text/html"})) as answer:
        return answer.headers["set-cookie"].split("dmlviz_browser=")[1].split(";")[0]


async def _flood(url: str, times: int) -> str:
    mine, other = _cookie(url), _cookie(url)
    with ThreadPoolExecutor(times + 1) as threads:
        asked = [threads.submit(_get, f"{url}/dmlviz/runs/{RUN}/export/csv", mine) for _ in range(times)]
        seen = threads.submit(_get, f"{url}/dmlviz/runs/{RUN}/labels.u16", other).result()
        statuses = {one.result() for one in asked}
    return "" if seen == 200 and statuses <= {200, 503} and 200 in statuses else f"{statuses}, the other {seen}"


async def _link(url: str, run: str, key: str, people: int) -> str:
    cookies = [await asyncio.to_thread(_cookie, url) for _ in range(people)]
    go = asyncio.Event()

    async def one(cookie: str) -> None:
        async with visit(url, f"run={run}&share={key}", cookie) as visitor:
            await go.wait()
            await visitor.run()

    tasks = [asyncio.create_task(one(cookie)) for cookie in cookies]
    await asyncio.sleep(2)
    go.set()
    await asyncio.gather(*tasks)
    statuses = [await asyncio.to_thread(_get, f"{url}/dmlviz/runs/{run}/labels.u16", cookie) for cookie in cookies]
    return "" if statuses == [200] * people else f"{statuses.count(200)} of {people} see it"


async def _see(url: str, run: str, key: str, people: int) -> str:
    """Open the link in windows that share no cookie, and look whether each draws the run's map."""
    from playwright.async_api import Error, async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        pages = [await (await browser.new_context()).new_page() for _ in range(people)]

        async def look(page: Any) -> str:
            try:
                await page.goto(f"{url}/?run={run}&share={key}", timeout=SEEN_MS)
                await page.locator(f'.map[data-run="{run}"][data-ready="true"]').wait_for(timeout=SEEN_MS)
            except Error as error:
                return str(error)[:100]
            return next(one["value"] for one in await page.context.cookies() if one["name"] == "dmlviz_browser")

        seen = await asyncio.gather(*map(look, pages))
        await browser.close()
    own = {cookie for cookie in seen if " " not in cookie}
    return "" if len(own) == people else f"{len(own)} of {people} see it; {seen}"


async def _large(url: str, runs: Path) -> str:
    before = len(Runs(runs).list())
    async with visit(url, LARGE, _cookie(url)) as visitor:
        await visitor.run()
        await visitor.run("Train")
    return "" if len(Runs(runs).list()) == before else "it was begun"


async def _evicted(runs: Path) -> str:
    kept = [_held(runs, seed, "browser:0123456789ab") for seed in (1, 2)]
    beyond = [_held(runs, seed, "browser:ba9876543210") for seed in range(3, 17)]
    for folder in beyond:
        with open(folder / "filler", "wb") as file:
            file.truncate(150_000_000)  # takes no room on the disk
    with serving(runs, "--shared", "--disk-limit", "2") as (url, _):
        async with visit(url, f"{SMALL}1", _cookie(url)) as visitor:
            await visitor.run()
            await visitor.run("Train")
    gone = [folder.name for folder in (*kept, *beyond) if not folder.is_dir()]
    restorable = [path.name for path in Runs(runs).trash.runs()]
    is_right = bool(gone) and {*gone} <= {folder.name for folder in beyond} and {*gone} == {*restorable}
    return "" if is_right else f"gone {gone}, restorable {restorable}"


async def _two_servers(runs: Path) -> str:
    runs.mkdir()
    before = {run.id for run in Runs(runs).list()}
    with serving(runs) as (first, _), serving(runs) as (second, _):

        async def press(url: str) -> None:
            async with visit(url, f"{SMALL}2") as visitor:
                await visitor.run()
                await visitor.run("Train")

        await asyncio.gather(press(first), press(second))
        until = time.monotonic() + OVER_S
        while (runs_now := _new(runs, before)) and runs_now[0].end is None and time.monotonic() < until:
            await asyncio.sleep(0.2)
    states = [run.state for run in runs_now]
    begun = [sum(event["event"] == "started" for event in run.events()) for run in runs_now]
    return "" if (states, begun) == (["finished"], [1]) else f"{states}, begun {begun} times"


def _new(runs: Path, before: set[str]) -> list[Run]:
    return [run for run in Runs(runs).list() if run.id not in before]


async def _visitors(url: str, count: int) -> str:
    async with contextlib.AsyncExitStack() as stack:
        for number in range(count):
            try:
                visitor = await stack.enter_async_context(visit(url))
                await visitor.run()
            except OSError as error:
                return f"visitor {number + 1}: {error}"
    return ""


if __name__ == "__main__":
    made = options(__doc__ or "", 1)
    filled = new_table()
    for _ in range(made.times):
        run(filled)
    sys.exit(filled.finish(made.write))
