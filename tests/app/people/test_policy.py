"""Access policy: each role, action and owner, on a server that people share and on one for a single person."""

import pytest
from dmlviz_app.classroom import OPEN_CLASS
from dmlviz_app.clean import CORRECT
from dmlviz_app.feature import FEATURES
from dmlviz_app.learn import READ_SHEETS
from dmlviz_app.people import policy
from dmlviz_app.people.people import DEFAULT_LIMITS, Person
from dmlviz_app.people.policy import ROLES, Role

from dmlviz.errors import UserError
from dmlviz.runs.ownership import Entry

NO_ONE = Role.SOLE
# The lowest role that may do it with what is theirs, what others share with them, what others keep; the only person.
RIGHTS = {
    policy.SEE: (Role.GUEST, Role.GUEST, Role.ADMIN, True),
    policy.TRAIN: (Role.GUEST, Role.GUEST, Role.ADMIN, True),
    policy.CHANGE: (Role.GUEST, Role.ADMIN, Role.ADMIN, True),
    policy.STOP: (Role.GUEST, Role.ADMIN, Role.ADMIN, True),
    policy.MEET: (Role.GUEST, Role.ADMIN, Role.ADMIN, False),
    policy.KEEP: (Role.MEMBER, Role.ADMIN, Role.ADMIN, True),
    policy.SHARE_LINK: (Role.MEMBER, Role.ADMIN, Role.ADMIN, False),
    OPEN_CLASS: (Role.MEMBER, Role.ADMIN, Role.ADMIN, False),
    policy.SHARE_SHELF: (Role.TEACHER, Role.ADMIN, Role.ADMIN, False),
    CORRECT: (Role.TEACHER, Role.ADMIN, Role.ADMIN, True),
    READ_SHEETS: (Role.TEACHER, Role.ADMIN, Role.ADMIN, True),
    policy.SEE_QUEUE: (Role.TEACHER, Role.ADMIN, Role.ADMIN, False),
    policy.READ_FILES: (NO_ONE, NO_ONE, NO_ONE, True),
}


def person(role, id="ada"):
    return Person(id=id, name="Ada", role=role, limits=DEFAULT_LIMITS[role])


@pytest.mark.parametrize("action", [action for feature in FEATURES for action in feature.actions])
def test_a_role_may_do_what_the_table_says_and_nothing_else(action):
    own, shared, others, alone = RIGHTS[action]
    for role in ROLES.values():
        for relation, lowest in (("mine", own), ("shared", shared), ("shelf", shared), ("others", others)):
            assert person(role).may(action, relation) is (role >= lowest), (role, relation)
            assert person(Role.SOLE).may(action, relation) is alone


@pytest.mark.parametrize(
    ("visibility", "holder", "relation"),
    [("private", "ada", "mine"), ("shelf", "ada", "mine"), ("link", "bob", "shared"), ("shelf", "bob", "shelf")],
)
def test_the_owner_and_the_visibility_decide_what_an_item_is_to_a_person(visibility, holder, relation):
    entry = Entry(holder=holder, name="", title="", visibility=visibility, added=0)
    assert person(Role.MEMBER).relation_to(entry) == relation
    assert person(Role.MEMBER).relation_to(None) == "others"


def test_only_where_there_are_several_things_have_an_owner_and_a_person_must_be_known():
    assert (person(Role.MEMBER).owner, person(Role.SOLE).owner) == ("ada", "")
    person(Role.SOLE, id="").check_known()
    with pytest.raises(UserError, match="allow cookies"):
        person(Role.ADMIN, id="").check_known()
