"""The state of a class for its event stream, and its hand-in: one JSON file per student, one CSV per class."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NotRequired, TypedDict, get_args

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config.fields import badges
from dmlviz.errors import UserError
from dmlviz.lessons import LESSONS, Task
from dmlviz.lessons.measurements import format_measurement, task_measurements
from dmlviz.metrics.verification import best_threshold
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.ownership import Entry
from dmlviz.runs.run import Run
from dmlviz.runs.thresholds import Threshold, kept_threshold
from dmlviz.storage.csv_table import safe_cell
from dmlviz.storage.text import counted
from dmlviz_app.classroom.protocol import (
    ClassGallery,
    ClassPicture,
    ClassRace,
    ClassRacer,
    ClassroomEvent,
    ClassroomLead,
    ClassroomResult,
    ClassroomStudent,
    ClassroomTask,
    OwnKey,
)
from dmlviz_app.people.classroom import Classroom, Member, Place
from dmlviz_app.people.classrooms import Classrooms
from dmlviz_app.server.services import Services
from dmlviz_app.workbench.current_view import class_run, class_task

CSV_COLUMNS = (
    "nickname",
    "joined",
    "lesson",
    "task",
    "title",
    "guess",
    "answer",
    "correct",
    "guessed_at",
    "runs",
    "run_titles",
)


class HandedInTask(TypedDict):
    """A guess; `answer` and `correct` are None until the answer is shown, and not there for an unknown task."""

    lesson: str
    task: int
    guess: str
    guessed_at: str
    title: NotRequired[str]
    question: NotRequired[str]
    answer: NotRequired[str | None]
    correct: NotRequired[bool | None]


class HandedInRun(TypedDict):
    """A run that a student got during a class; without settings and scores where it cannot be read."""

    id: str
    title: str
    trained: str
    state: str
    settings: NotRequired[dict[str, object]]
    scores: NotRequired[dict[str, float]]
    validation_scores: NotRequired[dict[str, float]]


class ClassTitle(TypedDict):
    """The class in which something was handed in."""

    title: str
    code: str
    opened: str


HandIn = TypedDict(
    "HandIn",
    {"class": ClassTitle, "nickname": str, "joined": str, "tasks": list[HandedInTask], "runs": list[HandedInRun]},
)


def classroom_event(
    rooms: Classrooms,
    code: str,
    person: str,
    has_answer: Callable[[Task, str | None], bool],
    result: Callable[[Classroom], ClassroomResult | None] = lambda room: None,
) -> ClassroomEvent | None:
    """Return how a class stands as one person may know it; None once it is over for this person.

    Args:
        rooms: The classes.
        code: Code of the class.
        person: ID of the person.
        has_answer: Whether the run of a task has finished on a data set; None for the default one.
        result: What the run of the class's task answered; None before its end.
    """
    try:
        room = rooms.get(code, person)
    except UserError:
        return None
    teacher = room.teacher == person
    if not rooms.is_open(room) or not (teacher or person in room.present):
        return None
    task = class_task(room)
    is_revealed = room.task_key in room.revealed
    guesses = [guess for member in room.present.values() if (guess := _guess(room, member)) is not None]
    counts = None if task is None else [guesses.count(number) for number in range(1, len(task.guesses) + 1)]
    mine = None if teacher else room.present[person]
    ready = None
    if teacher:
        ready = sum(_is_ready(room, task, rooms.places.get(student), has_answer) for student in room.present)
    return {
        "event": "classroom",
        "code": room.code,
        "title": room.title,
        "teacher": teacher,
        "present": len(room.present),
        "online": sum(map(rooms.is_online, room.present)),
        "leading": room.leading,
        "following": mine is not None and mine.following,
        "lead": _lead(room) if room.leading and not teacher else None,
        "turn": room.turn,
        "task": None if task is None else _task(room, task),
        "revealed": is_revealed,
        "guessed": len(guesses),
        "mine": None if mine is None else _guess(room, mine),
        "counts": counts if teacher or is_revealed else None,
        "answer": task.answer + 1 if task is not None and (teacher or is_revealed) else None,
        "result": result(room) if is_revealed else None,
        "ready": ready,
        "students": _students(rooms, room) if teacher else None,
        "gallery_run": room.gallery_run,
        "gallery_turn": room.gallery_turn,
    }


def class_gallery(services: Services, room: Classroom) -> ClassGallery:
    """Return what a class keeps with the run of its last picture: who is recognized, and by which threshold.

    Raises:
        UserError: Before the first picture, or where the run is gone.
    """
    if not room.gallery_run:
        raise UserError("The class has kept no picture yet.")
    run = services.runs.get(room.gallery_run)
    pictures = Gallery(run).pictures(room.holders)
    answer = services.jobs.place_gallery(run.id, judge_of=room.holders)
    classes = DATASETS[run.config.dataset].classes
    nicknames = {room.holder(person): member.nickname for person, member in room.members.items()}
    shown: list[ClassPicture] = [
        {
            "id": one.id,
            "name": one.name,
            "taken": classes[label],
            "right": classes[label] == one.name,
            "distance": float(f"{distance:.4g}"),
            "by": nicknames.get(one.holder, "the teacher"),
        }
        for one, (label, distance) in zip(pictures, answer.get("judged", []), strict=False)
    ]
    limit = kept_threshold(run, services.runs.gallery_holders(run.id))
    said = _on_pictures(shown, len({one.holder for one in pictures}), limit)
    return {"run": run.id, "pictures": shown, "places": answer["places"], "sentences": said}


def _on_pictures(pictures: list[ClassPicture], holders: int, limit: Threshold | None) -> list[str]:
    """Say how many pictures of so many holders are recognized, and which distance would have told these apart."""
    right, distances = (np.array([one[key] for one in pictures]) for key in ("right", "distance"))
    people = counted(holders, "person", "people")
    sentences = [f"{right.sum()} of {counted(len(pictures), 'picture')} recognized, from {people}."]
    if len({*right.tolist()}) < 2:
        return sentences  # no threshold tells right from wrong
    best = best_threshold(distances, right)
    decided = f"{((distances < best) == right).sum()} of {len(pictures)}"
    if distances.min() < best < distances.max():
        sentences.append(f"A threshold of {best:.3g} would have been right most often, in {decided}.")
    else:
        what = "accepts" if best > distances.max() else "rejects"
        sentences.append(f"No threshold is right more often than one that {what} all: {decided}.")
    if limit is not None:
        sentences.append(f"The kept one, {limit.value:.3g}, is right in {((distances <= limit.value) == right).sum()}.")
    return sentences


def class_race(services: Services, room: Classroom) -> ClassRace:
    """Return the runs of a class that can be compared: those on the images that most of its runs are scored on."""
    students: dict[str, list[str]] = {}
    for person, runs in _runs_by_holder(services, room).items():
        for run, _ in () if room.members[person].removed else runs:
            students.setdefault(run, []).append(person)
    races: dict[tuple[str, int], list[ClassRacer]] = {}
    held = 0
    for run, persons in students.items():
        with suppress(UserError, OSError):  # it has been deleted since, is damaged, or waits
            record = services.store.get(run)
            on, images, course = _course(record.path, record.log.path.stat().st_size)
            settings, live = badges(record.config), record.state == "running"
            racer = ClassRacer(run=run, settings=settings, by=persons, live=live, steps=record.steps, course=course)
            if _gives_away(room, record):
                held += 1
            elif course:
                races.setdefault((on, images), []).append(racer)
    (on, images), racers = max(races.items(), key=lambda race: len(race[1]), default=(("", 0), []))
    by_score = sorted(racers, key=lambda racer: racer["course"][-1][1])
    best = {person: racer["run"] for racer in by_score for person in racer["by"]}
    shown = [racer for racer in racers if racer["live"] or racer["run"] in best.values()]
    alike = set.intersection(*(set(racer["settings"]) for racer in shown)) if len(shown) > 1 else set()
    for racer in shown:
        racer["settings"] = [one for one in racer["settings"] if one not in alike] or racer["settings"][1:3]
        racer["by"] = [room.members[person].nickname for person in racer["by"]]
    others = sum(map(len, races.values())) - len(racers)
    return {"on": on, "images": images, "racers": shown, "others": others, "held": held}


def _gives_away(room: Classroom, run: Run) -> bool:
    """Return whether a run answers tasks of the class's lesson, of which none is shown yet."""
    lesson = LESSONS.get(room.lesson or "")
    tasks = [task.training(run.config.dataset).id == run.id for task in (lesson.tasks if lesson else ())]
    held = [room.holds_back(room.lesson or "", number) for number, is_own in enumerate(tasks, 1) if is_own]
    return bool(held) and all(held)


@lru_cache(maxsize=256)
def _course(path: Path, size: int) -> tuple[str, int, list[tuple[int, float]]]:
    """Return what a run whose log has so many bytes is scored on, how many they are, and P@1 at its snapshots."""
    on, images, points = "", 0, []
    spec = DATASETS[Run(path).config.dataset]
    for event in Run(path).events():
        if event["event"] == "started":
            images, kind = event["scored_images"], "validation" if event["validation_images"] else "test"
            on = f"{images:,} {kind} {'points' if spec.of_points else 'images'} of {spec.title}"
        elif event["event"] == "snapshot":
            score = event["metrics"].get("precision_at_1")
            points += [] if score is None else [(event["step"], score)]
    return on, images, points


def public_id(person: str) -> str:
    """Return an ID of a student that says nothing about who it is."""
    return sha256(person.encode()).hexdigest()[:12]


def student_of(room: Classroom, public: str) -> str:
    """Return the ID of the student whose public ID this is; empty if there is none."""
    return next((person for person in room.members if public_id(person) == public), "")


def known_task(lesson: str, number: int) -> Task:
    """Return a task by its lesson and number; raise UserError where there is none."""
    if lesson not in LESSONS or not 1 <= number <= len(LESSONS[lesson].tasks):
        raise UserError(f"There is no task {number} in a lesson {lesson[:40]!r}.")
    return LESSONS[lesson].tasks[number - 1]


def class_result(services: Services, room: Classroom) -> ClassroomResult | None:
    """Return the answer to the task of the class, as its run says it; None before that has finished."""
    task, run = class_task(room), class_run(services, room)
    if task is None or run is None or run.state != "finished":
        return None
    return {
        "run": run.id,
        "sentence": f"{task.guesses[task.answer]}. {task.explanation(run.config.dataset)}",
        "numbers": _numbers(run.path, room.lesson or "", room.task),
    }


@lru_cache(maxsize=64)
def _numbers(path: Path, lesson: str, task: int) -> list[tuple[str, str]]:
    values = task_measurements(Run(path), known_task(lesson, task))
    return [(name, format_measurement(value)) for name, value in values.items()]


def _guess(room: Classroom, member: Member) -> int | None:
    guess = member.guesses.get(room.task_key or "")
    return None if guess is None else guess.number


def _lead(room: Classroom) -> ClassroomLead | None:
    if room.lead is None:
        return None
    query = {name: value for name, value in room.lead.query.items() if name not in get_args(OwnKey.__value__)}
    return {"number": room.lead_number, "page": room.lead.page, "query": query, "step": room.lead.step}


def _task(room: Classroom, task: Task) -> ClassroomTask:
    assert room.lesson is not None
    return {
        "lesson": room.lesson,
        "lesson_title": LESSONS[room.lesson].title,
        "number": room.task,
        "title": task.title,
        "question": task.question,
        "guesses": list(task.guesses),
        "dataset": room.dataset,
    }


def _students(rooms: Classrooms, room: Classroom) -> list[ClassroomStudent]:
    return [
        {
            "id": public_id(person),
            "nickname": member.nickname,
            "online": rooms.is_online(person),
            "following": member.following,
            "place": _where(rooms.places.get(person)),
            "guess": _guess(room, member),
            "removed": member.removed,
        }
        for person, member in room.members.items()
        if member.removed or not member.gone
    ]


def _is_ready(
    room: Classroom, task: Task | None, place: Place | None, has_answer: Callable[[Task, str | None], bool]
) -> bool:
    """Return whether a page is at the task of the class, and the run that answers it has finished."""
    if task is None or place is None or place.page:
        return False
    is_at_task = (place.query.get("lesson"), place.query.get("task", "1")) == (room.lesson, str(room.task))
    return is_at_task and has_answer(task, place.query.get("dataset"))


def _where(place: Place | None) -> str:
    if place is None:
        return ""
    lesson = LESSONS.get(place.query.get("lesson", ""))
    page = place.page.capitalize() or "Explore"
    if lesson is None:
        return page
    return f"{page}: {lesson.title}" + (f", task {place.query.get('task', '1')[:1]}" if not place.page else "")


def hand_in(services: Services, room: Classroom, person: str) -> HandIn:
    """Return what a student has done in a class: guesses, answers and runs, as JSON."""
    member = room.members[person]
    return {
        "class": {"title": room.title, "code": room.code, "opened": _iso(room.opened)},
        "nickname": member.nickname,
        "joined": _iso(member.joined),
        "tasks": [_handed_in(room, key, member) for key in member.guesses],
        "runs": [_run(services, run, entry) for run, entry in _runs_by_holder(services, room).get(person, [])],
    }


def hand_ins_zip(services: Services, room: Classroom) -> bytes:
    """Return the hand-ins of all students as a zip: one JSON file each, and the table of the class."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("class.csv", class_csv(services, room))
        for number, (person, member) in enumerate(room.members.items(), 1):
            name = "".join(letter if letter.isalnum() else "-" for letter in member.nickname)
            text = json.dumps(hand_in(services, room, person), indent=2, ensure_ascii=False)
            archive.writestr(f"{number:03d}-{name}.json", text)
    return file.getvalue()


def class_csv(services: Services, room: Classroom) -> str:
    """Return a class as CSV: a row for each guess, and one for each student without any."""
    text = io.StringIO()
    table = csv.DictWriter(text, CSV_COLUMNS, restval="")
    table.writeheader()
    runs = _runs_by_holder(services, room)
    for person, member in room.members.items():
        titles = [entry.title for _, entry in runs.get(person, [])]
        about: dict[str, object] = {
            "nickname": member.nickname,
            "joined": _iso(member.joined),
            "runs": len(titles),
            "run_titles": "; ".join(titles),
        }
        tasks: list[Mapping[str, object]] = [_handed_in(room, key, member) for key in member.guesses]
        for task in tasks or [{}]:
            row = about | {name: value for name, value in task.items() if name in CSV_COLUMNS and value is not None}
            table.writerow({name: safe_cell(value) for name, value in row.items()})
    return text.getvalue()


def _handed_in(room: Classroom, key: str, member: Member) -> HandedInTask:
    guess = member.guesses[key]
    lesson, _, number = key.partition("/")
    entry: HandedInTask = {
        "lesson": lesson,
        "task": int(number),
        "guess": str(guess.number),
        "guessed_at": _iso(guess.time),
    }
    try:
        task = known_task(lesson, int(number))
    except UserError:
        return entry
    is_revealed = key in room.revealed
    entry["title"], entry["question"] = task.title, task.question
    if guess.number <= len(task.guesses):
        entry["guess"] = task.guesses[guess.number - 1]
    entry["answer"] = task.guesses[task.answer] if is_revealed else None
    entry["correct"] = guess.number - 1 == task.answer if is_revealed else None
    return entry


def _runs_by_holder(services: Services, room: Classroom) -> dict[str, list[tuple[str, Entry]]]:
    """Return the runs that students got during a class, by student, the oldest first."""
    runs: dict[str, list[tuple[str, Entry]]] = {}
    for run, entry in _entries(services):
        member = room.members.get(entry.holder)
        if member is not None and member.joined <= entry.added <= (room.ended or room.expires):
            runs.setdefault(entry.holder, []).append((run, entry))
    return {holder: sorted(runs_held, key=lambda pair: pair[1].added) for holder, runs_held in runs.items()}


def _entries(services: Services) -> Iterable[tuple[str, Entry]]:
    return ((run, entry) for run in services.run_owners.items() for entry in services.run_owners.entries(run))


def _run(services: Services, run: str, entry: Entry) -> HandedInRun:
    about: HandedInRun = {"id": run, "title": entry.title, "trained": _iso(entry.added), "state": "unknown"}
    with suppress(UserError):  # it has been deleted since, or is damaged
        record = services.store.get(run)
        settings, scores = record.config.model_dump(mode="json"), record.metrics
        validation_scores = record.validation_metrics
        about.update({"settings": settings, "scores": scores, "validation_scores": validation_scores})
        about["state"] = record.state
    return about


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
