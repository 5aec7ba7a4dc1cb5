"""How much memory a server takes: alone, for each person, for each training. `python tests/bench/bench_hosting.py`.

Memory is PSS, which counts what processes share once: the server, the process that forks its workers, and the workers.
A person is a session with the first page, over the real protocol, who opens it and asks for three reruns.
"""

import argparse
import asyncio
import re
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from visitors import serving, visit

from tests.waiting import descendants

PEOPLE = (0, 10, 30, 100)
TRAINING = "?dataset={dataset}&steps=100000&seed={seed}"


def pss(pid: int) -> float:
    """Megabytes of one process."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    match = re.search(r"^Pss: +(\d+)", rollup, re.MULTILINE)
    assert match is not None
    return int(match[1]) / 1000


def ready(url: str) -> bool:
    """Whether the server says that a job can start."""
    try:
        return bool(urlopen(f"{url}/dmlviz/health/ready", timeout=10).status == 200)
    except HTTPError:
        return False


async def people(url: str, pid: int) -> None:
    """The server with more and more people."""
    async with AsyncExitStack() as stack:
        here, base = 0, 0.0
        for wanted in PEOPLE:
            for _ in range(wanted - here):
                visitor = await stack.enter_async_context(visit(url))
                for _ in range(3):
                    await visitor.run()
            here = wanted
            await asyncio.sleep(2)
            now = pss(pid)
            base = base or now
            each = f", {(now - base) / wanted:.2f} MB a person" if wanted else ""
            print(f"{wanted:4} people: server {now:.0f} MB{each}", flush=True)


async def training(url: str, pid: int, dataset: str) -> None:
    """The workers without and with a training."""
    print(
        f"workers that wait: {sum(map(pss, descendants(pid))):.0f} MB in {len(descendants(pid))} processes", flush=True
    )
    async with visit(url, TRAINING.format(dataset=dataset, seed=1)) as visitor:
        await visitor.run()
        await visitor.run("Train")
        await asyncio.sleep(30)
        each = sorted((pss(child) for child in descendants(pid)), reverse=True)
        print(f"with one training of {dataset}: {sum(each):.0f} MB, a process each {[round(mb) for mb in each]}")
        await visitor.run("Stop")


async def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="mnist")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (url, pid):
        while not ready(url):
            await asyncio.sleep(1)
        await asyncio.sleep(10)  # for the worker of questions, which starts then
        await training(url, pid, given.dataset)
        await people(url, pid)


if __name__ == "__main__":
    asyncio.run(main())
