"""What a rerun of the page costs the server: alone, beside a training, and with thirty people at once.

The peer is a Streamlit page that shows one button, served with the same options. Latency is from the question to the
end of the script, over the real protocol; CPU is the server's. Run with DMLVIZ_DATA set:
`python tests/bench/bench_app.py`.
"""

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from visitors import cpu, memory, serving, visit

RERUNS = 60
USERS = 30
THINK = 2.0  # seconds on average between two actions of a person
SECONDS = 20
TRAINING = "?dataset={dataset}&steps=20000&seed={seed}"


def percentiles(times: list[float]) -> str:
    """Median and 95th percentile, as text."""
    ordered = sorted(times)
    return f"median {statistics.median(ordered):6.1f} ms   p95 {ordered[int(0.95 * (len(ordered) - 1))]:6.1f} ms"


async def reruns(url: str, pid: int, query: str = "", press: str | None = None) -> tuple[list[float], float]:
    """Milliseconds of `RERUNS` reruns one after another, and the server's CPU milliseconds for each."""
    async with visit(url, query) as visitor:
        await visitor.run()
        if press:
            await visitor.run(press)
            await asyncio.sleep(3)
        used, times = cpu(pid), []
        for _ in range(RERUNS):
            times.append(await visitor.run())
            await asyncio.sleep(0.05)
        spent = 1e3 * (cpu(pid) - used) / RERUNS
        if press:
            await visitor.run("Stop")
        return times, spent


async def crowd(url: str, pid: int, users: int, query: str) -> tuple[list[float], float, float]:
    """Latencies of everybody, megabytes of each, share of a core that the server used."""
    async with visit(url, query) as first:
        await first.run()
        await first.run("Train")
        await asyncio.sleep(3)
        before, times, end = memory(pid), [], time.monotonic() + SECONDS

        async def person(number: int) -> None:
            await asyncio.sleep(random.Random(number).uniform(0, THINK))
            async with visit(url, first.query) as visitor:
                await visitor.run()
                think = random.Random(number)
                while time.monotonic() < end:
                    await asyncio.sleep(think.expovariate(1 / THINK))
                    times.append(await visitor.run())
                await asyncio.sleep(max(0.0, end + 1 - time.monotonic()))

        used, began = cpu(pid), time.monotonic()
        await asyncio.gather(*(person(number) for number in range(users)))
        share = (cpu(pid) - used) / (time.monotonic() - began)
        await first.run("Stop")
        return times, (memory(pid) - before) / users, share


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--dataset", default="mnist" if os.environ.get("DMLVIZ_DATA") else "digits")
    dataset = arguments.parse_args().dataset
    print(f"load of this machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        with serving(Path(folder), trivial=True) as (url, pid):
            times, spent = asyncio.run(reruns(url, pid))
            print(f"a page with one button            {percentiles(times)}   CPU {spent:5.1f} ms")
        with serving(Path(folder)) as (url, pid):
            print(f"  server at rest: {memory(pid):.0f} MB")
            times, spent = asyncio.run(reruns(url, pid))
            print(f"Explore                           {percentiles(times)}   CPU {spent:5.1f} ms")
            query = TRAINING.format(dataset=dataset, seed=1)
            times, spent = asyncio.run(reruns(url, pid, query, "Train"))
            print(f"Explore beside a training         {percentiles(times)}   CPU {spent:5.1f} ms")
            for users, seed in ((1, 2), (10, 3), (USERS, 4)):
                query = TRAINING.format(dataset=dataset, seed=seed)
                times, megabytes, share = asyncio.run(crowd(url, pid, users, query))
                told = f"{len(times)} reruns, {megabytes:.2f} MB a person, {100 * share:.0f}% of a core"
                print(f"{users:2d} people beside a training      {percentiles(times)}   {told}")
    print(f"\nload of this machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
