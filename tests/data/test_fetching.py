"""What a download promises: checked, whole or not at all, and a sentence when it fails. Against a real local server."""

import gzip
import hashlib
import http.server
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmlviz.data import fetch as fetch_dataset
from dmlviz.data import fetching, load
from dmlviz.data.fetching import SOURCES, Remote, Source, fetch
from dmlviz.errors import DataUnavailable

CONTENT = bytes(range(256)) * 1000
PACKED = gzip.compress(CONTENT, mtime=0)


class Mirror(http.server.ThreadingHTTPServer):
    """Serves `files` by path; a value may be bytes or "drip", "hang"."""

    daemon_threads = True

    def __init__(self) -> None:
        self.files: dict[str, bytes | str] = {}
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404)
        elif isinstance(content, bytes):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        elif content == "hang":
            time.sleep(3)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def source(*mirrors: str, size: int = len(PACKED), md5: str | None = None) -> Source:
    checksum = md5 or hashlib.md5(PACKED).hexdigest()
    return Source("X/raw", mirrors, {"file": Remote(checksum, size), "other": Remote(checksum, size)})


def dead_url() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def test_a_file_arrives_unpacked_with_progress_to_the_last_byte(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"file.gz": PACKED, "other.gz": PACKED}
    heard: list[tuple[int, int]] = []
    fetch(source(mirror.url), tmp_path / "raw", ["file", "other"], lambda done, total: heard.append((done, total)))
    assert (tmp_path / "raw" / "file").read_bytes() == CONTENT
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["file", "other"]
    done = [item[0] for item in heard]
    assert done == sorted(done)
    assert heard[-1] == (2 * len(PACKED), 2 * len(PACKED))


def test_the_next_mirror_answers_when_one_is_down_or_wrong(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"bad/file.gz": b"tampered", "good/file.gz": PACKED}
    fetch(source(dead_url(), f"{mirror.url}bad/", f"{mirror.url}good/"), tmp_path, ["file"])
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (PACKED[:-10], "the checksum is wrong"),
        (PACKED[:-10] + b"0123456789", "the checksum is wrong"),
        (PACKED + b"more", "larger than"),
        (None, "Not Found"),
    ],
)
def test_a_wrong_file_leaves_nothing_behind(mirror: Mirror, tmp_path: Path, content: bytes | None, says: str) -> None:
    if content is not None:
        mirror.files = {"file.gz": content}
    with pytest.raises(DataUnavailable, match=says) as caught:
        fetch(source(mirror.url), tmp_path, ["file"])
    assert "127.0.0.1" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_silent_mirror_is_given_up(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"file.gz": "hang"}
    start = time.monotonic()
    with pytest.raises(DataUnavailable, match="timed out"):
        fetch(source(mirror.url), tmp_path, ["file"], timeout=0.2)
    assert time.monotonic() - start < 2


def test_no_network_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="Connection refused") as caught:
        fetch(source(dead_url()), tmp_path, ["file"])
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written_is_one_sentence(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"file.gz": PACKED}
    (tmp_path / "occupied").write_text("a file where a folder should be")
    with pytest.raises(DataUnavailable, match=r"cannot be written .*: choose another folder with --data"):
        fetch(source(mirror.url), tmp_path / "occupied" / "raw", ["file"])


def test_an_offline_machine_is_told_what_it_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    offline = Source("MNIST/raw", (dead_url(),), SOURCES["mnist"].files)
    monkeypatch.setitem(fetching.SOURCES, "mnist", offline)
    with pytest.raises(DataUnavailable, match=r"^MNIST is not on disk\. .*Available now: digits\.$"):
        load("mnist", tmp_path)


def test_only_what_is_missing_is_fetched(monkeypatch: pytest.MonkeyPatch, mirror: Mirror, tmp_path: Path) -> None:
    monkeypatch.setitem(fetching.SOURCES, "mnist", source(mirror.url))
    mirror.files = {"file.gz": PACKED, "other.gz": PACKED}
    (tmp_path / "X" / "raw").mkdir(parents=True)
    (tmp_path / "X" / "raw" / "file").write_bytes(CONTENT)
    fetch_dataset("mnist", tmp_path)
    assert mirror.asked == ["/other.gz"]
    fetch_dataset("mnist", tmp_path)
    assert mirror.asked == ["/other.gz"]


def test_checksums_are_torchvisions() -> None:
    from importlib.util import find_spec

    found = find_spec("torchvision")
    assert found is not None
    assert found.origin is not None
    text = (Path(found.origin).parent / "datasets" / "mnist.py").read_text()
    for known in SOURCES.values():
        for name, remote in known.files.items():
            assert f'("{name}.gz", "{remote.md5}")' in text
