"""Hostile files at every entrance: `python tests/faults/hostile.py --times 1000`.

Each file is read by the code that reads it in the app, in a process of its own, whose memory and processor time are
measured: a picture to query with, a zip of pictures, a file of vectors, an archive of a run.
"""

import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from dmlviz_app.server import uploads
from forge import forged
from hostile_pictures import hostile_picture, hostile_zip
from hostile_tables import Files, hostile_table
from probe import data_folder, make_seed, unexpected_html, unexpected_python
from table import Table, options

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import query_file, query_image
from dmlviz.errors import UserError
from dmlviz.export import RunExport, write
from dmlviz.export.script import as_python
from dmlviz.runs.archive import import_run
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.workers import imports

MOST_MB, MOST_S, PATIENCE_S = 100, 2.0, 20
MOST_EXPORTED = 1000  # points: the time of an export is not that of the reader
OWN = "custom-0123456789abcdef"  # a data set of colored pictures that somebody brought


def query(content: bytes, folder: Path, dataset: str) -> str:
    """Prepare a picture to query with; return what a person reads."""
    try:
        query_image.prepare(query_file.decode(content, dataset), dataset)
    except UserError as error:
        return str(error)
    return ""


def upload(files: Files, folder: Path) -> str:
    """Read an upload as a worker does; return what a person reads."""
    try:
        main, labels = uploads._split_vectors_and_labels(list(files))
    except UserError as error:
        return str(error)
    request: Any = {
        "title": uploads._title(main),
        "side": None,
        "color": "auto",
        "labels": None,
        "folder_level": None,
        "points": False,
    }
    for role, name in (("file", main), ("labels", labels)):
        if name is not None:
            path = folder / f"{role}{Path(name).suffix.lower()}"
            path.write_bytes(files[name])
            request[role] = str(path)
    try:
        preview = imports.read(folder, request, lambda share: None)
    except UserError as error:
        return str(error)
    json.dumps(preview, allow_nan=False)
    for path in (folder / "runs").glob("[0-9a-f]*"):
        if len(Run(path).known_labels) <= MOST_EXPORTED:
            _check_exports(Run(path))
    return ""


def _check_exports(run: Run) -> None:
    page = io.BytesIO()
    write("html", RunExport(run), page)
    wrong = unexpected_html(page.getvalue().decode()) or unexpected_python(as_python(RunExport(run)))
    if wrong:
        raise AssertionError(f"an export holds {wrong}")


def archive(content: bytes, folder: Path) -> str:
    """Import an archive of a run; return what a person reads."""
    try:
        import_run(io.BytesIO(content), Runs(folder / "runs"))
    except UserError as error:
        return str(error)
    return ""


def measured(work: Callable[[], str], folder: Path) -> dict[str, Any]:
    """Do work in a forked process; return what it said or raised, its seconds of processor time, its megabytes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(reading)
            os.chdir(folder)
            os.write(writing, json.dumps(_inside(work)).encode())
        os._exit(0)
    os.close(writing)
    deadline = time.monotonic() + PATIENCE_S
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.005)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    return json.loads(told) if told else {"error": "it took too long, or died", "s": 0.0, "MB": 0.0}


def _inside(work: Callable[[], str]) -> dict[str, Any]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before, began = _status("VmRSS"), _seconds()
    said, error = "", ""
    try:
        said = work()
    except BaseException as raised:
        error = f"{type(raised).__name__}: {str(raised)[:120]}"
    return {"said": said, "error": error, "s": _seconds() - began, "MB": (_status("VmHWM") - before) / 1024}


def _status(name: str) -> int:
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def _seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def fault(outcome: dict[str, Any], folder: Path) -> str:
    """Which promise an outcome breaks; empty for none."""
    said = outcome.get("said", "")
    if outcome["error"]:
        return outcome["error"]
    if said and not (10 < len(said) < 700 and said.isprintable() and said[-1] in ".?"):
        return f"no sentence: {said[:200]!r}"
    if re.search(r"Traceback|could not be read \(\w+Error\)", said):
        return f"an unforeseen error: {said[:200]!r}"
    if str(folder) in said:
        return f"it tells a path of the server: {said[:200]!r}"
    if outcome["MB"] > MOST_MB:
        return f"{outcome['MB']:.0f} MB more memory"
    if outcome["s"] > MOST_S:
        return f"{outcome['s']:.1f} s"
    if list(folder.rglob("PWNED")):
        return "code was executed"
    return ""


def run(table: Table, times: int, seed: int) -> None:
    """Bring so many files to the entrances, in turn, and count them in the table."""
    work = Path(tempfile.mkdtemp(prefix="dmlviz-hostile-"))
    data_folder(work)
    draw = random.Random(seed)
    DATASETS.register(DatasetSpec(**_OWN).to_dict())
    archives = forged(make_seed(work / "seed"), times, seed)
    _warm_up(work / "warm")
    try:
        for number in range(times):
            if table.over:
                break
            folder = work / str(number)
            folder.mkdir()
            entrance = ("query", "zip", "table", "archive")[number % 4]
            if entrance == "query":
                what, content = hostile_picture(draw)
                dataset = draw.choice(["digits", OWN])
                outcome = measured(lambda: query(content, folder, dataset), folder)  # noqa: B023
            elif entrance == "archive":
                what, content = next(archives)
                outcome = measured(lambda: archive(content, folder), folder)  # noqa: B023
            else:
                what, files = hostile_table(draw) if entrance == "table" else hostile_upload(draw)
                outcome = measured(lambda: upload(files, folder), folder)  # noqa: B023
            wrong = fault(outcome, folder)
            table.add(ENTRANCES[entrance], f"{what[:80]}: {wrong}" if wrong else "", s=outcome["s"], MB=outcome["MB"])
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def hostile_upload(draw: random.Random) -> tuple[str, Files]:
    """A zip of pictures as an upload."""
    what, content = hostile_zip(draw)
    return what, {"a zip.zip": content}


ENTRANCES = {
    "query": "pictures to query with",
    "zip": "zips of pictures",
    "table": "files of vectors",
    "archive": "archives of runs",
}
_OWN: dict[str, Any] = {
    "name": OWN,
    "title": "Own",
    "summary": "Own.",
    "classes": ("a", "b"),
    "size": 32,
    "channels": 3,
}
_OWN |= {"mean": 0.5, "std": 0.5}


def _warm_up(folder: Path) -> None:
    """Import here what a reader imports, so that its memory and time are not counted as the file's."""
    draw = random.Random(1)
    folder.mkdir()
    for files in ({"a.zip": hostile_zip(random.Random(2))[1]}, *(hostile_table(draw)[1] for _ in range(6))):
        with contextlib.suppress(UserError, Exception):
            measured_files = folder / "files"
            shutil.rmtree(measured_files, ignore_errors=True)
            measured_files.mkdir()
            upload(files, measured_files)


def new_table() -> Table:
    """The table of this command; seconds are of processor time."""
    return Table(
        "R5",
        "hostile files at every entrance",
        f"read, or refused with a sentence; at most {MOST_MB} MB more memory and {MOST_S:g} s of processor time; "
        "nothing executed, nothing unescaped in an export.",
        "python tests/faults/hostile.py --times 1000",
    )


if __name__ == "__main__":
    chosen = options(__doc__ or "", 1000)
    table = new_table()
    table.seconds = chosen.seconds
    run(table, chosen.times, chosen.seed)
    sys.exit(table.finish(chosen.write))
