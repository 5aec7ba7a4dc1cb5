"""Students see the runs to which their teacher leads them."""

from app.runtime.classroom import RUN_PARAMETERS, Classroom, Place
from dmlviz.runs.ownership import Ownership
from dmlviz.storage.files import is_run_id


def show_to_class(owners: Ownership, room: Classroom, place: Place) -> None:
    """Let the students of a class see the teacher's own runs that a place shows, as if they had opened its link.

    Args:
        owners: Who holds which run.
        room: The class.
        place: Where the teacher is.
    """
    for name in RUN_PARAMETERS:
        run = place.query.get(name, "")
        entry = owners.entry(run, room.teacher) if is_run_id(run) else None
        if entry is None:  # not the teacher's own: it is on the shelf, or stays hidden
            continue
        if entry.visibility == "private":
            owners.share(run, room.teacher, "link")
        owners.admit(run, room.teacher, room.present)
