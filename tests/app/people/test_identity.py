"""Who somebody is: by the browser's cookie, or a header that only the proxy may set; and their role."""

import json
from pathlib import Path

import pytest
from dmlviz_app.classroom import OPEN_CLASS
from dmlviz_app.clean import CORRECT
from dmlviz_app.feature import FEATURES
from dmlviz_app.learn import READ_SHEETS
from dmlviz_app.people import policy
from dmlviz_app.people.cookies import COOKIE, load_key
from dmlviz_app.people.identity import AccessSettings, Identity, access_settings
from dmlviz_app.people.people import DEFAULT_LIMITS, GB, PeopleFile, Person, login_id, read_people
from dmlviz_app.people.policy import ROLES, Role
from dmlviz_app.server.middleware import UserHeaderMiddleware, person_name
from dmlviz_app.server.settings import Settings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient

from dmlviz.errors import UserError
from dmlviz.runs.ownership import Entry

LIMITS = DEFAULT_LIMITS[Role.MEMBER]
HEADER = "X-Forwarded-User"


def request(headers=(), cookies=None):
    cookie = "; ".join(f"{name}={value}" for name, value in (cookies or {}).items())
    sent = [(name.lower().encode(), value.encode()) for name, value in [*headers, ("cookie", cookie)]]
    return Request({"type": "http", "headers": sent})


def test_the_only_person_is_not_asked_who_they_are(tmp_path):
    person = Identity(AccessSettings(), tmp_path).of_request(request())
    assert person.is_alone


def test_the_role_of_a_token_outlives_the_server_for_who_is_not_there_again_yet(tmp_path):
    settings = access_settings(shared=True, tokens={Role.MEMBER: "m" * 16})
    first, ids = Identity(settings, tmp_path), {}
    for role in (Role.TEACHER, Role.GUEST):
        cookies = {COOKIE: first.browsers.issue(), "dmlviz_access": settings.tokens.marks[role]}
        ids[role] = first.of_request(request(cookies=cookies)).id
    nobody = first.of_request(request(cookies={COOKIE: first.browsers.issue()})).id
    again = Identity(settings, tmp_path)
    assert {role: again.person(id).role for role, id in ids.items()} == {role: role for role in ids}
    assert nobody not in (tmp_path / ".roles.json").read_text()
    for damaged in ("[]", '{"x": [], "y": 99}', "{"):
        (tmp_path / ".roles.json").write_text(damaged)
        assert Identity(settings, tmp_path).person("browser:y").role is Role.MEMBER


def test_a_browser_is_a_person_whose_cookie_cannot_be_made_up(tmp_path):
    identity = Identity(AccessSettings(shared=True), tmp_path)
    value = identity.browsers.issue()
    person = identity.of_request(request(cookies={COOKIE: value}))
    assert person.role is Role.MEMBER
    assert person.id.startswith("browser:")
    assert value.partition(".")[0] not in repr(person), "others see the ID; the token is as good as a password"
    for forged in (value[:-1], value.partition(".")[0], person.id, ""):
        assert identity.of_request(request(cookies={COOKIE: forged})).id == ""
    again = Identity(AccessSettings(shared=True), tmp_path)
    assert again.of_request(request(cookies={COOKIE: value})).id == person.id, "after a restart too"


def test_nobody_else_on_the_machine_reads_the_key(tmp_path):
    load_key(tmp_path)
    assert (tmp_path / ".cookie-key").stat().st_mode & 0o077 == 0


def test_a_folder_that_can_only_be_read_still_has_a_key(tmp_path):
    assert len(load_key(tmp_path / "missing")) == 32


def test_a_header_names_the_person(tmp_path):
    identity = Identity(AccessSettings(user_header=HEADER, proxies="10.0.0.1"), tmp_path)
    person = identity.of_request(request([(HEADER, "Ada@Example.org")]))
    assert (person.id, person.name, person.role) == ("login:ada@example.org", "Ada@Example.org", Role.MEMBER)
    value = identity.browsers.issue()
    assert identity.of_request(request(cookies={COOKIE: value})).role is Role.GUEST
    pretender = identity.of_request(request([(HEADER, "browser:0123456789ab")]))
    assert pretender.id == "login:browser:0123456789ab", "no name makes anybody another browser"


LOOK_ALIKES = [
    ("kim", "\u212aim"),  # the Kelvin sign, whose lower case is k
    ("istanbul", "\u0130stanbul"),  # dotted I
    ("diyarbakır", "diyarbakir"),  # dotless i
    ("strasse", "straße"),
    ("straße", "STRASSE"),
    ("ada", "ａｄａ"),  # fullwidth
    ("office", "oﬃce"),  # a ligature
    ("\u00e9va", "e\u0301va"),  # composed, and not
    ("ada", "\u0430da"),  # Cyrillic
    ("élan", "ÉLAN"),
    ("ada b", "ada  b"),
    ("ada", "ada\n"),
    ("ada", "a\u202eda"),
    ("x" * 300 + "a", "x" * 300 + "b"),
]


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES)
def test_logins_that_look_alike_are_different_people(tmp_path, one, other):
    assert login_id(one) != login_id(other)
    path = write(tmp_path / "people.toml", f"[roles]\n{json.dumps(one)} = 'admin'\n")
    people = read_people(path, has_login=True)
    assert people.person(login_id(other), "").role is Role.MEMBER
    assert all(len(login_id(name)) <= 250 for name in (one, other)), "what a file of owners takes"


@pytest.mark.parametrize("other", ["Ada@Example.org", "ADA@EXAMPLE.ORG"])
def test_the_case_of_ascii_letters_makes_no_other_person(other):
    assert login_id(other) == login_id("ada@example.org") == "login:ada@example.org"


def test_a_login_that_is_called_as_a_browser_does_not_have_its_role(tmp_path):
    path = write(tmp_path / "people.toml", '[roles]\n"browser:3f5d0c2a91be" = "admin"\n"#x" = "teacher"\n')
    people = read_people(path, has_login=True)
    assert people.person("browser:3f5d0c2a91be", "").role is Role.ADMIN
    assert people.person(login_id("browser:3f5d0c2a91be"), "").role is Role.MEMBER
    assert people.person(login_id("Browser:3f5d0c2a91be"), "").role is Role.MEMBER
    assert people.person(login_id("#x"), "").role is Role.TEACHER


def test_people_of_any_name_have_sessions_of_their_own():
    people = [Person(id=login_id(name), name="", role=Role.MEMBER, limits=LIMITS) for name in ("\u4e2d", "\u6587", "?")]
    names = {person_name(person) for person in people}
    assert len(names) == 3
    assert all(name.isascii() for name in names)


@pytest.mark.parametrize(("peer", "believed"), [("10.0.0.1", True), ("10.0.0.2", False), ("192.168.7.9", True)])
def test_only_the_proxy_s_header_is_believed(peer, believed):
    async def heard(request):
        return JSONResponse({"user": request.headers.get(HEADER), "client": request.client.host})

    async def heard_by_page(websocket):
        await websocket.accept()
        await websocket.send_text(websocket.headers.get(HEADER) or "")
        await websocket.close()

    app = Starlette(
        routes=[Route("/", heard), WebSocketRoute("/page", heard_by_page)],
        middleware=[Middleware(UserHeaderMiddleware, HEADER, "10.0.0.1,192.168.7.0/24")],
    )
    headers = {HEADER: "ada", "X-Forwarded-For": "10.0.0.1"}
    with TestClient(app, client=(peer, 50_000)) as client:
        assert client.get("/", headers=headers).json()["user"] == ("ada" if believed else None)
        client.headers.update(headers)
        with client.websocket_connect("/page") as page:
            assert page.receive_text() == ("ada" if believed else "")


def write(path, text):
    path.write_text(text)
    return path


def test_roles_and_limits_are_read_from_a_file(tmp_path):
    path = write(
        tmp_path / "people.toml",
        '[default]\nlogin = "guest"\nbrowser = "nobody"\n[roles]\n"Ada@example.org" = "admin"\n'
        "[limits.member]\ndisk_gb = 2.5\njobs = 1\n",
    )
    people = read_people(path, has_login=True)
    assert people.person("login:ada@example.org", "Ada").role is Role.ADMIN
    assert people.person("login:bob", "Bob").role is Role.GUEST
    assert people.person("browser:x", "").role is Role.NOBODY
    assert people.limits[Role.MEMBER].disk == 2.5 * GB
    assert people.limits[Role.MEMBER].upload == DEFAULT_LIMITS[Role.MEMBER].upload


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[roles", "TOML"),
        ('[roles]\nada = "king"', "nobody, guest, member, teacher, admin"),
        ("[roles]\nada = 3", "roles.ada"),
        ('[default]\nanyone = "member"', "default.anyone"),
        ("[limits.member]\njobs = 9", "limits.member.jobs"),
        ('[roles]\n"browser:ada" = "admin"', "browser: and 12 digits"),
        ("[limits.king]\njobs = 1", "king"),
        ("colour = 1", "colour"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path, text, said):
    with pytest.raises(UserError, match=r"people\.toml") as error:
        read_people(write(tmp_path / "people.toml", text), has_login=False)
    assert said in str(error.value)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="--people"):
        read_people(tmp_path / "none.toml", has_login=False)


def test_a_change_of_the_file_counts_at_once_and_a_mistake_in_it_changes_nothing(tmp_path, caplog):
    path = write(tmp_path / "people.toml", "")
    people = PeopleFile(path, has_login=False)
    assert people.now.person("login:ada", "").role is Role.MEMBER
    write(path, '[roles]\nada = "teacher"')
    assert people.now.person("login:ada", "").role is Role.TEACHER
    write(path, '[roles]\nada = "king"')
    assert people.now.person("login:ada", "").role is Role.TEACHER
    assert "The roles stay as they were." in caplog.text
    path.unlink()
    assert people.now.person("login:ada", "").role is Role.TEACHER


def test_how_people_are_told_apart_follows_from_how_the_server_is_started(monkeypatch, tmp_path):
    for name in ("DMLVIZ_SHARED", "DMLVIZ_PEOPLE", "DMLVIZ_USER_HEADER", "FORWARDED_ALLOW_IPS"):
        monkeypatch.delenv(name, raising=False)
    assert access_settings().alone
    assert access_settings(reachable=True).shared
    assert access_settings(proxies="127.0.0.1").shared, "behind a proxy everybody comes from this machine"
    assert access_settings(reachable=True, shared=False).alone
    assert not access_settings(people=tmp_path / "people.toml").alone
    assert Settings(host="0.0.0.0").access.shared
    monkeypatch.setenv("DMLVIZ_SHARED", "0")
    assert Settings(host="0.0.0.0").access.alone
    for mistake in (
        {"user_header": HEADER},
        {"user_header": HEADER, "proxies": "*"},
        {"shared": False, "people": Path("x")},
    ):
        with pytest.raises(UserError):
            access_settings(**mistake)


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
    policy.MAKE_PUBLIC: (Role.TEACHER, Role.ADMIN, Role.ADMIN, False),
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
        for relation, lowest in (("mine", own), ("shared", shared), ("public", shared), ("others", others)):
            assert person(role).may(action, relation) is (role >= lowest), (role, relation)
            assert person(Role.SOLE).may(action, relation) is alone


@pytest.mark.parametrize(
    ("visibility", "holder", "relation"),
    [("private", "ada", "mine"), ("public", "ada", "mine"), ("link", "bob", "shared"), ("public", "bob", "public")],
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
