"""Who holds a run, who else sees it, and what is left when one of them deletes it."""

import os
from functools import partial

import pytest

from dmlviz.catalog.custom_datasets import is_custom
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.ownership import Ownership
from dmlviz.storage.files import is_run_id
from tests.waiting import at_once

RUN = "0123456789abcdef"


@pytest.fixture
def owners(tmp_path):
    return Ownership(tmp_path, is_run_id)


def give(owners, holder, **more):
    owners.add(RUN, holder=holder, name=holder.title(), title=f"{holder}'s run", **more)


def test_holding_it_twice_changes_nothing(owners):
    give(owners, "ada")
    owners.share(RUN, "ada", "public")
    give(owners, "ada")
    assert owners.entry(RUN, "ada").visibility == "public"


def test_a_link_opens_for_those_who_have_it_until_it_is_taken_back(owners):
    give(owners, "ada")
    owners.share(RUN, "ada", "link")
    key = owners.entry(RUN, "ada").key
    assert len(key) > 20
    assert owners.visible_entry(RUN, "bob") is None
    for wrong in ("", "x", key[:-1], "é"):
        assert not owners.open_link(RUN, wrong, "bob")
    assert owners.open_link(RUN, key, "bob")
    assert owners.visible_entry(RUN, "bob").holder == "ada"
    owners.forget_link(RUN, "bob")
    assert owners.visible_entry(RUN, "bob") is None
    owners.open_link(RUN, key, "bob")
    owners.share(RUN, "ada", "private")
    assert owners.visible_entry(RUN, "bob") is None
    owners.share(RUN, "ada", "link")
    assert owners.entry(RUN, "ada").key != key
    assert not owners.open_link(RUN, key, "bob")
    assert owners.visible_entry(RUN, "bob") is None


def test_one_s_own_entry_comes_before_a_public_one(owners):
    give(owners, "ada")
    owners.share(RUN, "ada", "public")
    assert owners.visible_entry(RUN, "bob").holder == "ada"
    give(owners, "bob")
    assert owners.visible_entry(RUN, "bob").holder == "bob"


def test_what_is_deleted_is_not_shared_any_more(owners):
    give(owners, "ada")
    owners.share(RUN, "ada", "public")
    owners.remove(RUN, "ada")
    assert owners.visible_entry(RUN, "bob") is None
    owners.restore(RUN, "ada")
    assert owners.visible_entry(RUN, "bob") is None


def test_a_damaged_file_hides_the_run_and_is_not_overwritten(owners):
    give(owners, "ada")
    path = owners.folder / f"{RUN}.json"
    path.write_text('[{"holder": "ada"')
    assert owners.visible_entry(RUN, "ada") is None
    with pytest.raises(DamagedFileError):
        give(owners, "bob")
    assert path.read_text() == '[{"holder": "ada"'


NAMES = ["", "../x", "a/b", ".owners", "x.json", "A", "a_b", "\0", "é", "0" * 10_000, *DATASETS.builtin]


@pytest.mark.parametrize("has_owners", [is_run_id, is_custom])
@pytest.mark.parametrize("item", NAMES)
def test_what_cannot_have_owners_has_none_and_gets_none(tmp_path, has_owners, item):
    owners = Ownership(tmp_path, has_owners)
    assert owners.all_entries(item) == owners.entries(item) == ()
    assert owners.entry(item, "ada") is owners.visible_entry(item, "ada") is None
    assert owners.open_link(item, "key", "ada") is False
    owners.share(item, "ada", "public")
    owners.admit(item, "ada", ["bob"])
    with pytest.raises(UserError, match="belongs to nobody"):
        owners.add(item, holder="ada", name="Ada", title="x")
    assert [path.name for path in tmp_path.rglob("*")] == [".owners", "lock"]


def test_nothing_is_lost_when_many_write_at_once(owners):
    def join(number):
        other = Ownership(owners.folder.parent, is_run_id)  # as another process has it
        for turn in range(5):
            other.add(RUN, holder=f"p{number}-{turn}", name="P", title="t")

    at_once(*(partial(join, number) for number in range(6)))
    assert len(owners.entries(RUN)) == 30


PEOPLE = [f"person {number}" for number in range(30)]


@pytest.mark.parametrize("way", ["open", "admit"])
def test_thirty_who_come_at_once_all_see_it(owners, way):
    give(owners, "ada")
    owners.share(RUN, "ada", "link")
    key = owners.entry(RUN, "ada").key
    ways = {"open": lambda person: owners.open_link(RUN, key, person), "admit": lambda p: owners.admit(RUN, "ada", [p])}
    at_once(*(lambda person=person: ways[way](person) for person in PEOPLE))
    assert all(owners.visible_entry(RUN, person) for person in PEOPLE)


def test_of_thirty_who_delete_it_at_once_one_is_the_last(owners):
    for person in PEOPLE:
        give(owners, person)
    deleted = []
    last = at_once(*(lambda person=person: owners.remove(RUN, person, lambda: deleted.append(1)) for person in PEOPLE))
    assert (sum(last), deleted, owners.entries(RUN)) == (1, [1], ())


def test_no_one_comes_back_through_a_link_that_is_taken_back_while_others_open_it(owners):
    give(owners, "ada")
    for _ in range(30):
        owners.share(RUN, "ada", "link")
        key = owners.entry(RUN, "ada").key
        owners.open_link(RUN, key, "mallory")
        opened = [lambda person=person, key=key: owners.open_link(RUN, key, person) for person in PEOPLE[:4]]
        at_once(lambda: owners.share(RUN, "ada", "private"), *opened)
        owners.share(RUN, "ada", "link")
        assert not any(owners.visible_entry(RUN, person) for person in ("mallory", *PEOPLE))


def test_what_is_gone_is_forgotten(owners):
    give(owners, "ada")
    give(owners, "bob")
    owners.remove(RUN, "bob")
    owners.sweep(lambda item: True, retention_s=60)
    assert len(owners.all_entries(RUN)) == 2
    owners.sweep(lambda item: True, retention_s=-60)
    assert [entry.holder for entry in owners.all_entries(RUN)] == ["ada"]
    owners.sweep(lambda item: False, retention_s=60)
    assert [*owners.items()] == []
    assert os.listdir(owners.folder) == ["lock"]
