"""The files of TensorFlow's Embedding Projector (Smilkov et al. 2016), as one zip."""

import zipfile
from typing import IO

import numpy as np

from dmlviz import sheets
from dmlviz.export.kept import Kept
from dmlviz.run_schema import one_line

CONFIG = """embeddings {{
  tensor_name: "{name}"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
{sprite}}}
"""
SPRITE = """  sprite {{
    image_path: "sprite.png"
    single_image_dim: {tile}
    single_image_dim: {tile}
  }}
"""
LARGEST_SIDE = 8192  # pixels: the tool takes no larger sprite


def sprite_of(kept: Kept) -> bytes | None:
    """A PNG with the picture of each vector; None without pictures, or where they do not fit on one sheet.

    The tool finds the column of picture i as i modulo the tiles in a row, and its row as i divided by the tiles in a
    *column*: only a square sheet shows each point its own picture.
    """
    if kept.sheets is None:
        return None
    if sheets.columns_of_square(len(kept.items)) * kept.sheets.tile > LARGEST_SIDE:
        return None
    return sheets.square_png(sheets.tiles(kept.sheets.pngs, kept.sheets.tile)[kept.items])


def write_projector(kept: Kept, file: IO[bytes]) -> None:
    """Write vectors.tsv, metadata.tsv, sprite.png (where `sprite_of` has one) and projector_config.pbtxt.

    Raise UserError before the run's end.
    """
    import pyarrow
    from pyarrow import csv

    vectors, labels = kept.embeddings, kept.labels
    nearest = np.asarray(kept.run.labels)[kept.neighbours[1][:, 0]]
    tabs = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    columns = {str(axis): vectors[:, axis] for axis in range(vectors.shape[1])}
    metadata = {
        "image": kept.items,
        "class": [one_line(kept.classes[label], 1000) for label in labels],
        "nearest": [one_line(kept.classes[label], 1000) for label in nearest],
    }
    png = sprite_of(kept)
    sprite = SPRITE.format(tile=kept.sheets.tile) if png and kept.sheets else ""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        with archive.open("vectors.tsv", "w") as part:
            csv.write_csv(pyarrow.table(columns), part, tabs)
        with archive.open("metadata.tsv", "w") as part:
            part.write("\t".join(metadata).encode() + b"\n")
            csv.write_csv(pyarrow.table(metadata), part, tabs)
        if png:
            archive.writestr(zipfile.ZipInfo("sprite.png"), png)  # compressed already
        archive.writestr("projector_config.pbtxt", CONFIG.format(name=kept.run.id, sprite=sprite))
