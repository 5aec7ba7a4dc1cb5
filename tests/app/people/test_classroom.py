"""A class: who may join and see what, tasks and guesses, following the teacher, hand-ins, restart and end."""

import csv
import io
import json
import time
import zipfile

import pytest
from dmlviz_app.classroom.payloads import classroom_event
from dmlviz_app.classroom.protocol import ClassRace, ClassroomEvent
from dmlviz_app.explore.task import task_progress
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.people.classroom import (
    ALPHABET,
    MAX_MEMBERS,
    MAX_NEW_MEMBERS,
    MAX_WRONG_CODES,
    NEW_MEMBERS_WITHIN_S,
    RETENTION_S,
    WRONG_CODES_WITHIN_S,
    Place,
)
from dmlviz_app.people.classrooms import Classrooms
from PIL import Image
from pydantic import TypeAdapter

from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.lessons import LESSONS
from dmlviz.runs.store import Runs, bundled_runs
from dmlviz.workers import questions

LESSON = "why-a-margin"
TASK = LESSONS[LESSON].tasks[0]


class Clock:
    """Time that a test sets."""

    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def rooms(tmp_path, clock):
    return Classrooms(tmp_path, clock)


@pytest.fixture
def room(rooms):
    opened = rooms.open("teacher", "Monday", 2)
    for name in ("ada", "bob"):
        rooms.join(opened.code, name, name.title())
    return opened


def event(rooms, room, person, trained=()):
    """What a person's page is told, where the task was trained on these data sets; as declared."""
    said = classroom_event(rooms, room.code, person, lambda task, dataset: dataset in trained)
    if said is not None:
        TypeAdapter(ClassroomEvent).validate_json(json.dumps(said), strict=True)
    return said


def test_a_task_is_answered_on_the_data_set_that_the_teacher_chose_and_says_so_once_shown(rooms, room):
    rooms.set_task(room.code, "teacher", LESSON, 1, "digits")
    answer = {"run": "0" * 16, "sentence": "Millions.", "numbers": [("P@1", "0.930")]}

    def told(person):
        return classroom_event(rooms, room.code, person, lambda *_: False, lambda room: answer)

    assert told("ada")["task"]["dataset"] == "digits"
    assert [told(person)["result"] for person in ("ada", "teacher")] == [None, None]
    rooms.reveal(room.code, "teacher")
    assert [told(person)["result"] for person in ("ada", "teacher")] == [answer, answer]
    rooms.show(room.code, "teacher", Place(query={"run": answer["run"]}))
    assert told("ada")["lead"]["query"] == {"run": answer["run"]}


def test_no_letter_of_a_code_looks_like_another_or_a_digit():
    assert not {*ALPHABET} & {*"01OQDILSZBGUV5"} - {"V"}


def test_a_code_is_typed_with_spaces_and_small_letters(rooms):
    code = rooms.open("teacher", "", 1).code
    assert rooms.join(f" {code[:3].lower()}-{code[3:]} ", "ada", "Ada").members["ada"].nickname == "Ada"


@pytest.mark.parametrize(
    ("code", "person", "nickname", "sentence"),
    [
        ("XXXXXX", "ada", "Ada", "no open class"),
        ("", "ada", "Ada", "no open class"),
        (None, "", "Ada", "cookie"),
        (None, "ada", " \n ", "nickname"),
        (None, "teacher", "Ada", "opened this class"),
    ],
)
def test_who_cannot_join_is_told_why(rooms, room, code, person, nickname, sentence):
    with pytest.raises(UserError, match=sentence):
        rooms.join(room.code if code is None else code, person, nickname)


def test_a_class_has_a_largest_size_and_a_person_is_in_one_class(rooms, room, clock):
    other = rooms.open("another teacher", "Tuesday", 1)
    with pytest.raises(UserError, match="another class"):
        rooms.join(other.code, "ada", "Ada")
    with pytest.raises(UserError, match="already"):
        rooms.open("ada", "Mine", 1)
    for number in range(MAX_MEMBERS):
        rooms.join(other.code, f"student {number}", "S")
        clock.now += 1
    with pytest.raises(UserError, match="full"):
        rooms.join(other.code, "one more", "S")


def test_a_removed_student_is_out_until_the_teacher_lets_them_in_again(rooms, room):
    rooms.set_task(room.code, "teacher", LESSON, 1)
    rooms.guess("ada", LESSON, 1, 1)
    with pytest.raises(UserError, match="no class"):
        rooms.set_removed(room.code, "bob", "ada", True)
    with pytest.raises(UserError, match="not in your class"):
        rooms.set_removed(room.code, "teacher", "cyd", True)
    rooms.set_removed(room.code, "teacher", "ada", True)
    assert rooms.of_person("ada") is None
    assert event(rooms, room, "ada") is None, "the page hears that it is over"
    told = event(rooms, room, "teacher")
    assert (told["present"], told["counts"][0]) == (1, 0)
    assert [student["removed"] for student in told["students"]] == [True, False]
    with pytest.raises(UserError, match="taken you out"):
        rooms.join(room.code, "ada", "Ada")
    again = Classrooms(rooms.folder.parent, lambda: 1e9)
    with pytest.raises(UserError, match="taken you out"):
        again.join(room.code, "ada", "Ada")
    rooms.set_removed(room.code, "teacher", "ada", False)
    rooms.join(room.code, "ada", "Ada")
    assert event(rooms, room, "teacher")["counts"][0] == 1, "what they have done stays"


def test_a_code_cannot_be_guessed_from_one_address(rooms, room, clock):
    for _ in range(MAX_WRONG_CODES):
        with pytest.raises(UserError, match="no open class"):
            rooms.join("XXXXXX", "eve", "Eve", "192.0.2.1")
    with pytest.raises(UserError, match="ten minutes"):
        rooms.join(room.code, "eve", "Eve", "192.0.2.1")
    rooms.join(room.code, "cyd", "Cyd", "192.0.2.2")
    clock.now += WRONG_CODES_WITHIN_S + 1
    rooms.join(room.code, "eve", "Eve", "192.0.2.1")


def test_a_class_cannot_be_filled_in_a_moment(rooms, clock):
    code = rooms.open("a teacher", "", 1).code
    for number in range(MAX_NEW_MEMBERS):
        rooms.join(code, f"student {number}", "S")
    with pytest.raises(UserError, match="in a minute"):
        rooms.join(code, "one more", "S")
    rooms.join(code, "student 1", "S again")  # who is in stays in
    clock.now += NEW_MEMBERS_WITHIN_S + 1
    rooms.join(code, "one more", "S")


def test_the_board_says_on_how_many_pages_the_answer_is_ready(rooms, room):
    rooms.set_task(room.code, "teacher", LESSON, 2)
    at_task = {"lesson": LESSON, "task": "2", "dataset": "digits"}
    assert event(rooms, room, "teacher", ["digits"])["ready"] == 0
    rooms.move(room.code, "ada", Place(query=at_task))
    rooms.move(room.code, "bob", Place(query=at_task | {"task": "1"}))  # at another task
    assert event(rooms, room, "teacher", [])["ready"] == 0
    assert event(rooms, room, "teacher", ["digits"])["ready"] == 1
    rooms.move(room.code, "bob", Place(query=at_task | {"dataset": "mnist"}))
    assert event(rooms, room, "teacher", ["digits"])["ready"] == 1
    assert event(rooms, room, "teacher", ["digits", "mnist"])["ready"] == 2
    assert event(rooms, room, "ada", ["digits"])["ready"] is None


def test_students_are_told_nothing_of_each_other(rooms, room):
    rooms.set_task(room.code, "teacher", LESSON, 1)
    rooms.guess("bob", LESSON, 1, 2)
    rooms.move(room.code, "bob", Place(page="learn", query={"loss": "triplet"}))
    text = json.dumps(event(rooms, room, "ada"))
    assert "Bob" not in text
    assert "bob" not in text
    assert "learn" not in text
    told = event(rooms, room, "ada")
    assert told["guessed"] == 1
    assert told["counts"] is told["answer"] is told["students"] is None, "not before the answer is shown"
    rooms.reveal(room.code, "teacher")
    told = event(rooms, room, "ada")
    assert told["counts"] == [0, 1, *[0] * (len(TASK.guesses) - 2)]
    assert told["answer"] == TASK.answer + 1
    assert told["students"] is None


def test_the_teacher_sees_guesses_and_places(rooms, room):
    rooms.set_task(room.code, "teacher", LESSON, 1)
    rooms.guess("ada", LESSON, 1, 1)
    rooms.guess("ada", LESSON, 1, 2)  # the first counts
    rooms.move(room.code, "ada", Place(query={"lesson": LESSON, "task": "1"}))
    told = event(rooms, room, "teacher")
    assert told["counts"][:2] == [1, 0]
    ada = told["students"][0]
    assert (ada["nickname"], ada["guess"], ada["place"]) == ("Ada", 1, f"Explore: {LESSONS[LESSON].title}, task 1")
    assert "ada" not in json.dumps(told), "an ID says nothing about who it is"


def test_only_the_teacher_sets_tasks_and_leads(rooms, room):
    wishes = [
        lambda who: rooms.set_task(room.code, who, LESSON, 1),
        lambda who: rooms.reveal(room.code, who),
        lambda who: rooms.set_leading(room.code, who, True),
        lambda who: rooms.end(room.code, who),
    ]
    for wish in wishes:
        for stranger in ("ada", "stranger", ""):
            with pytest.raises(UserError, match="no class"):
                wish(stranger)
    assert room.lesson is None
    assert not room.leading
    with pytest.raises(UserError, match="no class"):
        rooms.get(room.code, "stranger")


def test_pages_follow_the_teacher_until_they_explore_alone(rooms, room):
    rooms.move(room.code, "teacher", Place(query={"run": "ab", "guess": "1"}, step=20))
    assert event(rooms, room, "ada")["lead"] is None
    rooms.set_leading(room.code, "teacher", True)
    first = event(rooms, room, "ada")["lead"]
    assert (first["page"], first["query"], first["step"]) == ("", {"run": "ab"}, 20), "a guess is the teacher's own"
    rooms.move(room.code, "teacher", Place(page="learn"))
    assert event(rooms, room, "ada")["lead"]["number"] > first["number"]
    rooms.set_following(room.code, "ada", False)
    assert [event(rooms, room, who)["following"] for who in ("ada", "bob")] == [False, True]
    rooms.set_leading(room.code, "teacher", False)
    rooms.set_leading(room.code, "teacher", True)
    assert event(rooms, room, "ada")["following"], "at its start everybody follows"


def test_a_class_survives_a_restart(rooms, room, tmp_path, clock):
    rooms.set_task(room.code, "teacher", LESSON, 1)
    rooms.guess("ada", LESSON, 1, 2)
    rooms.set_leading(room.code, "teacher", True)
    rooms.move(room.code, "teacher", Place(page="runs"))
    before = event(rooms, room, "ada")
    again = Classrooms(tmp_path, clock)
    assert again.get(room.code, "teacher") == room
    assert event(again, room, "ada") == before
    again.move(room.code, "teacher", Place(page="learn"))
    assert event(again, room, "ada")["lead"]["number"] > before["lead"]["number"]
    (tmp_path / ".classrooms" / f"{room.code}.json").write_text("{")
    assert Classrooms(tmp_path, clock).of_person("ada") is None, "a damaged file is no class"


def test_a_class_ends_by_its_teacher_or_by_itself_and_is_deleted_later(rooms, room, clock, tmp_path):
    assert rooms.of_person("ada") is room
    clock.now += 2 * 3600 + 1
    assert rooms.of_person("ada") is None
    assert event(rooms, room, "ada") is None
    second = rooms.open("teacher", "Again", 1)
    rooms.end(second.code, "teacher")
    assert not rooms.is_open(second)
    assert [each.title for each in rooms.past("teacher")] == ["Again", "Monday"]
    assert rooms.past("ada") == [room], "with the hand-in"
    assert rooms.past("stranger") == rooms.past("") == []
    clock.now += RETENTION_S + 3600
    third = rooms.open("teacher", "Third", 1)
    assert rooms.past("teacher") == []
    assert rooms.of_person("teacher") is third
    assert len([*(tmp_path / ".classrooms").glob("*.json")]) == 1


def test_the_answer_is_held_back_until_the_teacher_shows_it(ada, people, adas_run):
    here = ada.here
    teacher = people["teacher"].id
    room = here.classrooms.open(teacher, "Monday", 1)
    here.classrooms.join(room.code, ada.id, "Ada")
    here.classrooms.set_task(room.code, teacher, LESSON, 1)
    here.classrooms.guess(ada.id, LESSON, 1, 2)
    ui = UIState()
    ui.start_task(LESSON, 1)
    progress = task_progress(ui, here, "digits")
    assert progress.guess == 2, "also in another tab"
    assert progress.held
    assert not progress.is_revealed
    assert not progress.shows_map
    here.classrooms.reveal(room.code, teacher)
    shown = task_progress(ui, here, "digits")
    assert (shown.held, shown.shown) == (False, True)
    assert not task_progress(ui, people["teacher"].here, "digits").held


def test_students_see_the_run_to_which_their_teacher_leads_them(ada, bob, people, adas_run):
    room = ada.here.classrooms.open(ada.id, "Ada teaches", 1)
    bob.here.classrooms.join(room.code, bob.id, "Bob")
    url = f"/dmlviz/classrooms/{room.code}"
    place = {"page": "", "query": {"run": adas_run}, "step": None}
    assert ada.client.post(f"{url}/place", json=place).status_code == 200
    assert bob.client.get(f"/dmlviz/runs/{adas_run}/tracked_items.json").status_code == 404, "not led yet"
    assert ada.client.post(f"{url}/action", json={"what": "lead", "on": True}).status_code == 200
    assert bob.here.runs.get(adas_run).id == adas_run
    with pytest.raises(UserError):
        people["guest"].here.runs.get(adas_run)


def test_what_a_class_keeps_is_everybodys_there_and_the_board_says_who_was_recognized(ada, bob, people, monkeypatch):
    worker, guest = ada.everyone.scheduler.inference_worker, people["guest"]
    monkeypatch.setattr(worker, "call", lambda question, **_: questions.answer(dict(question), None))
    run = next(run for run in Runs(bundled_runs()).list() if not run.info.get("fails"))
    test, address = load("digits").test, f"/dmlviz/runs/{run.id}/gallery"
    room = ada.here.classrooms.open(ada.id, "Ada teaches", 1)
    board = f"/dmlviz/classrooms/{room.code}/gallery.json"
    assert "kept no picture" in ada.client.get(board).json()["error"]

    def keep(person, item, name):
        file = io.BytesIO()
        Image.fromarray(test.images[item]).save(file, "PNG")
        return person.client.post(f"{address}?name={name}", content=file.getvalue()).json()

    bob.here.classrooms.join(room.code, bob.id, "Bob")
    assert "A guest keeps" in keep(guest, 0, "7")["error"], "not in the class yet"
    guest.here.classrooms.join(room.code, guest.id, "Bob")  # two may choose one name
    keep(bob, 0, str(test.labels[0]))
    [own, others] = reversed(keep(guest, 1, "not a digit")["pictures"])
    assert (own[2], others[2]) == (True, False)
    assert [picture[2] for picture in ada.client.get(f"{address}.json").json()["pictures"]] == [True, True]
    assert people["teacher"].client.get(f"{address}.json").json()["pictures"] == []
    content = ada.client.get(board).json()
    assert [(one["name"], one["right"], one["by"]) for one in content["pictures"]] == [
        (str(test.labels[0]), True, "Bob"),
        ("not a digit", False, "Bob"),
    ]
    assert len(content["places"]["live"]) == 2
    assert content["sentences"][0] == "1 of 2 pictures recognized, from 2 people."
    assert "right most often" in content["sentences"][1]
    assert bob.client.get(board).status_code == 404
    assert "kept by somebody else" in bob.client.delete(f"{address}/{own[0]}").json()["error"]
    assert len(ada.client.delete(f"{address}/{own[0]}").json()["pictures"]) == 1
    assert event(ada.here.classrooms, room, ada.id)["gallery_turn"] == 3
    ada.here.classrooms.end(room.code, ada.id)
    for person, count in ((ada, 1), (bob, 1), (guest, 0)):
        assert len(person.client.get(f"{address}.json").json()["pictures"]) == count


def test_what_is_handed_in(ada, bob, people, adas_run):
    room = ada.here.classrooms.open(people["teacher"].id, "Monday", 1)
    for someone, name in ((ada, "=1+1"), (bob, "Bob")):
        someone.here.classrooms.join(room.code, someone.id, name)
    time.sleep(0.01)
    bob.here.jobs.train(ada.here.runs.get(adas_run).config)  # his too, from now on
    rooms, url = ada.here.classrooms, f"/dmlviz/classrooms/{room.code}"
    rooms.set_task(room.code, people["teacher"].id, LESSON, 1)
    rooms.guess(bob.id, LESSON, 1, TASK.answer + 1)
    told = bob.client.get(f"{url}/hand-in.json").json()
    assert told["tasks"][0]["guess"] == TASK.guesses[TASK.answer]
    assert told["tasks"][0]["correct"] is None, "not before the answer is shown"
    rooms.reveal(room.code, people["teacher"].id)
    told = bob.client.get(f"{url}/hand-in.json").json()
    assert told["tasks"][0]["correct"] is True
    assert told["runs"][0]["id"] == adas_run
    assert told["runs"][0]["scores"]["map_at_r"] > 0
    table = [*csv.DictReader(io.StringIO(people["teacher"].client.get(f"{url}/class.csv").text))]
    assert [(row["nickname"], row["guess"], row["correct"]) for row in table] == [
        ("'=1+1", "", ""),  # a spreadsheet would compute it
        ("Bob", TASK.guesses[TASK.answer], "True"),
    ]
    archive = zipfile.ZipFile(io.BytesIO(people["teacher"].client.get(f"{url}/hand-ins.zip").content))
    assert archive.namelist() == ["class.csv", "001--1-1.json", "002-Bob.json"]
    assert json.loads(archive.read("002-Bob.json")) == told
    for someone in (bob, ada, people["guest"]):
        assert someone.client.get(f"{url}/class.csv").status_code == 404
        assert someone.client.get(f"{url}/hand-ins.zip").status_code == 404
    assert people["guest"].client.get(f"{url}/hand-in.json").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"page": "../x", "query": {}}',
        b'{"page": "", "query": {"a": 1}}',
        b'{"page": "", "query": {}, "step": -1}',
        b'{"page": "", "query": {"a": "' + b"x" * 20_000 + b'"}}',
    ],
)
def test_a_place_that_is_none_is_refused_with_a_sentence(ada, body):
    room = ada.here.classrooms.open(ada.id, "Monday", 1)
    answer = ada.client.post(f"/dmlviz/classrooms/{room.code}/place", content=body)
    assert answer.status_code == 404
    assert answer.json()["error"].startswith("What is sent to a class ")
    assert room.lead is None


def test_a_task_that_does_not_exist_cannot_be_set(ada):
    room = ada.here.classrooms.open(ada.id, "Monday", 1)
    url = f"/dmlviz/classrooms/{room.code}/action"
    for lesson, task in (("no-such", 1), (LESSON, 99)):
        assert ada.client.post(url, json={"what": "task", "lesson": lesson, "task": task}).status_code == 404
    assert ada.client.post(url, json={"what": "task", "lesson": LESSON, "task": 1}).status_code == 200
    assert (room.lesson, room.task) == (LESSON, 1)


def test_the_event_stream_says_what_changes_and_ends_with_the_class(ada, bob):
    rooms = ada.here.classrooms
    room = rooms.open(ada.id, "Monday", 1)
    rooms.join(room.code, bob.id, "Bob")
    rooms.end(room.code, ada.id)
    said = bob.client.get(f"/dmlviz/classrooms/{room.code}/events").text
    assert said.endswith('data: {"event": "end", "state": "finished"}\n\n')
    assert not rooms.is_online(bob.id)


def test_no_student_can_open_a_teachers_sheet_even_by_its_address(ada, bob, people):
    def status(someone):
        return someone.client.get(f"/dmlviz/lessons/{LESSON}/sheet.html").status_code

    teacher, rooms = people["teacher"], ada.here.classrooms
    assert (status(ada), status(people["guest"]), status(teacher)) == (404, 404, 200)
    room = rooms.open(ada.id, "Ada teaches", 1)
    for student in (bob, teacher):
        student.here.classrooms.join(room.code, student.id, "Student")
    assert status(ada) == 200, "she opened the class"
    assert (status(bob), status(teacher)) == (404, 404), "students, whatever their role"
    refused = bob.client.get(f"/dmlviz/lessons/{LESSON}/sheet.html").text
    assert LESSONS[LESSON].sheet.exam_answer not in refused
    rooms.leave(bob.id)
    assert status(bob) == 404
    rooms.end(room.code, ada.id)
    assert (status(ada), status(teacher)) == (404, 200)


def test_the_board_races_the_best_run_of_each_student_and_keeps_what_answers_the_task(
    ada, bob, people, adas_run, write
):
    here, teacher = ada.here, people["teacher"]
    room = here.classrooms.open(teacher.id, "Monday", 1)
    url = f"/dmlviz/classrooms/{room.code}/race.json"

    def told():
        race = teacher.client.get(url).json()
        TypeAdapter(ClassRace).validate_json(json.dumps(race))
        return [(one["run"], one["by"], one["course"][-1][0]) for one in race["racers"]], race["others"], race["held"]

    for someone, name in ((ada, "Ada"), (bob, "Bob"), (people["guest"], "Gus")):
        someone.here.classrooms.join(room.code, someone.id, name)
    assert told() == ([], 0, 0), "what they had before the class is not in its race"
    config = here.runs.get(adas_run).config
    worse = write(here.store, config.replace(seed=config.seed + 1), 8)
    answer = write(here.store, TASK.training("digits"), 8)
    elsewhere = write(here.store, config.replace(dataset="moons"), 8)
    bob.here.jobs.train(config)  # finished already: it is his, too
    for someone, run in ((bob, worse), (people["guest"], answer), (ada, elsewhere)):
        someone.here.runs.hold(run.id)
    best = (adas_run, ["Bob"], config.steps)
    assert told() == ([best], 2, 0), "Bob has a better one; two runs are scored on other images"
    here.classrooms.set_task(room.code, teacher.id, LESSON, 1)
    assert told() == ([best], 1, 1), "the projector gives nothing away"
    here.classrooms.reveal(room.code, teacher.id)
    assert told() == ([best], 2, 0)
    assert bob.client.get(url).status_code == 404
