"""The files of TensorFlow's Embedding Projector (Smilkov et al. 2016), as one zip."""

import zipfile
from typing import IO

import numpy as np

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


def write_projector(kept: Kept, file: IO[bytes]) -> None:
    """Write vectors.tsv, metadata.tsv, sprite.png (where the pictures are on one sheet) and projector_config.pbtxt.

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
    # The tool cuts one sheet into as many tiles as there are vectors.
    whole = kept.step is None and kept.sheets is not None and len(kept.sheets.pngs) == 1
    pictures = kept.sheets if whole else None
    sprite = SPRITE.format(tile=pictures.tile) if pictures is not None else ""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        with archive.open("vectors.tsv", "w") as part:
            csv.write_csv(pyarrow.table(columns), part, tabs)
        with archive.open("metadata.tsv", "w") as part:
            part.write("\t".join(metadata).encode() + b"\n")
            csv.write_csv(pyarrow.table(metadata), part, tabs)
        if pictures is not None:
            archive.writestr(zipfile.ZipInfo("sprite.png"), pictures.pngs[0])  # compressed already
        archive.writestr("projector_config.pbtxt", CONFIG.format(name=kept.run.id, sprite=sprite))
