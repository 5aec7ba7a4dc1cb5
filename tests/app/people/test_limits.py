"""Limits of a role, set on a page: who may set them, where they count, and that they outlive the server."""

import pytest
from dmlviz_app.application import PAGE
from dmlviz_app.people.identity import Identity
from dmlviz_app.people.limits import LimitsFile
from dmlviz_app.people.people import DEFAULT_LIMITS, GB, MB, Limits
from dmlviz_app.people.policy import Role
from streamlit.testing.v1 import AppTest

from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.jobs.job import Job, Status
from dmlviz.jobs.order import training
from dmlviz.studies.study import create_study

SMALL = Limits(disk=0, jobs=0, upload=MB)


def test_what_is_set_counts_at_once_where_limits_are_checked(shared, people, ada, adas_run):
    identity, teacher = shared.identity, people["teacher"].here.person
    ada.here.check_room()
    ada.here.check_upload(2 * MB)
    identity.set_limits(teacher, Role.MEMBER, SMALL)
    with pytest.raises(UserError, match="Your runs, data and studies take"):
        ada.here.check_room()
    with pytest.raises(UserError, match="You may upload"):
        ada.here.check_upload(2 * MB)
    identity.set_limits(teacher, Role.MEMBER, Limits(disk=1, jobs=1, upload=MB))
    for refused in (lambda: ada.here.check_upload(5), lambda: ada.here.jobs.train(TrainConfig(dataset="digits"))):
        with pytest.raises(UserError, match="that you may have; delete some"):
            refused()
    identity.set_limits(teacher, Role.MEMBER, Limits(disk=GB, jobs=0, upload=MB))
    with pytest.raises(UserError, match="not start jobs"):
        ada.here.jobs.train(TrainConfig(dataset="digits", net="mlp", steps=5))
    assert people["guest"].here.person.limits == DEFAULT_LIMITS[Role.GUEST]
    again = Identity(shared.settings.access, shared.settings.runs)
    assert again.limits_of(Role.MEMBER).jobs == 0
    identity.set_limits(teacher, Role.MEMBER, None)
    assert ada.here.person.limits == DEFAULT_LIMITS[Role.MEMBER]


def test_studies_count_where_runs_and_trainings_do(shared, people, ada, monkeypatch):
    identity, teacher = shared.identity, people["teacher"].here.person
    study = create_study(
        shared.study_runner.folder / "margins-quick-digits", "margins", "quick", "digits", owner=ada.here.person.id
    )
    (study.path / "points.npz").write_bytes(bytes(3 * MB))
    assert 3 * MB <= ada.here.used() < 4 * MB
    identity.set_limits(teacher, Role.MEMBER, Limits(disk=2 * MB, jobs=1, upload=MB))
    with pytest.raises(UserError, match=r"studies take 3\.0 MB of the 2\.0 MB"):
        ada.here.studies.start("margins", "quick", "digits")
    identity.set_limits(teacher, Role.MEMBER, Limits(disk=GB, jobs=1, upload=MB))
    job = Job(training(shared.store, TrainConfig()), record=None, owners=[])
    monkeypatch.setattr(shared.scheduler, "running_for", lambda owner=None: [(job, Status("running"))])
    with pytest.raises(UserError, match="1 of the 1 jobs"):
        ada.here.studies.start("margins", "quick", "digits")
    assert people["bob"].here.used() == 0


def test_a_teacher_gives_those_below_no_more_than_they_have_and_an_admin_anybody_anything(shared, people):
    persons = {name: someone.here.person for name, someone in people.items()}
    set_limits, most = shared.identity.set_limits, Limits(disk=None, jobs=4, upload=110 * MB)
    refused = [("ada", Role.GUEST), ("guest", Role.GUEST)]
    for name, role in [*refused, *(("teacher", role) for role in (Role.TEACHER, Role.ADMIN, Role.NOBODY))]:
        with pytest.raises(UserError, match="may not set the limits"):
            set_limits(persons[name], role, SMALL)
    with pytest.raises(UserError, match="5 GB, 4 jobs"):
        set_limits(persons["teacher"], Role.MEMBER, most)
    set_limits(persons["teacher"], Role.MEMBER, Limits(disk=5 * GB, jobs=4, upload=110 * MB))
    set_limits(persons["admin"], Role.TEACHER, most)
    set_limits(persons["admin"], Role.ADMIN, SMALL)
    set_limits(people["admin"].here.person, Role.ADMIN, None)  # who has locked themselves out gets back
    assert people["teacher"].here.person.limits == most


@pytest.mark.parametrize("content", ["", "[]", '{"member": {"disk": -1, "jobs": 1, "upload": 1}}', '{"member": 1}'])
def test_a_damaged_file_changes_nothing(tmp_path, content):
    (tmp_path / ".limits.json").write_text(content)
    assert LimitsFile(tmp_path).now == {}


def test_a_teacher_sets_limits_on_the_page_and_a_member_sees_no_form(shared):
    def page(role):
        shared.settings.access.people.write_text(f'[default]\nbrowser = "{role}"\n')
        test = AppTest.from_file(str(PAGE), default_timeout=60)
        test.session_state["browser_token"] = "0" * 32
        return test.run().switch_page("runs/page.py").run()

    def form(test):
        return [one.key for one in test.number_input if one.key.startswith("limits.")]

    assert not form(page("member"))
    test = page("teacher")
    assert form(test) == [
        f"limits.{role}.{name}" for role in ("guest", "member") for name in ("disk", "jobs", "upload")
    ]
    test.number_input(key="limits.guest.jobs").set_value(1)
    test.button(key="limits.guest.save").click().run()
    assert not test.exception
    assert shared.identity.limits_of(Role.GUEST) == Limits(disk=200 * MB, jobs=1, upload=20 * MB)
    test.number_input(key="limits.member.disk").set_value(7.0)
    test.button(key="limits.member.save").click().run()
    assert any("5 GB, 4 jobs" in one.value for one in test.caption)
    assert test.number_input(key="limits.member.disk").value == 1
    test.button(key="limits.guest.reset").click().run()
    assert shared.identity.limits_of(Role.GUEST) == DEFAULT_LIMITS[Role.GUEST]
