"""Streamlit's upload route: files come to own pages that ask for them only, within limits, and do not stay."""

import re
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from dmlviz_app.people.people import MB
from dmlviz_app.server import pending_uploads
from dmlviz_app.server.pending_uploads import SWEEP_S, UNCLAIMED_S, PendingUploads
from dmlviz_app.server.services import SOLE

from tests.app.people.real_server import HEAD, SERVE, Page, RealServer
from tests.waiting import until

pytestmark = pytest.mark.slow  # a real server

ROOM = 15  # MB by which the memory of a server differs from one moment to another


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """The file with roles and limits; read anew after each change."""
    return tmp_path_factory.mktemp("people") / "people.toml"


@pytest.fixture(scope="module")
def running(people, tmp_path_factory) -> Iterator[RealServer]:
    people.write_text("")
    folder = tmp_path_factory.mktemp("served")
    options = ["--runs", str(folder / "runs"), "--data", str(folder / "data"), "--people", str(people)]
    server = RealServer([SERVE, "serve", "--port", "0", "--no-browser", *options])
    yield server
    server.close()


@pytest.fixture
def server(running, people) -> RealServer:
    people.write_text("[limits.member]\nupload_mb = 70\n[limits.guest]\nupload_mb = 2")
    return running


@pytest.fixture
def page(server) -> Iterator[Page]:
    with Page(server, server.new_browser()) as page:
        yield page


def settled(server: RealServer) -> float:
    """The memory of the server, in MB, when the pages of the test before are gone."""
    last, now = 0.0, server.megabytes
    while abs(now - last) > 1:
        time.sleep(1.2 * SWEEP_S)
        last, now = now, server.megabytes
    return now


def statuses(page: Page, number: int, size: int = 1000, name: str = "file") -> list[int]:
    return [page.upload(size, file=f"{name}{i}").status for i in range(number)]


def test_twelve_files_for_a_page_that_asks_for_none_take_no_memory(server, page):
    before = settled(server)
    assert statuses(page, 12, 60 * MB) == [403] * 12
    assert server.megabytes < before + ROOM  # before the route was guarded: 705 MB more


def test_a_page_takes_few_files_and_a_person_few_more(server, page):
    page.show_uploader()
    assert statuses(page, 6) == [204] * 4 + [429] * 2
    with Page(server, page.cookies) as second, Page(server, page.cookies) as third:
        second.show_uploader()
        third.show_uploader()
        assert statuses(second, 5) == [204] * 4 + [429]
        assert statuses(third, 1) == [429]
        with Page(server, server.new_browser()) as other:
            other.show_uploader()
            assert statuses(other, 1) == [204]


def test_the_sum_of_the_files_that_wait_is_limited(server, page):
    page.show_uploader()
    before = settled(server)
    assert statuses(page, 3, 60 * MB) == [204, 413, 413]
    with Page(server, page.cookies) as second, Page(server, page.cookies) as third:
        second.show_uploader()
        third.show_uploader()
        assert statuses(second, 2, 60 * MB) == [204, 413]
        assert statuses(third, 1, 60 * MB) == [413]
    until(lambda: server.megabytes < before + 60 + ROOM, 30, "the file of the closed page stays")


def test_a_guest_may_let_less_wait_than_a_member(server, page, people):
    people.write_text(people.read_text() + '\n[default]\nbrowser = "guest"')
    page.show_uploader()
    assert statuses(page, 3) == [204, 204, 429]
    assert page.delete(file="file0").status == 204
    assert page.upload(4 * MB, file="large").status == 413


def test_nobody_may_upload_nothing(page, people):
    page.show_uploader()
    people.write_text('[default]\nbrowser = "nobody"')
    assert page.upload(2 * MB).status == 413


def test_a_file_on_its_way_counts(server, page):
    page.show_uploader()
    (token,) = re.findall("_streamlit_xsrf=([^;]+)", page.cookies)
    head = f"PUT /_stcore/upload_file/{page.id}/slow HTTP/1.1\r\nHost: {server.address}\r\nCookie: {page.cookies}\r\n"
    head += f"X-Xsrftoken: {token}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(f"{head}Content-Length: {60 * MB}\r\n\r\n".encode() + HEAD)
        time.sleep(0.3)  # it has come to the server
        assert page.upload(60 * MB, file="quick").status == 413
        assert page.delete(file="slow").status == 404, "it goes on to count until it has come or failed"
        assert page.upload(60 * MB, file="again").status == 413
    until(lambda: page.upload(60 * MB, file="later").status == 204, 10, "one that broke off still counts")


def test_a_file_goes_with_the_widget_that_took_it(server, page):
    before = settled(server)
    widget = page.show_uploader()
    assert page.upload(60 * MB).status == 204
    assert server.megabytes > before + 55
    page.rerun(**{widget: ("file_uploader_state_value", "a")})  # the dialog reads it, and goes on
    until(lambda: server.megabytes < before + ROOM, 30, "it stays")


def test_files_go_with_the_page(server):
    before = settled(server)
    with Page(server, server.new_browser()) as page:
        page.show_uploader()
        assert page.upload(60 * MB).status == 204
    took = until(lambda: server.megabytes < before + ROOM, 30, "it stays")
    assert took < 10  # Streamlit itself keeps it for two minutes


def test_only_a_page_s_own_person_sends_files_to_it_or_deletes_them(server, page):
    page.show_uploader()
    stranger, nobody = server.new_browser(), page.cookies.partition("_streamlit_xsrf")[2]
    for cookies in (stranger, f"_streamlit_xsrf{nobody}"):
        assert page.upload(100, cookies=cookies).status == 403
    assert page.upload(100).status == 204
    for cookies in (stranger, f"_streamlit_xsrf{nobody}"):
        assert page.delete(cookies=cookies).status == 403
    assert page.delete(session="0" * 36, file="0" * 36).status == 403
    assert page.delete(file="0" * 36).status == 404
    assert page.delete().status == 204
    assert page.delete().status == 404


def test_a_page_of_another_site_sends_no_file(page):
    page.show_uploader()
    assert page.upload(100, Origin="http://localhost:3000").status == 403


def test_a_file_comes_with_its_length(page):
    page.show_uploader()
    assert page.upload(100, chunked=True).status == 411


def test_a_file_that_no_widget_claims_goes_after_a_minute(monkeypatch):
    """The time is passed, and Streamlit's part is played: nobody waits a minute for a test."""
    now, removed = [0.0], []
    manager = SimpleNamespace(remove_file=lambda session, file: removed.append(file))
    monkeypatch.setattr(pending_uploads.runtime, "get_instance", lambda: SimpleNamespace(uploaded_file_mgr=manager))
    monkeypatch.setattr(pending_uploads, "check_page", lambda person, session: None)
    monkeypatch.setattr(pending_uploads, "widget_files", lambda session: {"claimed"})
    pending = PendingUploads(lambda: now[0])
    pending._is_watching = True
    for file in ("claimed", "stray", "slow"):
        pending.begin(replace(SOLE, id="a"), "page", file, 100)
    pending.end("page", "claimed", is_kept=True)
    pending.end("page", "stray", is_kept=True)
    now[0] = 10 * UNCLAIMED_S
    pending.sweep()
    assert removed == [], "the browser says whose they are when all have come"
    pending.end("page", "slow", is_kept=True)
    now[0] += UNCLAIMED_S - 1
    pending.sweep()
    assert removed == []
    now[0] += 1
    pending.sweep()
    assert removed == ["stray", "slow"]
