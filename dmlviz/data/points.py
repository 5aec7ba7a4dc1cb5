"""Points of the plane as a data set to train on: each is a picture of a dot, and a net first reads where the dot is.

So whatever is done with pictures is done with points, too: maps, neighbors, queries, exports, a training in a page.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.dataset_spec import Framing
from dmlviz.data.class_names import UNLABELED
from dmlviz.data.embedding_file import columns_of_vectors, validate_vectors
from dmlviz.data.import_report import ImportedDataset
from dmlviz.data.picture_table import import_picture_table
from dmlviz.data.sprite_sheet import png_of
from dmlviz.data.table_file import Choice, FoundColumns
from dmlviz.errors import UserError
from dmlviz.ops.dots import SIDE, draw_dots

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow


def import_points(
    table: "pyarrow.Table", name: str, *, title: str, choice: Choice, notes: "Sequence[str]" = ()
) -> ImportedDataset:
    """Make a data set to train on from a table of points of the plane with their classes.

    Points from -1 to 1 stay where they are; others are moved and scaled together, until they fill that square.

    Args:
        table: One row for each point: two columns of numbers, a label, and further columns, which are kept.
        name: Name of the table's file, for messages.
        title: Title of the data set.
        choice: Roles of the columns.
        notes: Sentences on how the table was read, which begin the report's.

    Raises:
        UserError: For vectors of more or fewer than two numbers, or as `import_picture_table`.
    """
    import pyarrow

    read = validate_vectors(name, columns_of_vectors(table, name, choice=choice))
    if not read.labeled:
        raise UserError(
            f"Points are trained on with their classes; {name} has no column called label: add one, choose one with "
            "--label, or show the vectors without training."
        )
    points = read.embeddings.astype(np.float64)
    if points.shape[1] != 2:
        raise UserError(
            f"A point of the plane has two numbers; {name} has {points.shape[1]} in each row: choose two columns with "
            "--vector x,y, or show the vectors without training."
        )
    low, high = points.min(axis=0), points.max(axis=0)
    if (np.abs(points) > 1).any():
        points = (points - (low + high) / 2) / max(float((high - low).max()) / 2, 1e-12)
        notes = [
            *notes,
            f"The points were scaled to the square from -1 to 1; x lay within {low[0]:.4g} and {high[0]:.4g}.",
        ]
    columns = {"x": read.embeddings[:, 0], "y": read.embeddings[:, 1]}
    others = [] if read.columns is None else [one for one in read.columns.column_names if one not in columns]
    columns |= {one: read.columns[one] for one in others if read.columns is not None}
    names = [None if name == UNLABELED else name for name in read.classes]
    given = {
        "picture": [png_of(image[None], 1) for image in draw_dots(points)],
        "label": [names[i] for i in read.labels],
    }
    roles = FoundColumns((), "label", "picture", tuple(columns))
    pictured, said = pyarrow.table(columns | given), [*notes, *read.notes]
    try:
        made = import_picture_table(pictured, roles, None, title=title, name=name, side=SIDE, notes=said)
    except UserError as error:
        raise UserError(str(error).replace("image", "point")) from None
    summary = made.declared.summary.replace(" gray images ", " points ").replace(f", {SIDE} × {SIDE}", "")
    declared = replace(made.declared, summary=summary, framing=Framing(box=SIDE, point=True), mean=0.0)
    said = [note for note in made.report["notes"] if not note.startswith("All images are")]
    return replace(made, declared=declared, report={**made.report, "notes": said})
