"""What the pages say of people: nothing where there is one; who one is, and what one may, where there are several."""

import pytest
from streamlit.testing.v1 import AppTest

from app.runtime import services
from app.runtime.identity import AccessSettings
from app.runtime.services import Settings
from app.server import PAGE
from app.state import run_list

SHARING = ("visitor", "owner", "share", "shelf", "log in", "log out", "queue", "member", "only you")


def opened(**query):
    """The app as a session without a cookie sees it."""
    test = AppTest.from_file(str(PAGE), default_timeout=60)
    test.query_params.update(query)
    test.run()
    assert not test.exception
    return test


def words(test):
    """What a page says in its own elements, apart from the components."""
    told = [*test.markdown, *test.caption, *test.button, *test.toggle]
    return " ".join(str(getattr(one, "value", "")) + str(getattr(one, "label", "")) for one in told)


def test_the_only_person_reads_nothing_of_sharing(here, run):
    said = words(opened()).lower()
    assert "train" in said
    assert [word for word in SHARING if word in said] == []
    assert all(
        "sharing" not in card and card["read_only"] is here.runs.is_bundled(here.runs.get(card["run"]))
        for card in run_list.cards(here)
    )
    assert here.for_person(here.person).runs is here.store


def test_somebody_among_several_reads_who_they_are(shared):
    assert "sends no cookie" in words(opened())


def test_somebody_without_access_sees_no_page(tmp_path):
    people = tmp_path / "people.toml"
    people.write_text('[default]\nbrowser = "nobody"\n')
    settings = Settings(runs=tmp_path / "runs", data=tmp_path / "data", access=AccessSettings(people=people))
    services.start_services(settings, warm=False)
    try:
        said = words(opened())
        assert said.startswith("You have no access to this server")
        assert "Train" not in said
    finally:
        services.stop_services()


def test_a_foreign_data_set_in_the_address_is_not_named(shared, adas_data):
    said = words(opened(dataset=adas_data))
    assert "cannot train on this data set" in said
    assert "Ada" not in said


@pytest.mark.parametrize("key", ["", "wrong", "é"])
def test_a_wrong_link_shows_no_run_and_stays_in_no_address(shared, adas_run, key):
    test = opened(run=adas_run, share=key)
    assert "Run not found" in words(test)
    assert "share" not in test.query_params


def test_a_teacher_puts_a_data_set_on_the_shelf_and_takes_it_back(shared, ada, bob, adas_data):
    shared.settings.access.people.write_text('[default]\nbrowser = "teacher"\n')
    test = AppTest.from_file(str(PAGE), default_timeout=60)
    token = "0" * 32
    test.session_state["browser_token"] = token
    person = shared.identity._person({}, {}, token)
    shared.for_person(person).hold_data(adas_data)
    test.query_params["dataset"] = adas_data
    test.run()
    (toggle,) = (one for one in test.toggle if one.label == "Everyone may train on it")
    assert toggle.value is False
    roles = f'[default]\nbrowser = "teacher"\n[roles]\n"{bob.id}" = "member"\n'
    shared.settings.access.people.write_text(roles)
    assert not bob.here.may_train_on(adas_data)
    toggle.set_value(True).run()
    assert not test.exception
    assert bob.here.may_train_on(adas_data)
    next(one for one in test.toggle if one.label == toggle.label).set_value(False).run()
    assert not bob.here.may_train_on(adas_data)
