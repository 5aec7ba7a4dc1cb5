"""Reads uploaded files in a process of its own, for a preview: `python -m dmlviz.jobs.import_worker FOLDER`.

The folder holds `order.json`: {"file", "labels", "title", "side", "color"}. Into it go `progress.json` while the files
are read, and at the end `look.json`: what was understood, or {"error": a sentence}.
"""

import sys
import time
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.process_setup import limit_resources, lower_priority
from dmlviz.storage.files import read_json, write_json

MAX_SECONDS = 900  # of processor time
MAX_MEMORY = 6 * 1024**3
PROGRESS_INTERVAL_S = 0.2  # seconds between two words on the progress
TILES, MOST_TILES = 8, 240  # of a class, and in all


def main() -> None:
    """Do what the folder's order says."""
    folder = Path(sys.argv[1])
    lower_priority()
    limit_resources(MAX_SECONDS, MAX_MEMORY)
    order = read_json(folder / "order.json")
    try:
        look = (
            _import_embeddings(folder, order)
            if Path(order["file"]).suffix.lower() != ".zip"
            else _import_images(folder, order)
        )
    except UserError as error:
        look = {"error": str(error)}
    except MemoryError:
        look = {"error": "There was not enough memory to read this; bring fewer pictures at a time."}
    except Exception as error:
        look = {"error": f"This could not be read ({type(error).__name__}); look at the files, or leave some out."}
    write_json(folder / "look.json", look)


def _import_images(folder: Path, order: dict[str, Any]) -> dict[str, Any]:
    from dmlviz.data.image_folder import import_image_folder

    said = 0.0

    def progress(done: int, of: int) -> None:
        nonlocal said
        if time.monotonic() - said > PROGRESS_INTERVAL_S:
            said = time.monotonic()
            write_json(folder / "progress.json", {"done": done, "of": of})

    found = import_image_folder(
        Path(order["file"]),
        title=order["title"],
        side=order["side"],
        color=order["color"],
        progress=progress,
    )
    found.save(folder)
    return found.report | {
        "kind": "pictures",
        "name": found.declared.name,
        "title": found.declared.title,
        "summary": found.declared.summary,
        "side": found.declared.size,
        "tiles": _preview_tiles(found.parts, len(found.declared.classes)),
    }


def _preview_tiles(parts: dict[str, np.ndarray], classes: int) -> dict[str, Any]:
    """The first pictures of each class, a row a class, as one PNG."""
    from PIL import Image

    images, labels = parts["train_images"], parts["train_labels"]
    columns = int(np.clip(MOST_TILES // classes, 1, TILES))
    side = images.shape[1]
    sheet = np.zeros((classes * side, columns * side, *images.shape[3:]), np.uint8)
    counts = []
    for label in range(classes):
        members = np.flatnonzero(labels == label)[:columns]
        counts.append(len(members))
        for column, member in enumerate(members):
            sheet[label * side : (label + 1) * side, column * side : (column + 1) * side] = images[member]
    file = BytesIO()
    Image.fromarray(sheet).save(file, "PNG")
    png = b64encode(file.getvalue()).decode()
    return {"url": f"data:image/png;base64,{png}", "side": side, "columns": columns, "counts": counts}


def _import_embeddings(folder: Path, order: dict[str, Any]) -> dict[str, Any]:
    from dmlviz.data.embedding_file import read_embeddings
    from dmlviz.runs.import_embeddings import dataset_spec, import_embeddings
    from dmlviz.runs.store import Runs

    found = read_embeddings(Path(order["file"]), Path(order["labels"]) if order["labels"] else None)
    run = import_embeddings(Runs(folder / "runs", folder / "none"), found, order["title"])
    counts = np.bincount(found.labels, minlength=len(found.classes))
    score = run.score("precision_at_1")
    return {
        "kind": "vectors",
        "name": run.id,
        "title": order["title"],
        "summary": dataset_spec(found, order["title"]).summary,
        "classes": [{"name": name, "test": int(count)} for name, count in zip(found.classes, counts, strict=True)],
        "notes": [
            "There is nothing to train: the vectors are shown as they are, as a finished run without a net.",
            *([] if score is None else [f"P@1 among all of them is {score:.3f}, by Euclidean distance."]),
        ],
        "warnings": [],
        "left_out": [],
    }


if __name__ == "__main__":
    main()
