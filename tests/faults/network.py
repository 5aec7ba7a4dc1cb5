"""Browsers and networks that fail: `python tests/faults/network.py --times 14`, with a real server and Chromium.

While a training runs, the page is loaded anew, its tab is closed, a second tab is opened, the network is away for 10 s
and for 60 s, the proxy is restarted, and the laptop sleeps. The page must be back by itself within 1 s of the network,
with every frame of the run.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
sys.path.insert(0, str(Path(__file__).parent))

from playwright.sync_api import Page, sync_playwright
from relay import Relay
from table import Table, options

from dmlviz.runs.run import Run
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.server_process import Server

BACK_S = 1.0  # seconds from the network's return until the page has caught up, at most
PATIENCE_S = 90.0
SETTINGS = "dataset=digits&net=mlp&embedding_dim=8&steps=200000&num_snapshots=200&eval_subset_size=100"
STEPS = "root => root.map.playback.timeline.live.map((frame) => frame.step)"
CURRENT = "root => root.map.playback.timeline.current"


class Story:
    """A server with a training under way, a relay before it, and the page in Chromium; `close` at the end."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.runs = folder / "runs"
        command = [sys.executable, "-m", "dmlviz", "serve", "--port", "0", "--no-browser", "--runs", str(self.runs)]
        self.server = Server(command, {"NUMBA_DISABLE_JIT": "1"})
        self.relay = Relay(urlsplit(self.server.url).port)
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        self.context = self.chromium.new_context(reduced_motion="reduce")
        self.context.set_default_timeout(60_000)
        self.page = self.context.new_page()
        self.page.goto(f"{self.address}/?{SETTINGS}&seed={seed}")
        self.page.get_by_role("button", name="Train", exact=True).click()
        self.page.wait_for_url("**run=*")
        self.run = Run(self.runs / self.page.url.partition("run=")[2][:16])
        self.until(lambda: len(self.steps(self.page)) >= 2)

    @property
    def address(self) -> str:
        """Where the page is, behind the relay."""
        return f"http://127.0.0.1:{self.relay.port}"

    def close(self) -> None:
        """End everything."""
        self.chromium.close()
        self.playwright.stop()
        self.relay.close()
        self.server.close()

    def steps(self, page: Page) -> list[int]:
        """The frames that a page knows, by step."""
        return self._ask(page, STEPS, [])

    def current(self, page: Page) -> int:
        """The last step that a page has heard of."""
        return self._ask(page, CURRENT, 0)

    def _ask(self, page: Page, question: str, otherwise: Any) -> Any:
        there = page.locator(".map")
        return there.evaluate(question) if there.count() else otherwise

    def until(self, promise: Callable[[], bool]) -> float:
        """Wait until a promise holds, and give the seconds; too long is an error."""
        began = time.monotonic()
        while not promise():
            if time.monotonic() - began > PATIENCE_S:
                raise AssertionError(f"not within {PATIENCE_S:.0f} s")
            time.sleep(0.02)
        return time.monotonic() - began

    def back(self, page: Page) -> float:
        """Seconds until a page has heard of all that has happened by now."""
        last = next(event["step"] for event in reversed(self.run.events()) if event["event"] == "step")
        return self.until(lambda: self.current(page) >= last)

    def missing(self, page: Page) -> str:
        """Which frames of the run a page lacks, a moment later; empty for none."""
        there = self.run.snapshot_steps
        self.until(lambda: len(self.steps(page)) >= len(there))
        lost = sorted({*there} - {*self.steps(page)})
        return f"{len(lost)} of {len(there)} frames are missing" if lost else ""


def refresh(story: Story) -> float:
    """The page is loaded anew."""
    story.page.reload()
    return 0.0 * story.until(lambda: story.current(story.page) > 0)


def closed_tab(story: Story) -> float:
    """The tab is closed, and opened again a little later."""
    address = story.page.url
    story.page.close()
    time.sleep(2)
    story.page = story.context.new_page()
    story.page.goto(address)
    return 0.0 * story.until(lambda: story.current(story.page) > 0)


def second_tab(story: Story) -> float:
    """A second tab shows the same, while the first goes on."""
    other = story.context.new_page()
    other.goto(story.page.url)
    story.until(lambda: story.current(other) > 0)
    lost = story.missing(other)
    other.close()
    if lost:
        raise AssertionError(f"in the second tab, {lost}")
    return 0.0


def away(seconds: float) -> Callable[[Story], float]:
    """The network is away: nothing comes through."""

    def fault(story: Story) -> float:
        story.relay.cut()
        time.sleep(seconds)
        story.relay.mend()
        return story.back(story.page)

    return fault


def proxy_restarted(story: Story) -> float:
    """The proxy ends, and with it all connections; it is back 5 s later at the same port."""
    story.relay.end()
    time.sleep(5)
    story.relay.begin()
    return story.back(story.page)


def asleep(story: Story) -> float:
    """The laptop sleeps for 10 s: every process of the browser stands still."""
    pids = _browser_pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(10)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return story.back(story.page)


def _browser_pids() -> list[int]:
    """The processes of the browser that this process has started."""
    found, waiting = [], [os.getpid()]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            for child in map(int, task.read_text().split()):
                waiting.append(child)
                found += [child] if "chrom" in Path(f"/proc/{child}/comm").read_text() else []
    return found


CASES = {
    "the page is loaded anew": refresh,
    "the tab is closed and opened again": closed_tab,
    "a second tab": second_tab,
    "the network is away for 10 s": away(10),
    "the proxy is restarted": proxy_restarted,
    "the laptop sleeps for 10 s": asleep,
    "the network is away for 60 s": away(60),
}


def new_table() -> Table:
    """The table of this command."""
    return Table(
        "R3",
        "browsers and networks that fail",
        f"the page has caught up within {BACK_S:g} s of the network, and has every frame.",
        "python tests/faults/network.py --times 14",
    )


def run(table: Table, times: int, seed: int) -> None:
    """Make so many faults, in turn, and count them in the table."""
    with tempfile.TemporaryDirectory(prefix="dmlviz-network-") as folder:
        story = Story(Path(folder), random.Random(seed).randrange(1000))
        try:
            for number in range(times):
                if table.over:
                    break
                name = [*CASES][number % len(CASES)]
                try:
                    seconds = CASES[name](story)
                    broken = story.missing(story.page)
                    if seconds > BACK_S:
                        broken = "; ".join(filter(None, [broken, f"back after {seconds:.1f} s"]))
                    table.add(name, broken, **({"s until it is back": seconds} if seconds else {}))
                except Exception as error:
                    table.add(name, f"{type(error).__name__}: {str(error)[:200]}")
        finally:
            story.close()


if __name__ == "__main__":
    chosen = options(__doc__ or "", 14)
    table = new_table()
    table.seconds = chosen.seconds
    run(table, chosen.times, chosen.seed)
    sys.exit(table.finish(chosen.write))
