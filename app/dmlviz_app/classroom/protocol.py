"""A class: what its event stream says, and the props of the components that show it."""

from typing import Literal

from typing_extensions import TypeAliasType, TypedDict

OwnKey = TypeAliasType("OwnKey", Literal["guess", "share", "code"])
"""The parameters of an address that belong to one person, and are not shared."""


class ClassroomLead(TypedDict):
    """The place of the teacher; `number` grows with every move, `page` is empty for Explore."""

    number: int
    page: str
    query: dict[str, str]
    step: int | None


class ClassroomTask(TypedDict):
    """The task that is set for all, as its lesson says it."""

    lesson: str
    lesson_title: str
    number: int
    title: str
    question: str
    guesses: list[str]
    dataset: str | None


class ClassroomResult(TypedDict):
    """What the run of the task answered: its sentence, and numbers by their names."""

    run: str
    sentence: str
    numbers: list[tuple[str, str]]


class ClassroomStudent(TypedDict):
    """A student, for the teacher only; `guess` counts from 1, `removed` is who was taken out."""

    id: str
    nickname: str
    online: bool
    following: bool
    place: str
    guess: int | None
    removed: bool


class ClassPicture(TypedDict):
    """A picture that somebody of the class keeps: its name, for what the net takes it, how far its neighbor is."""

    id: str
    name: str
    taken: str
    right: bool
    distance: float
    by: str


class ClassGallery(TypedDict):
    """dmlviz/classrooms/CODE/gallery.json: what a class keeps with a run, the oldest first."""

    run: str
    pictures: list[ClassPicture]
    places: dict[str, list[list[float]]]
    sentences: list[str]


class ClassRacer(TypedDict):
    """A run of a race: in what it differs from the others, the nicknames of those who train it, P@1 at snapshots."""

    run: str
    settings: list[str]
    by: list[str]
    live: bool
    steps: int
    course: list[tuple[int, float]]


class ClassRace(TypedDict):
    """dmlviz/classrooms/CODE/race.json: each student's best run, and those that train now.

    `on` names the `images` that all of them are scored on. Runs scored on `others`, and runs that the answer of the
    task would give away (`held`), are counted.
    """

    on: str
    images: int
    racers: list[ClassRacer]
    others: int
    held: int


class ClassroomEvent(TypedDict):
    """The state of a class for one person; `counts`, `answer` and `result` come to students once the answer is shown.

    `ready` is on how many pages the run that answers the task has finished; for the teacher only, as `students`.
    """

    event: Literal["classroom"]
    code: str
    title: str
    teacher: bool
    present: int
    online: int
    leading: bool
    following: bool
    lead: ClassroomLead | None
    turn: int
    task: ClassroomTask | None
    revealed: bool
    guessed: int
    mine: int | None
    counts: list[int] | None
    answer: int | None
    result: ClassroomResult | None
    ready: int | None
    students: list[ClassroomStudent] | None
    gallery_run: str
    gallery_turn: int


class ClassroomBarProps(TypedDict):
    """The line on top of every page: whether it was drawn with the answer shown, and the names of all pages."""

    code: str
    url: str
    teacher: bool
    revealed: bool
    gallery_run: str
    pages: list[str]


class ClassroomLesson(TypedDict):
    """A lesson that a teacher may set, with the titles of its tasks."""

    name: str
    title: str
    tasks: list[str]


class ClassroomDataset(TypedDict):
    """A data set on which a task may be answered; the first is the default one."""

    name: str
    title: str


class ClassroomBoardProps(TypedDict):
    """The teacher's board; `qr` is the link as an SVG path on a grid of `qr_size`."""

    code: str
    url: str
    title: str
    link: str
    reachable: bool
    qr: str
    qr_size: int
    ends: str
    datasets: list[ClassroomDataset]
    lessons: list[ClassroomLesson]
