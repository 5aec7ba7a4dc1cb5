"""What one person, or a class, can do to a shared server: `python tests/faults/shared.py`, on loopback.

One person asks for the same file thirty-two times at once, another presses Train on a run larger than their room,
thirty browsers open one link in the same moment, and a hundred visitors come to a server that may open 256 files.
"""

import asyncio
import contextlib
import resource
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
sys.path.insert(0, str(Path(__file__).parent))

from table import Table, options
from visitors import serving, visit

from dmlviz.runs.ownership import Ownership
from dmlviz.runs.store import Runs
from dmlviz.storage.files import write_json

RUN = "1982b684f3268e0c"  # ready-made
LARGE = "dataset=digits&net=mlp&embedding_dim=4096&steps=1000&num_snapshots=1000"
MAX_FILES = 256


def new_table() -> Table:
    """The table that `run` fills."""
    return Table(
        "shared",
        "What one person, or a class, does to a shared server",
        "Others are answered, nobody's runs are lost, and all of a class see what is shared with them.",
        "python tests/faults/shared.py",
    )


def run(table: Table, people: int = 30, visitors: int = 100, flood: int = 32) -> None:
    """Do all of it once."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        source = Runs(runs).get(RUN)
        config = source.config.replace(seed=77)
        shared = runs / config.id
        shutil.copytree(source.path, shared)
        write_json(shared / "run.json", source.info | {"id": config.id, "config": config.model_dump(mode="json")})
        owners = Ownership(runs)
        owners.add(shared.name, holder="browser:0123456789ab", name="T", title="t")
        owners.share(shared.name, "browser:0123456789ab", "link")
        key = owners.entry(shared.name, "browser:0123456789ab").key
        with serving(runs, "--shared") as (url, _):
            for case, broken in (
                (f"{flood} times the same file for one person", asyncio.run(_flood(url, flood))),
                (f"{people} browsers open one link at once", asyncio.run(_link(url, shared.name, key, people))),
                ("a run larger than a person's room", asyncio.run(_large(url, runs))),
            ):
                table.add(case, broken)
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_FILES, before[1]))
        try:
            with serving(runs, "--shared") as (url, _):
                table.add(f"{visitors} visitors, {MAX_FILES} open files", asyncio.run(_visitors(url, visitors)))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


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


async def _large(url: str, runs: Path) -> str:
    before = len(Runs(runs).list())
    async with visit(url, LARGE, _cookie(url)) as visitor:
        await visitor.run()
        await visitor.run("Train")
    return "" if len(Runs(runs).list()) == before else "it was begun"


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
