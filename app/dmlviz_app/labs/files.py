"""What a page of a lab shows and keeps of a study, as a worker writes it."""

from pathlib import Path
from typing import TYPE_CHECKING

from dmlviz.errors import UserError
from dmlviz.labs.keep import as_csv, as_page
from dmlviz.labs.lab_study import study_rows
from dmlviz.labs.registry import LABS
from dmlviz.storage.files import write_json
from dmlviz.studies.study import Study
from dmlviz_app.labs.picture import lab_picture
from dmlviz_app.labs.planes import plane_sheet

if TYPE_CHECKING:
    from dmlviz.workers.answers import Target


def lab_file(target: "Target", name: str, study: str, kind: str, figure: str = "", dark: bool = False) -> str:
    """Write a picture, the images of the maps, the rows, or a figure of a study; `name` is that by which it is kept."""
    source = Study(Path(study))
    data = target.data_root
    assert data is not None  # a server has one
    if kind == "picture":
        write_json(target.file, lab_picture(source, data))
    elif kind == "planes":
        target.file.write_bytes(plane_sheet(source, data))
    elif kind == "numbers":
        target.file.write_text(as_csv(study_rows(source)))
    else:
        figures = LABS[source.info["lab"]].figures
        spec = next((one for one in figures if not figure or one.name == figure), None)
        if spec is None:
            raise UserError(f"The figures of this lab are {', '.join(one.name for one in figures)}.")
        target.file.write_text(as_page(spec, study_rows(source), dark))
    return name
