"""Looks through the training data of a run: `python -m dmlviz.cleaning.process RUN --data FOLDER --out FILE`.

Runs as a process of its own at low priority, since it embeds all training images several times. Beside the findings
(JSON) it writes their pictures (PNG, `FILE` with another ending).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from dmlviz.cleaning.findings import Findings
from dmlviz.cleaning.search import find
from dmlviz.data import load
from dmlviz.data.sprite_sheet import COMPRESSION, tile
from dmlviz.errors import UserError
from dmlviz.plugins import load_plugins
from dmlviz.process_setup import limit_to_one_thread, lower_priority
from dmlviz.runs.run import Run
from dmlviz.storage.files import atomic_write, ensure_dir, write_json

COLUMNS = 20  # tiles in a row
VERSION = 2  # of what is looked for and how; kept findings of another one are looked for anew


def write_findings(run: Run, data_root: Path, out: Path) -> None:
    """Write the findings with, for each, the tiles of its image and of the one that it is compared with."""
    findings = find(run, data_root)
    shown = pictures_of(findings)
    dataset = load(run.config.dataset, data_root)
    images = [(dataset.test if is_test else dataset.train).images[image] for is_test, image in shown]
    ensure_dir(out.parent)
    if images:
        with atomic_write(out.with_suffix(".png")) as file:
            Image.fromarray(tile(np.stack(images), COLUMNS)).save(file, "PNG", compress_level=COMPRESSION)
    places = {picture: place for place, picture in enumerate(shown)}
    answer = findings.to_dict()
    for row in answer["rows"]:
        row["tile"] = places[False, row["image"]]
        row["other_tile"] = None if row["other"] is None else places[row["kind"] == "leak", row["other"]]
    write_json(out, answer)


def pictures_of(findings: Findings) -> list[tuple[bool, int]]:
    """Return every picture of a review sheet once: whether it is a test image, and its index."""
    own = {(False, row.image) for row in findings.rows}
    others = {(row.kind == "leak", row.other) for row in findings.rows if row.other is not None}
    return sorted(own | others)


def main(arguments: list[str] | None = None) -> None:
    """Write both files; a sentence on standard error and status 2 where the data cannot be looked through."""
    parser = argparse.ArgumentParser(prog="python -m dmlviz.cleaning.process", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--data", type=Path, required=True, help="data folder")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    options = parser.parse_args(arguments)
    lower_priority()
    limit_to_one_thread()
    load_plugins()
    try:
        write_findings(Run(options.run), options.data, options.out)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
