"""The run that answers the task of a class."""

from dmlviz.lessons import LESSONS, Task
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz_app.people.classroom import Classroom
from dmlviz_app.server.services import Services


def class_task(room: Classroom) -> Task | None:
    """Return the task that is set for all; None for none, or for one of another version of the program."""
    lesson = LESSONS.get(room.lesson or "")
    return None if lesson is None or room.task > len(lesson.tasks) else lesson.tasks[room.task - 1]


def class_run(services: Services, room: Classroom) -> Run | None:
    """Return the run of the task on the data set of the class, whoever trained it; None before that."""
    task = class_task(room)
    if task is None:
        return None
    try:
        return services.store.get(task.training(room.dataset or services.datasets.default()).id)
    except RunNotFoundError:
        return None


def revealed_run(services: Services) -> Run | None:
    """Return the run that the class of this person has been shown; None in no class, or before the answer is shown."""
    room = services.classrooms.of_person(services.person.id)
    run = None if room is None or room.task_key not in room.revealed else class_run(services, room)
    try:
        return None if run is None else services.runs.get(run.id)
    except RunNotFoundError:  # nobody shares it
        return None
