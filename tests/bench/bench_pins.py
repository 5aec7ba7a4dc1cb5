"""What a pin costs where many people look at one run at once: they pin images and scrub through its training.

Each person has a session of Streamlit, a cookie and a connection of their own. Every 2 seconds on average they ask for
the neighbors of an image, or for the frame of another step. Run with DMLVIZ_DATA set:
`python tests/bench/bench_pins.py --people 200 --minutes 10`.
"""

import argparse
import asyncio
import os
import random
import tempfile
import time
from pathlib import Path

import httpx
from bench_app import THINK, percentiles
from visitors import cpu, memory, serving, visit

from dmlviz.runs.store import Runs, bundled_runs

SCRUBS = 0.3  # of all actions


async def person(number: int, url: str, run: str, frames: list[str], n: int, end: float) -> dict[str, list[float]]:
    """Milliseconds of one person's pins and scrubs."""
    chance, times = random.Random(number), {"pins": [], "scrubs": []}
    await asyncio.sleep(chance.uniform(0, 20))  # pages are opened one after another
    cookie = os.urandom(16).hex()
    async with (
        visit(url, f"?run={run}", cookie) as visitor,
        # The server closes a connection that was idle for five seconds; a browser asks again by itself.
        httpx.AsyncClient(
            base_url=f"{url}/dmlviz/",
            cookies={"dmlviz_browser": cookie},
            limits=httpx.Limits(keepalive_expiry=2),
        ) as client,
    ):
        await visitor.run()
        while time.monotonic() < end:
            await asyncio.sleep(chance.expovariate(1 / THINK))
            kind = "scrubs" if chance.random() < SCRUBS else "pins"
            scrub, pin = f"frames/{run}/{chance.choice(frames)}.i16", f"runs/{run}/neighbors/{chance.randrange(n)}.json"
            began = time.perf_counter()
            (await client.get(scrub if kind == "scrubs" else pin)).raise_for_status()
            times[kind].append(1e3 * (time.perf_counter() - began))
    return times


async def crowd(people: int, seconds: float, url: str, pid: int) -> None:
    """Print the latencies of all."""
    run = next(run for run in Runs(bundled_runs()).list() if not run.info.get("fails"))
    frames = [event["frame"]["id"] for event in run.events() if event["event"] == "snapshot"]
    before, used, began = memory(pid), cpu(pid), time.monotonic()
    end = began + seconds
    everyone = await asyncio.gather(*(person(i, url, run.id, frames, len(run.labels), end) for i in range(people)))
    share = (cpu(pid) - used) / (time.monotonic() - began)
    for kind in ("pins", "scrubs"):
        times = [one for times in everyone for one in times[kind]]
        print(f"{len(times):6,d} {kind:7s} {percentiles(times)}   worst {max(times):6.0f} ms")
    print(f"server: {100 * share:.0f} % of a core, {memory(pid) - before:+.0f} MB")


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", type=int, default=200)
    arguments.add_argument("--minutes", type=float, default=10)
    given = arguments.parse_args()
    print(f"load of this machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (url, pid):
        asyncio.run(crowd(given.people, 60 * given.minutes, url.rstrip("/"), pid))
    print(f"\nload of this machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
