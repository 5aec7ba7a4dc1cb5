"""Unpacks and checks an archive of a run in a process with limits: `python -m dmlviz.workers.archive_worker FOLDER`.

The archive is standard input, and the folder holds `request.json`. The answer is a line of JSON.
"""

import json
import sys
from pathlib import Path
from typing import IO, TypedDict

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import DiskFullError, UserError
from dmlviz.plugins import load_plugins
from dmlviz.process_setup import limit_further_resources, lower_priority
from dmlviz.runs.archive import STAGED_REQUEST, TOO_MUCH, unpack_run
from dmlviz.storage.disk_space import writing
from dmlviz.storage.files import read_json

SECONDS, BYTES_PER_SECOND = 2, 25_000_000  # of processor time: so many, and one more for so many bytes of the archive
MEMORY = 100_000_000  # bytes, beyond what Python and its libraries take


class ArchiveRequest(TypedDict):
    """The data folder, the ID of the person who is to hold the run, and the bytes that it may take."""

    data: str
    holder: str
    room: int


class ArchiveAnswer(TypedDict, total=False):
    """The ID of the run, which is a folder in that of the request; or an error; or the bytes that a full disk lacks."""

    run: str
    error: str
    disk_full: int


def main() -> None:
    """Unpack and check the archive on standard input."""
    folder = Path(sys.argv[1])
    request = read_json(folder / STAGED_REQUEST)
    lower_priority()
    load_plugins()
    DATASETS.add_search_path(Path(request["data"]))
    with open(0, "rb", closefd=False) as file:
        size = file.seek(0, 2)
        limit_further_resources(SECONDS + size // BYTES_PER_SECOND, MEMORY)
        print(json.dumps(_answer(file, folder, request)), flush=True)


def _answer(file: IO[bytes], folder: Path, request: ArchiveRequest) -> ArchiveAnswer:
    try:
        with writing(folder):
            return {"run": unpack_run(file, folder, request["holder"], request["room"])}
    except DiskFullError as error:
        return {"disk_full": error.needed}
    except UserError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": TOO_MUCH}


if __name__ == "__main__":
    main()
