"""Serves the built map without Streamlit, on made-up training runs: `python tests/browser/harness/serve.py [port]`.

Open http://127.0.0.1:PORT/?n=2000&live=1&dark=1 (see map.html for all options). MNIST's test images are used when
DMLVIZ_DATA is set; otherwise the pictures are scikit-learn's digits, repeated.
"""

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
BUILT = HERE.parents[2] / "dmlviz" / "_frontend"
STEPS = 600
ITERATIONS = 20
LOCK = threading.Lock()
WATCHED = 2000


@cache
def images_and_labels() -> tuple[np.ndarray, np.ndarray]:
    """Pictures (n × h × w, uint8) and labels."""
    raw = Path(os.environ.get("DMLVIZ_DATA", ".")) / "MNIST" / "raw"
    if (raw / "t10k-images-idx3-ubyte").exists():
        images = np.fromfile(raw / "t10k-images-idx3-ubyte", np.uint8)[16:].reshape(-1, 28, 28)
        return images, np.fromfile(raw / "t10k-labels-idx1-ubyte", np.uint8)[8:].astype(np.int64)
    from sklearn.datasets import load_digits

    digits = load_digits()
    pictures = (digits.images * 255 / 16).astype(np.uint8)
    times = -(-10_000 // len(pictures))
    return np.tile(pictures, (times, 1, 1))[:10_000], np.tile(digits.target, times)[:10_000].astype(np.int64)


@cache
def _items(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels' first components, positions within the own class, labels, for n items (repeated when there are fewer)."""
    images, labels = images_and_labels()
    flat = images.reshape(len(images), -1).astype(np.float32) / 255
    flat -= flat.mean(0)
    low = flat[:, ::3] @ np.linalg.eigh(flat[:1500, ::3].T @ flat[:1500, ::3])[1][:, :-5:-1] * 1.7
    index = np.arange(n) % len(labels)
    noise = np.random.default_rng(0).normal(0, 0.06, (n, 4)).astype(np.float32)
    return low[index][:, :2] / 6 + noise[:, :2], low[index][:, 2:4] / 22 + noise[:, 2:4], labels[index]


def items(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `_items`, computed once however many requests ask at the same time."""
    with LOCK:
        return _items(n)


@cache
def tracked(n: int) -> np.ndarray:
    """The items that are shown while training."""
    return np.sort(np.random.default_rng(1).permutation(n)[:WATCHED]).astype(np.int32)


def positions(n: int, step: int) -> np.ndarray:
    """Where the items are after so many steps (n × 2): from the pixels' components to ten clusters."""
    start, within, labels = items(n)
    rng = np.random.default_rng(2)
    strayed = np.where(rng.random(n) < 0.02, rng.integers(0, 10, n), labels)
    order = rng.permutation(10)
    angle = 2 * np.pi * order[strayed] / 10 + 0.5
    radius = np.where(order[strayed] % 2 == 0, 1.0, 0.8)
    center = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    speed = rng.uniform(0.7, 1.3, n)[:, None]
    share = 1 - np.exp(-6 * speed * step / STEPS)
    wobble = 0.05 * np.sin(step / 37 + labels)[:, None] * share
    return (start * (1 - share) * 0.8 + (center + within) * share + wobble).astype(np.float32)


def frame(n: int, step: int, everything: bool) -> tuple[dict, bytes]:
    """A frame's entry in an event, and its bytes."""
    xy = positions(n, step)
    if step > STEPS:  # a projection's iterations, in units that grow as those of t-SNE do
        share = (step - STEPS) / ITERATIONS
        turned = positions(n, round(STEPS * share)) @ np.array([[0.6, 0.8], [-0.8, 0.6]], np.float32)
        xy = turned * np.float32(1e-4 * 5e5**share)
    elif not everything and n > WATCHED:
        xy = xy[tracked(n)]
    center, scale = [0.0, 0.0], float(np.abs(xy).max() * 1.01)
    quantized = np.round(xy / scale * 32767).astype("<i2")
    kind = "all" if len(xy) == n else "tracked"
    identity = f"{n:08x}{step:06x}{int(everything):02x}"
    meta = {"id": identity, "n": len(xy), "dims": 2, "center": center, "scale": scale, "items": kind}
    return meta, quantized.tobytes()


def projection_events(n: int):
    """A projection's events with the seconds to wait before each."""
    yield 0.0, {"event": "started", "method": "tsne", "iterations": ITERATIONS}
    for iteration in range(1, ITERATIONS + 1):
        described = frame(n, STEPS + iteration, True)[0]
        yield 0.3, {"event": "frame", "iteration": iteration, "of": ITERATIONS, "frame": described}
    yield 0.0, {"event": "finished", "frame": described, "seconds": 6.0, "faithfulness": {}}


def snapshot_steps() -> list[int]:
    """Denser at the start, as in a real run."""
    return sorted({round(STEPS * (i / 50) ** 1.6) for i in range(51)})


def events(n: int):
    """A whole run's events with the seconds to wait before each."""
    yield 0.0, {"event": "started", "steps": STEPS, "test_images": n, "train_images": 60000, "view": "plane", "dims": 2}
    before = 0
    for step in snapshot_steps():
        for between in range(before + 1, step + 1, 3):
            yield 0.0, {"event": "step", "step": between, "loss": 1 / (1 + between / 60), "active": 0.5}
        before = step
        yield 0.32, {"event": "snapshot", "step": step, "frame": frame(n, step, False)[0], "metrics": {}}
    replay = [{"step": step, **frame(n, step, step == STEPS)[0]} for step in snapshot_steps()]
    yield 0.3, {"event": "replay", "view": "plane", "basis": "last", "explained": [], "frames": replay}
    yield 0.0, {"event": "finished", "step": STEPS, "metrics": {}, "seconds": 12.0, "reason": ""}


def page() -> bytes:
    """The page that mounts the map, as it was last built."""
    (entry,) = BUILT.glob("workbench-*.js")
    return (HERE / "map.html").read_text().replace("WORKBENCH", f"/components/dmlviz.workbench/{entry.name}").encode()


class Handler(BaseHTTPRequestHandler):
    """The built page, and the routes that the map asks."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer one request."""
        url = urlparse(self.path)
        parts = [part for part in url.path.split("/") if part]
        if not parts:
            return self.answer(page(), "text/html")
        if parts[0] == "components":
            return self.file(BUILT / parts[-1])
        if parts[:2] == ["dmlviz", "health"]:
            return self.answer(b'{"ok": true}', "application/json")
        if parts[:2] == ["dmlviz", "runs"] and parts[-1] == "events":
            source = projection_events if "projections" in parts else events
            return self.events(source, parts[2], float(parse_qs(url.query).get("pace", ["0"])[0]))
        if parts[:2] == ["dmlviz", "frames"]:
            identity = parts[-1].removesuffix(".i16")
            n, step, everything = int(identity[:8], 16), int(identity[8:14], 16), identity[14:] == "01"
            return self.answer(frame(n, step, everything)[1], "application/octet-stream")
        if parts[:2] == ["dmlviz", "data"]:
            return self.data(int(parts[2]), parts[3])
        self.send_error(404)

    def data(self, n: int, name: str) -> None:
        if name == "labels.u16":
            return self.answer(items(n)[2].astype("<u2").tobytes(), "application/octet-stream")
        if name == "tracked_items.json":
            return self.answer(json.dumps({"tracked": tracked(n).tolist()}).encode(), "application/json")
        if name == "nearest":
            xy, labels = positions(n, STEPS), items(n)[2]
            near = np.empty(n, "<i4")
            for start in range(0, n, 500):
                d = ((xy[start : start + 500, None] - xy[None, :10_000]) ** 2).sum(-1)
                d[np.arange(len(d)), np.minimum(np.arange(start, start + len(d)), d.shape[1] - 1)] = np.inf
                near[start : start + 500] = d.argmin(1)
            far = np.linalg.norm(xy - xy[near], axis=1).astype("<f4")
            assert len(labels) == n
            return self.answer(near.tobytes() + far.tobytes(), "application/octet-stream")
        images = images_and_labels()[0][:n]
        tile, rows = images.shape[1], -(-len(images) // 100)
        sheet = np.zeros((rows * 100, tile, tile), np.uint8)
        sheet[: len(images)] = images
        picture = sheet.reshape(rows, 100, tile, tile).swapaxes(1, 2).reshape(rows * tile, 100 * tile)
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, "PNG")
        return self.answer(buffer.getvalue(), "image/png")

    def events(self, source: Callable, run: str, pace: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        after = int(self.headers.get("Last-Event-ID") or -1)
        try:
            for line, (wait, event) in enumerate(source(int(run.removeprefix("run")))):
                if line <= after:
                    continue
                time.sleep(wait * pace)
                self.wfile.write(f"id: {line}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
            self.wfile.write(b'data: {"event": "end", "state": "finished"}\n\n')
        except (BrokenPipeError, ConnectionResetError):
            return

    def file(self, path: Path) -> None:
        if not path.resolve().is_relative_to(BUILT) or not path.is_file():
            return self.send_error(404)
        return self.answer(path.read_bytes(), "text/javascript")

    def answer(self, body: bytes, kind: str, cached: bool = True) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600" if cached else "no-store")
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """Does not mind pages that are closed in the middle of an answer."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report all but broken connections."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def serve(port: int = 0) -> Server:
    """A server ready to `serve_forever`; port 0 takes a free one."""
    return Server(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    server = serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8765)
    print(f"http://127.0.0.1:{server.server_address[1]}/?n=10000&live=1")
    server.serve_forever()
