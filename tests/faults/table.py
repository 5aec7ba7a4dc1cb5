"""The table of faults: what a command of this folder did, how often, what broke, and the worst case.

`--write` puts the table into docs/FAULTS.md, in place of the one that the same command wrote before.
"""

import argparse
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

FAULTS = Path(__file__).resolve().parents[2] / "docs" / "FAULTS.md"
SHOWN = 20  # broken promises that are printed, for each case


@dataclass
class Case:
    """One kind of fault: how often it was made, what broke, the largest of each figure."""

    times: int = 0
    broken: list[str] = field(default_factory=list)
    worst: dict[str, float] = field(default_factory=dict)


class Table:
    """Counts the faults of one command.

    Args:
        row: The row of the table of faults, such as "R5".
        title: What is done.
        promise: What must hold.
        command: The command line, as a person types it.
    """

    def __init__(self, row: str, title: str, promise: str, command: str) -> None:
        self.row, self.title, self.promise, self.command = row, title, promise, command
        self.cases: dict[str, Case] = {}
        self.seconds = float("inf")  # after which no more faults are made
        self._start = time.monotonic()

    def add(self, case: str, broken: str = "", **figures: float) -> None:
        """Count one fault.

        Args:
            case: Its kind.
            broken: The promise that it broke; empty where all of them held.
            figures: What was measured, by unit ("s", "MB"); the largest is kept.
        """
        entry = self.cases.setdefault(case, Case())
        entry.times += 1
        entry.broken += [broken] if broken else []
        for unit, value in figures.items():
            entry.worst[unit] = max(value, entry.worst.get(unit, 0.0))

    @property
    def over(self) -> bool:
        """Whether the time for it is used up."""
        return time.monotonic() - self._start > self.seconds

    @property
    def broken(self) -> list[str]:
        """Every broken promise, with its case."""
        return [f"{name}: {text}" for name, case in self.cases.items() for text in case.broken]

    def markdown(self) -> str:
        """The table."""
        times = sum(case.times for case in self.cases.values())
        lines = [f"## {self.row}: {self.title}", "", f"Must hold: {self.promise}", ""]
        lines += ["| case | times | broken | worst case |", "|---|---:|---:|---|"]
        for name, case in self.cases.items():
            worst = ", ".join(f"{value:,.2f} {unit}" for unit, value in case.worst.items()) or "–"
            lines.append(f"| {name} | {case.times:,} | {len(case.broken):,} | {worst} |")
        load = os.getloadavg()[0]
        lines += [
            "",
            f"`{self.command}`: {times:,} in {time.monotonic() - self._start:,.0f} s, "
            f"{os.cpu_count()} cores, load {load:.0f}.",
        ]
        return "\n".join(lines) + "\n"

    def finish(self, write: bool) -> int:
        """Print the table, and what broke; return the exit status: 1 where a promise was broken."""
        print(self.markdown())
        for name, case in self.cases.items():
            for text in case.broken[:SHOWN]:
                print(f"BROKEN  {name}: {text}".encode("ascii", "backslashreplace").decode())
        if write:
            self.write()
        return 1 if self.broken else 0

    def write(self, path: Path = FAULTS) -> None:
        """Put the table into the page of faults."""
        text = path.read_text()
        begin, end = f"<!-- {self.row} -->\n", f"<!-- end of {self.row} -->\n"
        block = f"{begin}\n{self.markdown()}\n{end}"
        old = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if old.search(text):
            path.write_text(old.sub(lambda _: block, text))
        else:
            path.write_text(f"{text.rstrip()}\n\n{block}")


def options(description: str, times: int, what: Sequence[str] = ()) -> argparse.Namespace:
    """Read the command line that all commands of this folder have, as `parser` makes it."""
    return parser(description, times, what).parse_args()


def parser(description: str, times: int, what: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Make the parser of --times, --seconds, --seed and --write.

    Args:
        description: What the command does.
        times: How many faults it makes by default; 0 where it is not asked.
        what: Names of the parts that it has, one of which is to be chosen; empty for a command without parts.
    """
    made = argparse.ArgumentParser(description=description)
    if what:
        made.add_argument("what", choices=what)
    made.add_argument("--times", type=int, default=times, help=f"how many faults ({times})")
    made.add_argument("--seed", type=int, default=0, help="the same seed makes the same faults (0)")
    made.add_argument("--write", action="store_true", help="put the table into docs/FAULTS.md")
    made.add_argument("--seconds", type=float, default=1800, help="make no more faults after that (1800)")
    return made
