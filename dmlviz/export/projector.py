"""Export for TensorFlow's Embedding Projector (Smilkov et al. 2016), as one zip file."""

import zipfile
from typing import IO

import numpy as np

from dmlviz.data import sprite_sheet
from dmlviz.export.contents import RunExport
from dmlviz.storage.text import one_line

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
MAX_SIDE = 8192  # pixels, the limit of the Projector


def sprite_of(export: RunExport) -> bytes | None:
    """Return a PNG with the image of each vector; None without images, or if they do not fit.

    The Projector takes the column of image i as i modulo the tiles per row, and its row as i divided by the tiles per
    *column*: only a square sheet shows the right images.
    """
    if export.sheets is None:
        return None
    if sprite_sheet.columns_of_square(len(export.items)) * export.sheets.tile > MAX_SIDE:
        return None
    return sprite_sheet.square_png(sprite_sheet.tiles(export.sheets.pngs, export.sheets.tile)[export.items])


def write_projector(export: RunExport, file: IO[bytes]) -> None:
    """Write vectors.tsv, metadata.tsv, sprite.png (if `sprite_of` returns one) and projector_config.pbtxt.

    Raise UserError before the run's end.
    """
    import pyarrow
    from pyarrow import csv

    vectors, labels = export.embeddings, export.labels
    nearest = np.asarray(export.run.labels)[export.neighbors[1][:, 0]]
    tabs = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    columns = {str(axis): vectors[:, axis] for axis in range(vectors.shape[1])}
    metadata = {
        "image": export.items,
        "class": [one_line(export.classes[label], 1000) for label in labels],
        "nearest": [one_line(export.classes[label], 1000) for label in nearest],
    }
    png = sprite_of(export)
    sprite = SPRITE.format(tile=export.sheets.tile) if png and export.sheets else ""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        with archive.open("vectors.tsv", "w") as part:
            csv.write_csv(pyarrow.table(columns), part, tabs)
        with archive.open("metadata.tsv", "w") as part:
            part.write("\t".join(metadata).encode() + b"\n")
            csv.write_csv(pyarrow.table(metadata), part, tabs)
        if png:
            archive.writestr(zipfile.ZipInfo("sprite.png"), png)  # compressed already
        archive.writestr("projector_config.pbtxt", CONFIG.format(name=export.run.id, sprite=sprite))
