"""A session belongs to whoever opened it; files come by routes: within limits, one at a time, from no other site."""

import time
from collections.abc import Iterator
from pathlib import Path

import dmlviz_app
import pytest
from dmlviz_app.explore.routes import MAX_FILES, SENDERS
from dmlviz_app.people.people import MB
from dmlviz_app.server.middleware import PERSON_HEADER

from tests.app.people.real_server import SERVE, STREAMLIT, Page, RealServer
from tests.app.people.test_foreign import state_of
from tests.waiting import free_port


@pytest.fixture
def read(shared, monkeypatch):
    """No worker reads what comes: whose it is, and the names and sizes of the files."""
    came = []

    def upload(owner, files, points):
        came.append((owner, {name: len(file.read()) for name, file in files.items()}))

    monkeypatch.setattr(shared.intake, "upload", upload)
    return came


def send(someone, *files, what="data", **headers):
    parts = [("file", (name, content)) for name, content in files]
    return someone.client.post(f"/dmlviz/uploads/{what}", files=parts, headers=headers)


def test_the_files_of_a_person_are_read_as_theirs(ada, read):
    assert send(ada, ("vectors.npy", b"x" * 300), ("labels.txt", b"a")).status_code == 200
    assert read == [(ada.id, {"vectors.npy": 300, "labels.txt": 1})]


def test_a_guest_may_send_less_than_a_member(people, ada, read):
    large = ("large.zip", bytes(21 * MB))
    assert send(ada, large).status_code == 200
    refusal = send(people["guest"], large)
    assert refusal.status_code == 404
    assert refusal.json()["error"] == "You may upload 20 MB at a time; this is 21 MB."
    assert [owner for owner, _ in read] == [ada.id]


def test_what_cannot_be_an_upload_is_refused_in_a_sentence_and_nothing_is_kept(ada, read, tmp_path):
    before, one = state_of(tmp_path), ("a.npy", b"x")
    refused = {
        "different names": send(ada, one, one),
        "No file": ada.client.post("/dmlviz/uploads/data", files={"other": one}),
        "one file; got 2": send(ada, one, ("b.pth", b"x"), what="weights"),
        "with its length": ada.client.post("/dmlviz/uploads/data", content=iter([b"x"])),
    }
    for words, answer in refused.items():
        assert answer.status_code == 404
        assert words in answer.json()["error"]
    too_many = send(ada, *((f"{i}.png", b"x") for i in range(MAX_FILES + 1)))
    assert too_many.status_code == 400
    assert ada.client.post("/dmlviz/uploads/data", content=b"x").json()["error"].startswith("No file")
    assert (read, state_of(tmp_path)) == ([], before)


def test_a_person_sends_one_upload_at_a_time(ada, bob, read):
    with SENDERS.of(ada.id, "busy"):
        refusal = send(ada, ("a.npy", b"x"))
        assert (refusal.status_code, "one file at a time" in refusal.json()["error"]) == (503, True)
        assert send(bob, ("a.npy", b"x")).status_code == 200
    assert send(ada, ("a.npy", b"x")).status_code == 200


def test_no_other_site_sends_a_file_and_streamlit_takes_none(ada, read):
    assert send(ada, ("a.npy", b"x"), Origin="https://elsewhere.example").status_code == 403
    assert ada.client.put("/_stcore/upload_file/session/file", files={"file": ("a.npy", b"x")}).status_code == 403
    assert read == []


def test_weights_are_kept_for_the_one_who_sent_them(ada, bob):
    assert send(ada, ("my resnet.pth", b"weights"), what="weights").status_code == 200
    assert ada.here.features.last_upload(ada.here.person).read_bytes() == b"weights"
    assert bob.here.features.last_upload(bob.here.person) is None
    assert send(ada, ("../../other.pth", b"more"), what="weights").status_code == 200
    assert [path.name for path in ada.here.features.folder_of(ada.here.person).rglob("*.pth")] == ["other.pth"]


MAIN = str(Path(dmlviz_app.__file__).parents[1] / "main.py")


@pytest.fixture(params=["dmlviz serve", "streamlit run"])
def server(request, tmp_path) -> Iterator[RealServer]:
    """A server that is shared."""
    command = [SERVE, "serve", "--port", "0", "--no-browser", "--runs", str(tmp_path), "--shared"]
    if request.param == "streamlit run":
        command = [STREAMLIT, "run", MAIN, "--server.address", "127.0.0.1", "--server.port", str(free_port())]
    server = RealServer(command, DMLVIZ_SHARED="1", DMLVIZ_RUNS=str(tmp_path))
    yield server
    server.close()


def session(server: RealServer, cookies: str, resume: str = "", **headers: str) -> str:
    """The ID of the session that a page with these cookies gets; it asks to go on with the session `resume`."""
    with Page(server, cookies, resume, **headers) as page:
        return page.id


@pytest.mark.slow
def test_a_session_is_resumed_by_its_own_browser_only(server):
    ada, bob = server.new_browser(), server.new_browser()
    own = session(server, ada)
    time.sleep(0.5)  # it is disconnected, and waits for her
    stolen = session(server, bob, own)
    forged = session(server, bob, own, **{PERSON_HEADER: "browser:0123456789ab"})
    assert own not in (stolen, forged)
    assert session(server, ada, own) == own
