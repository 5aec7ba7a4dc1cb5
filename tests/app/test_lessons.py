"""Lessons: what they set, what they hide, and that the guess comes before the answer."""

import dataclasses
import html
import json

import pytest
from dmlviz_app.explore.task import task_view
from dmlviz_app.forms.view_query import settings_from_query
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.learn.catalog_index import TOPICS, kind_of
from dmlviz_app.learn.sheet import sheet_page
from dmlviz_app.widgets import navigation
from streamlit.testing.v1 import AppTest

from dmlviz.catalog.metrics import metric_of
from dmlviz.lessons import LESSONS, PARTS
from dmlviz.lessons.measurements import task_measurements
from tests.app import pages

TASKS = [(lesson, task) for lesson in LESSONS.values() for task in lesson.tasks]
NAMED = [f"{lesson.name}: {task.title}" for lesson, task in TASKS]


def test_the_lessons_are_a_course_in_three_parts():
    parts = [lesson.part for lesson in LESSONS.values()]
    assert list(dict.fromkeys(parts)) == list(PARTS)
    assert parts == sorted(parts, key=PARTS.index)
    assert len(LESSONS) >= 15
    for lesson in LESSONS.values():
        assert len(lesson.text) > 500
        assert "**Next, try it yourself.**" in lesson.text
        assert 5 <= lesson.minutes <= 15
        assert lesson.tasks


def test_lessons_follow_the_parts_of_the_course_and_every_answer_is_one_of_the_guesses():
    parts = [lesson.part for lesson in LESSONS.values()]
    assert parts == sorted(parts, key=PARTS.index)
    assert all(0 <= task.answer < len(task.guesses) for lesson in LESSONS.values() for task in lesson.tasks)


def test_old_links_to_lessons_still_work():
    assert LESSONS.keys() >= {
        "why-a-margin",
        "why-mining",
        "what-softmax-lacks",
        "sphere-or-plane",
        "do-not-trust-the-map",
        "without-labels",
    }


@pytest.mark.parametrize("name", LESSONS)
def test_what_a_lesson_refers_to_exists(name):
    for kind, entry in LESSONS[name].related:
        assert entry in (TOPICS if kind == "topic" else kind_of(kind).catalog)


@pytest.mark.parametrize(("lesson", "task"), TASKS, ids=NAMED)
def test_a_task_sets_all_its_settings(lesson, task):
    state = UIState.from_query(task.query)
    assert state.messages.all() == {}
    assert state.unknown_query == {}
    assert state.to_query().keys() >= {name for name in settings_from_query(task) if name != "loss"} - {"normalize"}
    for dataset in ("digits", "mnist"):
        assert task.training(dataset) == UIState.from_query(settings_from_query(task)).config(dataset)
    assert task.projection() == task_view(task).projection()
    assert len(set(task.guesses)) == len(task.guesses) > 1
    for name in task.measurements:
        assert name == "active" or metric_of(name.removeprefix("map.")) is not None
        assert not name.startswith("map.") or task_view(task).projection() is not None


def test_follow_up_settings_can_be_rendered():
    def page():
        from dmlviz_app.explore.training_form import selected_fields
        from dmlviz_app.forms.view_state import UIState

        from dmlviz.lessons import LESSONS

        state = UIState()
        names = sorted({name for lesson in LESSONS.values() for task in lesson.tasks for name in task.follow_up})
        selected_fields(state, state.config("digits"), ["digits"], names)

    test = AppTest.from_function(page, default_timeout=120).run()
    assert not test.exception
    assert {"set.embedding_dim", "set.normalize", "set.miner"} <= {box.key for box in test.selectbox}


@pytest.mark.parametrize("query", [{"task": "9"}, {"task": "0"}, {"guess": "7"}, {"guess": "x"}, {"task": "two"}])
def test_an_invalid_task_or_guess_is_ignored(query):
    state = UIState.from_query({"lesson": "why-a-margin"} | query)
    assert 1 <= state.task <= len(LESSONS["why-a-margin"].tasks)
    assert state.guess is None


def test_leaving_a_lesson_keeps_the_settings_and_shows_all_controls():
    state = UIState.from_query({"lesson": "why-a-margin"})
    before = state.config("digits")
    state.start_task(None)
    assert state.lesson is None
    assert state.config("digits") == before
    assert "lesson" not in state.to_query()


class Pupil(pages.Page):
    def mounted(self):
        """The components, and the parts of the workbench."""
        sent = {element.key: json.loads(element.proto.json) for element in self.test.get("bidi_component")}
        return {*sent, *(name.removesuffix("s") for name, part in sent.get("workbench", {}).items() if part)}

    def widgets(self):
        return {widget.key for kind in ("button", "selectbox", "number_input") for widget in self.test.get(kind)}

    @property
    def words(self):
        return pages.without_terms(" ".join(element.value for element in [*self.test.markdown, *self.test.caption]))


@pytest.fixture
def pupil(here, write, monkeypatch):
    """Somebody at the first task of "why a margin"; the training that is asked for is written at once."""
    from dmlviz.jobs.job import Status

    def submit(order, owner=""):
        record = order.begin()
        return write(here.runs, record.config) if order.kind == "train" else record

    def status(record):
        return Status("finished" if record.path.exists() else "unknown")

    monkeypatch.setattr(here.scheduler, "submit", submit)
    monkeypatch.setattr(here.scheduler, "status", status)
    write(here.runs)
    return Pupil(lesson="why-a-margin", dataset="digits")


def test_before_the_guess_map_answer_and_settings_are_hidden(pupil):
    assert "map" not in pupil.mounted()
    assert "score" not in pupil.mounted()
    assert not {key for key in pupil.widgets() if key and key.startswith(("set.", "loss."))}
    assert "train" not in pupil.widgets()
    assert LESSONS["why-a-margin"].tasks[0].question in pupil.words
    assert pupil.test.button(key="lesson.commit").disabled


def test_the_answer_shows_the_runs_values_and_the_next_task_starts_fresh(pupil, here):
    first, second = LESSONS["why-a-margin"].tasks[:2]
    pupil.test.session_state["lesson.guess"] = 1
    pupil.run()
    pupil.test.button(key="lesson.commit").click()
    pupil.run()
    config = first.training("digits")
    run = here.runs.get(config.id)
    assert "map" in pupil.mounted()
    assert first.reveal in pupil.words
    assert f"| {run.metrics['precision_at_1']:.3f} |" in pupil.words
    assert "On all 596 test images of Digits" in pupil.words
    assert pupil.test.query_params["guess"] == "1"
    pupil.test.button(key="lesson.next").click()
    pupil.run()
    assert second.question in pupil.words
    assert first.reveal not in pupil.words
    assert "map" not in pupil.mounted()


def test_an_answer_that_the_teacher_has_shown_does_not_wait_for_the_training(pupil, here, write, monkeypatch):
    from dmlviz.jobs.job import Status

    first = LESSONS["why-a-margin"].tasks[0]
    pupil.test.session_state["lesson.guess"] = 1 + (first.answer + 1) % len(first.guesses)  # a wrong one
    pupil.run()
    pupil.test.button(key="lesson.commit").click()
    monkeypatch.setattr(here.scheduler, "status", lambda record: Status("running"))
    pupil.run()
    assert first.reveal not in pupil.words
    assert "Training … the answer appears when it finishes." in pupil.words
    monkeypatch.setattr(type(here.classrooms), "shows", lambda *_: True)
    pupil.run()
    assert f"The answer is: {first.guesses[first.answer]}.** {first.reveal}" in pupil.words
    assert "Training … the figures appear when it finishes." in pupil.words
    monkeypatch.setattr(here.scheduler, "status", lambda record: Status("finished"))
    pupil.run()
    assert "On all 596 test images of Digits" in pupil.words


@pytest.mark.slow
def test_a_task_about_the_map_shows_it_before_the_guess_and_hides_the_scores(pupil, here, write):
    task = LESSONS["do-not-trust-the-map"].tasks[0]
    run = write(here.runs, task.training("digits"))
    pupil = Pupil(lesson="do-not-trust-the-map", dataset="digits")
    assert pupil.test.session_state["page.explore"].run == run.id
    assert pupil.test.session_state["page.explore"].view == "pca"
    assert "map" in pupil.mounted()
    assert "score" not in pupil.mounted()
    assert task.question in pupil.words
    assert task.reveal not in pupil.words


@pytest.mark.slow
def test_the_last_task_offers_its_follow_up_settings(pupil):
    for _ in LESSONS["why-a-margin"].tasks:
        pupil.test.session_state["lesson.guess"] = 2
        pupil.run()
        pupil.test.button(key="lesson.commit").click()
        pupil.run()
        last = not any(button.key == "lesson.next" for button in pupil.test.button)
        if not last:
            pupil.test.button(key="lesson.next").click()
            pupil.run()
    assert {"train", "loss.triplet.margin"} <= pupil.widgets()
    assert "set.loss" not in pupil.widgets()
    pupil.test.button(key="lesson.leave").click()
    pupil.run()
    assert "set.loss" in pupil.widgets()


def test_measurements_are_those_of_the_run_and_missing_ones_are_omitted(here, write):
    task = LESSONS["do-not-trust-the-map"].tasks[0]
    run = write(here.runs, task.training("digits"))
    assert task_measurements(run, task) == {"P@1": run.metrics["precision_at_1"]}  # no map is drawn yet
    active = dataclasses.replace(task, measurements=("active",))
    assert task_measurements(run, active) == {"Active terms at the end": 0.5}


@pytest.mark.parametrize("name", ["why-mining", "do-not-trust-the-map"])
def test_a_lesson_begins_with_question_and_guess_and_its_text_comes_after(here, name, monkeypatch):
    went = []
    monkeypatch.setattr(navigation, "go", lambda page, to: went.append((page, to)))
    lesson, test = LESSONS[name], pages.open_page("learn", lesson=name)
    task, shown = lesson.tasks[0], [pages.without_terms(text.value) for text in test.markdown]
    said = [next(i for i, text in enumerate(shown) if words in text) for words in (task.question, lesson.text[:40])]
    assert said == sorted(said)
    (drawer,) = [one for one in test.main.expander if "answers" in one.label]
    assert not drawer.proto.expanded
    guess = {}
    if not task.view_before_guess:
        guesses = test.main.button_group[0]
        assert guesses.options == list(task.guesses)
        guesses.set_value(2).run()
        guess = {"guess": "2"}
    test.button(key="lesson.begin").click().run()
    assert went == [("explore", {"lesson": name} | guess)]
    assert UIState.from_query(went[0][1]).guess == (2 if guess else None)


@pytest.mark.parametrize("name", LESSONS)
def test_a_sheet_has_goal_answers_and_exam_question(name):
    lesson, page = LESSONS[name], html.unescape(sheet_page(LESSONS[name]))
    told = [lesson.title, lesson.part, lesson.sheet.goal, lesson.sheet.exam]
    for text in [*told, *(text for task in lesson.tasks for text in (task.usual_guess, *task.guesses))]:
        assert text.replace("&", "&amp;") in page or text in page
    assert page.count("<li class=right>") == len(lesson.tasks)


def test_the_only_person_of_a_server_opens_sheets_from_the_lesson(here, client):
    test = pages.open_page("learn", lesson="why-mining")
    address = "dmlviz/lessons/why-mining/sheet.html"
    assert address in [element.proto.url for element in test.get("link_button")]
    answer = client.get(f"/{address}")
    assert answer.headers["content-type"].startswith("text/html")
    assert LESSONS["why-mining"].sheet.goal in html.unescape(answer.text)
    assert "did you mean 'why-mining'" in client.get("/dmlviz/lessons/why-minning/sheet.html").json()["error"]


def test_settings_that_go_only_together_are_read_in_any_order():
    query = {"max_train_images": "100", "images_per_class": "4"}
    state = UIState.from_query(query)
    assert state.messages.all() == {}
    assert (state.config("mnist").max_train_images, state.config("mnist").images_per_class) == (100, 4)
    assert len(UIState.from_query({"max_train_images": "100"}).messages.all()) == 1
