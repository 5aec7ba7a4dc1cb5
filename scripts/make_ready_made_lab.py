"""Makes the ready-made results of labs from finished studies: `python scripts/make_ready_made_lab.py FOLDER...`.

A study is made with `dmlviz lab NAME --folder FOLDER`. Its results go to results.zip in the folder of the lab, with the
arrays and drawings that its trials wrote; runs, logs, larger files and whatever shows images of a data set stay behind.
"""

import json
import sys
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from dmlviz.errors import UserError
from dmlviz.labs.kept_arrays import PICTURES
from dmlviz.labs.lab_study import results_archive, study_rows
from dmlviz.storage.archives import unpacked
from dmlviz.studies.study import Study

KEPT = (".npy", ".npz", ".png")
MAX_FILE_BYTES = 350_000  # the weights of a small net are the largest
MAX_BYTES = 3_000_000  # of a lab


def main() -> None:
    """Pack each study that is named on the command line."""
    for folder in sys.argv[1:]:
        study = Study(Path(folder))
        if study.state != "finished":
            raise UserError(f"{folder} is {study.state}: `dmlviz study resume` goes on with it.")
        kept = [
            path
            for path in (study.path / "trials").glob("*/*")
            if path.suffix in KEPT and path.name != PICTURES and path.stat().st_size <= MAX_FILE_BYTES
        ]
        files = {
            path.relative_to(study.path).as_posix(): path.read_bytes() for path in (study.path / "trials.jsonl", *kept)
        }
        files["study.json"] = json.dumps({**study.info, "owner": ""}, indent=1).encode()
        size, target = sum(map(len, files.values())), results_archive(study.info["lab"])
        if size > MAX_BYTES:
            raise UserError(f"{folder} has {size:,} bytes, and should have at most {MAX_BYTES:,}: keep fewer arrays.")
        with ZipFile(target, "w") as archive:
            for name, content in sorted(files.items()):
                archive.writestr(ZipInfo(name), content)  # without a date: equal results make equal archives
        print(f"{target}: {len(study_rows(Study(unpacked(target) / target.stem)))} rows, {size:,} bytes")


if __name__ == "__main__":
    main()
