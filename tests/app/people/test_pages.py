"""What the pages say of people: nothing where there is one; who one is, and what one may, where there are several."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from dmlviz_app.application import PAGE
from dmlviz_app.people.cookies import public_id
from dmlviz_app.people.people import BROWSER
from dmlviz_app.runs import state as run_list
from dmlviz_app.server import services
from dmlviz_app.server.settings import Settings
from dmlviz_app.widgets.account import SharedLink
from streamlit.testing.v1 import AppTest

SHARING = ("visitor", "owner", "share", "public", "queue", "member", "only you")


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


def test_somebody_among_several_reads_who_they_are(shared):
    assert "sends no cookie" in words(opened())


def test_somebody_without_access_sees_no_page(tmp_path):
    people = tmp_path / "people.toml"
    people.write_text('[default]\nbrowser = "nobody"\n')
    settings = Settings(runs=tmp_path / "runs", data=tmp_path / "data", people=people)
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


def who(test):
    """The choice of who may train on a data set."""
    return next((one for one in test.selectbox if one.label == "Who may train on it"), None)


def test_a_member_shares_a_data_set_by_link_and_takes_it_back_and_a_guest_shares_none(shared, bob, adas_data):
    def opened_by_owner(role):
        shared.settings.access.people.write_text(f'[default]\nbrowser = "{role}"\n')
        test = AppTest.from_file(str(PAGE), default_timeout=60)
        test.session_state["browser_token"] = token = "0" * 32
        shared.for_person(shared.identity.person(BROWSER + public_id(token))).datasets.hold(adas_data)
        test.query_params["dataset"] = adas_data
        return test.run()

    assert who(opened_by_owner("guest")) is None
    test = opened_by_owner("member")
    assert who(test).options == ["Only you", "Everyone with the link"]
    who(test).set_value("link").run()
    assert not test.exception
    (link,) = (one.value for one in test.code)
    query = dict(parse_qsl(urlsplit(link).query))
    assert not SharedLink("dataset", adas_data, "wrong").open(bob.here)
    assert not bob.here.datasets.may_train_on(adas_data)
    assert SharedLink.from_query(query).open(bob.here)
    assert bob.here.datasets.may_train_on(adas_data)
    assert opened(**query).query_params.get("share") is None
    who(test).set_value("private").run()
    assert not bob.here.datasets.may_train_on(adas_data)
    assert not SharedLink.from_query(query).open(bob.here)


@pytest.mark.parametrize("query", [{}, {"share": "x"}, {"run": "x"}, {"dataset": "x"}])
def test_an_address_without_both_parts_is_no_link(query):
    assert SharedLink.from_query(query) is None
