"""Downloads: checksums, atomic files, one clear error message. Against a real local server."""

import gzip
import hashlib
import http.server
import io
import socket
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dmlviz.catalog.dataset_sources import SOURCES, DatasetSource, RemoteFile
from dmlviz.data import download_dataset as fetch_dataset
from dmlviz.data import load
from dmlviz.data.download import download_dataset
from dmlviz.errors import DataUnavailableError

CONTENT = bytes(range(256)) * 1000
PACKED = gzip.compress(CONTENT, mtime=0)


class Mirror(http.server.ThreadingHTTPServer):
    """Serves `files` by path; a value may be bytes, or "hang", or "cut": half of what was announced."""

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
        elif isinstance(content, bytes) or content == "cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(PACKED if content == "cut" else content)))
            self.end_headers()
            self.wfile.write(PACKED[: len(PACKED) // 2] if content == "cut" else content)
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


def source(*mirrors: str, size: int = len(PACKED), md5: str | None = None) -> DatasetSource:
    checksum = md5 or hashlib.md5(PACKED).hexdigest()
    return DatasetSource("X/raw", mirrors, {"file": RemoteFile(checksum, size), "other": RemoteFile(checksum, size)})


def dead_url() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def test_a_file_arrives_unpacked_with_progress_to_the_last_byte(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"file.gz": PACKED, "other.gz": PACKED}
    heard: list[tuple[int, int]] = []
    download_dataset(
        source(mirror.url), tmp_path / "raw", ["file", "other"], lambda done, total: heard.append((done, total))
    )
    assert (tmp_path / "raw" / "file").read_bytes() == CONTENT
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["file", "other"]
    done = [item[0] for item in heard]
    assert done == sorted(done)
    assert heard[-1] == (2 * len(PACKED), 2 * len(PACKED))


def test_the_next_mirror_answers_when_one_is_down_or_wrong(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"bad/file.gz": b"tampered", "good/file.gz": PACKED}
    download_dataset(source(dead_url(), f"{mirror.url}bad/", f"{mirror.url}good/"), tmp_path, ["file"])
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (PACKED[:-10], "the checksum is wrong"),
        (PACKED[:-10] + b"0123456789", "the checksum is wrong"),
        (PACKED + b"more", "larger than"),
        ("cut", "the checksum is wrong"),
        (None, "Not Found"),
    ],
)
def test_a_wrong_file_leaves_nothing_behind(
    mirror: Mirror, tmp_path: Path, content: bytes | str | None, says: str
) -> None:
    if content is not None:
        mirror.files = {"file.gz": content}
    with pytest.raises(DataUnavailableError, match=says) as caught:
        download_dataset(source(mirror.url), tmp_path, ["file"])
    assert "127.0.0.1" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_silent_mirror_times_out(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"file.gz": "hang"}
    with pytest.raises(DataUnavailableError, match="timed out"):
        download_dataset(source(mirror.url), tmp_path, ["file"], timeout=0.2)


def test_no_network_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError, match="Connection refused") as caught:
        download_dataset(source(dead_url()), tmp_path, ["file"])
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written_is_one_sentence(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"file.gz": PACKED}
    (tmp_path / "occupied").write_text("a file where a folder should be")
    with pytest.raises(DataUnavailableError, match=r"cannot be written .*: choose another folder with --data"):
        download_dataset(source(mirror.url), tmp_path / "occupied" / "raw", ["file"])


def test_an_offline_error_lists_the_available_data_sets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    offline = DatasetSource("MNIST/raw", (dead_url(),), SOURCES["mnist"].files)
    monkeypatch.setitem(SOURCES, "mnist", offline)
    says = r"^MNIST is not on disk\. .*MNIST/raw: train-images-idx3-ubyte, .*\.idx3-ubyte, or the npz file .*: digits, "
    with pytest.raises(DataUnavailableError, match=says):
        load("mnist", tmp_path)


def test_only_missing_files_are_downloaded(monkeypatch: pytest.MonkeyPatch, mirror: Mirror, tmp_path: Path) -> None:
    monkeypatch.setitem(SOURCES, "mnist", source(mirror.url))
    mirror.files = {"file.gz": PACKED, "other.gz": PACKED}
    (tmp_path / "X" / "raw").mkdir(parents=True)
    (tmp_path / "X" / "raw" / "file").write_bytes(CONTENT)
    fetch_dataset("mnist", tmp_path)
    assert mirror.asked == ["/other.gz"]
    fetch_dataset("mnist", tmp_path)
    assert mirror.asked == ["/other.gz"]


def test_checksums_equal_torchvisions() -> None:
    from importlib.util import find_spec

    found = find_spec("torchvision")
    assert found is not None
    assert found.origin is not None
    text = (Path(found.origin).parent / "datasets" / "mnist.py").read_text()
    for known in SOURCES.values():
        if known.archive is not None:
            name, remote = known.archive
            assert any(f'url = "{mirror}{name}"' in text for mirror in known.mirrors)
            assert f'md5 = "{remote.md5}"' in text
            continue
        assert all(f'"{name}.gz", "{remote.md5}")' in text for name, remote in known.files.items())
        assert any(mirror in text for mirror in known.mirrors)


def idx_bytes(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype(np.uint8).tobytes()


def letters() -> dict[str, np.ndarray]:
    """Files as EMNIST's: labels from 1, every image with its rows and columns exchanged."""
    rng = np.random.default_rng(0)
    files = {}
    for part, count in (("train", 52), ("test", 26)):
        files[f"emnist-letters-{part}-images-idx3-ubyte"] = rng.integers(0, 256, (count, 28, 28))
        files[f"emnist-letters-{part}-labels-idx1-ubyte"] = np.arange(count) % 26 + 1
    return files


def zipped(files: dict[str, np.ndarray]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, array in files.items():
            archive.writestr(f"gzip/{name}.gz", gzip.compress(idx_bytes(array), mtime=0))
        archive.writestr("gzip/emnist-balanced-mapping.txt", "not wanted")
    return packed.getvalue()


def from_here(mirror: Mirror, name: str, archive: bytes) -> DatasetSource:
    there = SOURCES[name]
    mirror.files = {"gzip.zip": archive}
    remote = RemoteFile(hashlib.md5(archive).hexdigest(), round(len(archive) * 0.9), is_approximate=True)
    return DatasetSource(there.folder, (mirror.url,), there.files, ("gzip.zip", remote), there.parts)


def test_emnist_letters_are_unpacked_upright_with_labels_from_0(
    monkeypatch: pytest.MonkeyPatch, mirror: Mirror, tmp_path: Path
) -> None:
    files = letters()
    monkeypatch.setitem(SOURCES, "emnist_letters", from_here(mirror, "emnist_letters", zipped(files)))
    heard: list[tuple[int, int]] = []
    found = load("emnist_letters", tmp_path, lambda done, total: heard.append((done, total)))
    assert np.array_equal(found.train.images[3], files["emnist-letters-train-images-idx3-ubyte"][3].T)
    assert np.array_equal(np.unique(found.test.labels), np.arange(26))
    assert found.classes[found.test.labels[2]] == "C"
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert heard[-1][0] == heard[-1][1]
    assert sorted(path.name for path in (tmp_path / "EMNIST" / "raw").iterdir()) == sorted(files), "and nothing else"


@pytest.mark.parametrize("archive", [b"no zip at all", zipped({"another": np.zeros(3)})])
def test_an_archive_without_the_expected_files_is_one_sentence(mirror: Mirror, tmp_path: Path, archive: bytes) -> None:
    wanted = from_here(mirror, "emnist_letters", archive)
    with pytest.raises(DataUnavailableError, match=r"gzip\.zip has the right checksum but not the expected files"):
        download_dataset(wanted, tmp_path, ["emnist-letters-train-labels-idx1-ubyte"])
    assert list(tmp_path.iterdir()) == []


def test_kmnist_is_downloaded_by_the_names_of_its_server(
    monkeypatch: pytest.MonkeyPatch, mirror: Mirror, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    files = {}
    for part, count in (("train", 20), ("t10k", 10)):
        files[f"{part}-images-idx3-ubyte"] = rng.integers(0, 256, (count, 28, 28))
        files[f"{part}-labels-idx1-ubyte"] = np.arange(count) % 10
    packed = {name: gzip.compress(idx_bytes(array), mtime=0) for name, array in files.items()}
    remotes = {name: RemoteFile(hashlib.md5(data).hexdigest(), len(data)) for name, data in packed.items()}
    monkeypatch.setitem(SOURCES, "kmnist", DatasetSource("KMNIST/raw", (mirror.url,), remotes))
    mirror.files = {f"{name}.gz": data for name, data in packed.items()}
    found = load("kmnist", tmp_path)
    assert np.array_equal(found.test.images, files["t10k-images-idx3-ubyte"])
    assert found.classes[found.train.labels[9]] == "wo"
