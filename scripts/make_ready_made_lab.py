"""Makes the ready-made results of labs from finished studies: `python scripts/make_ready_made_lab.py FOLDER...`.

A study is made with `dmlviz lab NAME --folder FOLDER`. Its results go to dmlviz/labs/ready_made/NAME, with the arrays
and pictures that its trials wrote; runs, logs and larger files stay behind.
"""

import shutil
import sys
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.labs.lab_study import READY_MADE, study_rows
from dmlviz.storage.files import write_json
from dmlviz.studies.study import Study

KEPT = (".npy", ".npz", ".png")
MAX_FILE_BYTES = 350_000  # the weights of a small net are the largest
MAX_BYTES = 3_000_000  # of a lab


def main() -> None:
    """Copy each study that is named on the command line."""
    for folder in sys.argv[1:]:
        study = Study(Path(folder))
        if study.state != "finished":
            raise UserError(f"{folder} is {study.state}: `dmlviz study resume` goes on with it.")
        target = READY_MADE / study.info["lab"]
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        write_json(target / "study.json", {**study.info, "owner": ""})
        shutil.copy(study.path / "trials.jsonl", target / "trials.jsonl")
        for file in sorted((study.path / "trials").glob("*/*")):
            if file.suffix in KEPT and file.stat().st_size <= MAX_FILE_BYTES:
                (target / "trials" / file.parent.name).mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target / "trials" / file.parent.name)
        size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
        if size > MAX_BYTES:
            raise UserError(f"{target} has {size:,} bytes, and should have at most {MAX_BYTES:,}: keep fewer arrays.")
        print(f"{target}: {len(study_rows(Study(target)))} rows, {size:,} bytes")


if __name__ == "__main__":
    main()
