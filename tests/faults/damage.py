"""Damaged folders of runs: `python tests/faults/damage.py --times 300` asks everything of each, and tells.

Each is a whole small run in which one file is cut off, changed, emptied, deleted or written over, or in whose place
lies something else: a link (to itself, to nothing, to another file), a named pipe, a socket, a device, a folder.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from probe import Probe, data_folder, make_seed
from table import Table, options

from dmlviz.errors import UserError

WORDS = {
    "cut": "a file that is cut off",
    "flipped": "a file with one bit flipped",
    "emptied": "a file that is empty",
    "deleted": "a file that is deleted",
    "written over": "a file with other bytes",
    "linked to itself": "a link to itself in place of a file",
    "linked to nothing": "a link to nothing in place of a file",
    "linked elsewhere": "a link to a file elsewhere in place of a file",
    "linked within": "a link to the same file, which lies beside",
    "pipe": "a named pipe in place of a file",
    "socket": "a socket in place of a file",
    "device": "a link to a device that never ends in place of a file",
    "folder": "a folder in place of a file",
    "date": "another date in run.json",
}
WAYS = tuple(WORDS)
PATIENCE_S = 60  # for all answers of one run: who waits for a pipe waits for good
KINDS = (
    *("run.json", "events.jsonl", "metrics.json", "labels.npy", "tracked.npy", "embeddings.npy", "basis.npz"),
    *("weights.safetensors", "snapshots/*", "batches/*", "frames/*", "projections/*/*.*", "projections/*/frames/*"),
    *("nets/*", "lock", "scored.npy", "loss.safetensors", "columns.parquet"),
)


def damaged(seed_folder: Path, place: Path, count: int = 300, seed: int = 0) -> Iterator[tuple[str, Path]]:
    """So many times a copy of the run at `place`, each with a word for its damage; the same for the same seed."""
    draw = random.Random(seed)
    for number in range(count):
        run = place / str(number) / seed_folder.name
        shutil.copytree(seed_folder, run)
        kind = KINDS[number % len(KINDS)]
        path = draw.choice(sorted(run.glob(kind)) or [run / kind.replace("*", "0")])  # one that it need not have
        path.parent.mkdir(parents=True, exist_ok=True)
        way = draw.choice(WAYS if path.name == "run.json" else WAYS[:-1])
        _spoil(draw, path, way)
        yield f"{path.relative_to(run)} {way}", run


def _spoil(draw: random.Random, path: Path, way: str) -> None:
    content = path.read_bytes() if path.exists() else b"\0"
    at = draw.randrange(max(1, len(content)))
    if way == "deleted":
        path.unlink(missing_ok=True)
    elif way in NO_FILES:
        beside = path.with_name(f"{path.name}.beside")
        beside.write_bytes(content)
        path.unlink(missing_ok=True)
        NO_FILES[way](path)
    elif way == "date":
        date = draw.choice([b"2026-99-21", b"0001-01-01", b"later than", b"2026-11-21T22:35:15.549"])
        start = content.index(b'"created": "') + 12
        end = content.index(b'"', start)
        path.write_bytes(content[:start] + date + content[end if b"T" in date else start + 10 :])
    else:
        changed = content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]
        new = {"cut": content[:at], "flipped": changed, "emptied": b"", "written over": draw.randbytes(64)}
        path.write_bytes(new[way])


def _socket(path: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)  # the name of a socket has at most 107 letters
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


NO_FILES = {
    "linked to itself": lambda path: path.symlink_to(path.name),
    "linked to nothing": lambda path: path.symlink_to("/nonexistent/file"),
    "linked elsewhere": lambda path: path.symlink_to("/etc/passwd"),
    "linked within": lambda path: path.symlink_to(f"{path.name}.beside"),
    "pipe": os.mkfifo,
    "socket": _socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
}


@contextlib.contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in the main thread where the block takes longer, even while it waits for a file."""

    def over(*_: object) -> None:
        raise TimeoutError(f"nothing happened for {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def ask(run: Path, data: Path) -> set[str]:
    """What the damage breaks; empty where everything goes on."""
    try:
        with patience(PATIENCE_S):
            return _ask(run, data)
    except TimeoutError:
        return {"it waits for good"}


def _ask(run: Path, data: Path) -> set[str]:
    probe = Probe(run.parent, data)
    try:
        faults = {f"what everybody sees: {name}" for name in probe.shared()}
        answers = probe.answers(run.name)
        faults |= {f"{address.partition(run.name)[2]}: {said}" for address, said in answers.items()}
        faults |= {"vanished without a word"} if probe.unsaid(run.name) else set()
        try:
            probe.here.runs.delete(run.name)
        except UserError:
            faults |= {"cannot be deleted"}
        except Exception:
            faults |= {"deleting breaks"}
        return faults
    finally:
        probe.close()


def new_table() -> Table:
    """The table of this command."""
    return Table(
        "R2, files",
        "files of a run that are damaged",
        "the run says which file it is, or goes on; no route answers 500; the other runs are unharmed.",
        "python tests/faults/damage.py --times 300",
    )


def run(table: Table, times: int, seed: int) -> None:
    """Damage so many copies of a run, ask everything of each, and count them in the table by the kind of damage."""
    with tempfile.TemporaryDirectory(prefix="dmlviz-damaged-") as folder:
        work = Path(folder)
        data = data_folder(work)
        for what, copy in damaged(make_seed(work / "seed"), work / "runs", times, seed):
            if table.over:
                break
            faults = ask(copy, data)
            name, _, way = what.partition(" ")
            table.add(WORDS[way], f"{name}: {', '.join(sorted(faults))}" if faults else "")
            shutil.rmtree(copy.parent, ignore_errors=True)


if __name__ == "__main__":
    chosen = options(__doc__ or "", 300)
    table = new_table()
    table.seconds = chosen.seconds
    run(table, chosen.times, chosen.seed)
    sys.exit(table.finish(chosen.write))
