"""The code of an entry executed line by line with eight images, by a worker: what each line makes.

Only code that comes with the program is executed, never what a visitor sends.
"""

import ast
import base64
import sys
from collections.abc import Callable, Iterator
from inspect import isgenerator, signature
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from PIL import Image

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import load
from dmlviz.lessons.examples import declared, example
from dmlviz.lessons.steps import CodeStep, CodeSteps, CodeValue
from dmlviz.runs.run import Run

IMAGES, MOST = 8, 28  # images of the batch, and rows and columns of a matrix that are shown
_FILE = "<code on the page>"


def answer(data_root: Path | None, kind: str, name: str, run: str, step: int) -> CodeSteps:
    """Execute the code of an entry with eight images of a run, or of the digits where `run` is empty."""
    batch = _of_run(Run(run), data_root) if run else _of_digits(data_root)
    if kind == "net" and not len(batch["images"]):  # of a run of vectors
        batch = _of_digits(data_root)
    steps = trace(example(kind, name).code, name, lambda entry: _call(kind, name, entry, batch))
    names = [batch["classes"][label] for label in batch["given"]]
    return {
        "title": batch["title"],
        "images": [_png(image) for image in batch["images"]],
        "labels": names,
        "steps": steps,
    }


def trace(code: str, name: str, call: Callable[[Any], Any]) -> list[CodeStep]:
    """Return what each line of `name` makes: of a line that runs several times, the first time, and how often it runs.

    `call` gets the function or class and calls it.
    """
    space: dict[str, Any] = {}
    exec(compile(code, _FILE, "exec"), space)
    entry = space[name]
    target = getattr(entry, "forward", entry).__code__
    first_lines, assigned = _statements(code)
    steps: dict[int, CodeStep] = {}
    before: dict[str, tuple[Any, Any]] = {}
    current = 0

    def finish(frame: FrameType) -> None:
        """Note what the line has changed that was executed last."""
        now = {key: value for key, value in frame.f_locals.items() if key in assigned}
        if current and steps[current]["times"] == 1:
            changed = {key: value for key, value in now.items() if key not in before or _differs(value, *before[key])}
            steps[current]["values"] += [part for key, value in changed.items() for part in _values(key, value)]
        before.update({key: (value, _content(value)) for key, value in now.items()})

    def local(frame: FrameType, event: str, result: Any) -> Any:
        nonlocal current
        finish(frame)
        if event == "line" and (line := first_lines.get(frame.f_lineno, 0)) and line != current:
            current = line
            steps.setdefault(line, {"line": line, "times": 0, "values": []})["times"] += 1
        if event == "return" and result is not None and current:
            steps[current]["values"] += _values("result", result)
        return local

    def start(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not target:
            return None
        if not before:
            before.update({key: (value, _content(value)) for key, value in frame.f_locals.items()})
        return local

    outer = sys.gettrace()
    sys.settrace(start)
    try:
        result = call(entry)
        if isgenerator(result):
            next(result)
    finally:
        sys.settrace(outer)
    return [*steps.values()]


def _statements(code: str) -> tuple[dict[int, int], set[str]]:
    """Return the first line of the statement that each line belongs to, and the names that statements assign."""
    lines: dict[int, int] = {}
    assigned: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            body: list[ast.stmt] = getattr(node, "body", [])
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            lines |= dict.fromkeys(range(node.lineno, end + 1), node.lineno)
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            assigned |= {
                name.id
                for target in targets
                if target is not None
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            }
    return lines, assigned


def _differs(value: Any, former: Any, content: Any) -> bool:
    """Return whether a variable is another object, or has changed."""
    return value is not former or _content(value) != content


def _content(value: Any) -> Any:
    """Return what changes with a list or an array that is changed in place."""
    if isinstance(value, list):
        return len(value)
    return np.asarray(value.detach() if hasattr(value, "detach") else value).tobytes() if _is_array(value) else None


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _values(name: str, value: Any) -> Iterator[CodeValue]:
    """Yield an array or a number to be shown; the parts of several; nothing for what cannot be shown."""
    if isinstance(value, bool | int | float | np.generic):
        value = np.asarray(value)
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if isinstance(value, list | tuple):
        if value and all(isinstance(part, bool | int | float | np.generic) for part in value):
            value = np.asarray(value)
        else:
            for i, part in enumerate(value[:4]):
                yield from _values(f"{name}[{i}]", part)
            return
    if isinstance(value, np.ndarray) and value.dtype != object:
        shape, shown = [*value.shape], value
        while shown.ndim > 2 and len(shown):
            shown, name = shown[0], f"{name}[0]"
        rows = np.atleast_2d(shown)[:MOST, :MOST]
        kind = {"b": "mask", "i": "whole", "u": "whole"}.get(value.dtype.kind, "number")
        yield {"name": name, "shape": shape, "kind": kind, "rows": [[_number(cell) for cell in row] for row in rows]}


def _number(cell: Any) -> float | str:
    return float(f"{cell:.4g}") if np.isfinite(cell) else {"inf": "∞", "-inf": "−∞"}.get(str(cell), "–")


def _of_run(run: Run, data_root: Path | None) -> dict[str, Any]:
    """Return eight images that a run shows, with their embeddings of its last step."""
    x, y = run.embeddings_at(run.embedded_steps[-1]) if run.embedded_steps else run.embeddings_at(None)
    spec = DATASETS[run.config.dataset]
    rows = _chosen(y)
    indices = run.tracked_indices
    assert indices is not None  # it has embeddings
    images = load(run.config.dataset, data_root).test.images if spec.trainable else None
    return {
        "title": f"{run.title}, step {run.embedded_steps[-1]:,}" if run.embedded_steps else run.title,
        "x": x[rows].astype(np.float64),
        "given": y[rows],
        "others": (x[_chosen(y, 1)].astype(np.float64), y[_chosen(y, 1)]),
        "classes": spec.classes,
        "images": [] if images is None else images[indices[rows]],
    }


def _of_digits(data_root: Path | None) -> dict[str, Any]:
    """Return eight digits, with their pixels, centered and of length 1, as embeddings."""
    test = load("digits", data_root).test
    pixels = test.images.reshape(len(test.images), -1).astype(np.float64)
    pixels -= pixels.mean(axis=0)
    x = pixels / np.linalg.norm(pixels, axis=1, keepdims=True)
    rows, more = _chosen(test.labels), _chosen(test.labels, 1)
    return {
        "title": "Eight digits; x: their pixels less the mean, of length 1",
        "x": x[rows],
        "given": test.labels[rows],
        "others": (x[more], test.labels[more]),
        "classes": DATASETS["digits"].classes,
        "images": test.images[rows],
    }


def _chosen(y: np.ndarray, turn: int = 0) -> np.ndarray:
    """Return eight rows, three of a class where it has so many; with a `turn`, the next ones."""
    rows: list[int] = []
    for label in np.unique(y[y >= 0]):
        own = np.flatnonzero(y == label)[3 * turn :][: min(3, IMAGES - len(rows))]
        rows += own.tolist()
    return np.array(rows[:IMAGES], dtype=np.int64)


def _call(kind: str, name: str, entry: Any, batch: dict[str, Any]) -> Any:
    """Call an entry with what it asks for."""
    import torch

    torch.manual_seed(0)
    x, y = batch["x"], np.unique(batch["given"], return_inverse=True)[1]
    chosen = declared(kind, name).get("eight", {})
    if kind == "net":
        images = np.stack([_resized(image) for image in batch["images"]]).astype(np.float32)
        return entry().eval()(torch.from_numpy(images)[:, None] / 255)
    i, j = np.triu_indices(len(x), 1)
    given: dict[str, Any] = {
        "x": x, "y": y, "rng": np.random.default_rng(0), "P": 2, "K": 2, "batch_size": 4, "pairs": 2, "triplets": 2,
        "d": np.linalg.norm(x[i] - x[j], axis=1), "same": y[i] == y[j],
        "train_x": batch["others"][0], "train_y": np.unique(batch["others"][1], return_inverse=True)[1],
    }  # fmt: skip
    centers = np.stack([x[y == label].mean(axis=0) for label in np.unique(y)])
    given["distances"] = np.linalg.norm(centers[:, None] - centers, axis=2)
    if kind in ("loss", "miner"):
        given = {"x": torch.from_numpy(x).float(), "y": torch.from_numpy(y)}
    if kind == "loss":
        from dmlviz.losses import build

        sizes = {"embedding_dim": x.shape[1], "num_classes": int(y.max()) + 1}
        given |= {key: value.detach() for key, value in build(name, **sizes, **chosen).named_parameters()}
    if kind == "metric":
        from dmlviz.metrics.clustering import k_means

        given |= {"weight": centers, "bias": np.zeros(len(centers)), "clusters": k_means(x, len(centers))}
    given |= chosen
    return entry(**{key: given[key] for key in signature(entry).parameters if key in given})


def _resized(image: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(image).convert("L").resize((28, 28)))


def _png(image: np.ndarray) -> str:
    """Return an image as the address of its data."""
    file = BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
