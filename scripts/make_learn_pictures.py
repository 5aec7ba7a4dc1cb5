"""Writes app/dmlviz_app/learn/pictures.svg: a small drawing of each loss, miner, batch, projection, lesson and answer.

Each is what the program's own code makes of a small fixed input: a loss over the distance, a miner's choice in one
small scene, a projection of the same 500 digits. `python scripts/make_learn_pictures.py` draws all; for lessons and
answers it trains what is not in the file yet (with --anew all of them), some ten seconds each.
"""

import argparse
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import torch
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.learn.answers import ANSWERS

from dmlviz import miners
from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import load
from dmlviz.figures.palette import PALETTE
from dmlviz.labs.lab_study import ready_made, study_rows
from dmlviz.labs.registry import LABS
from dmlviz.labs.thumbnail import thumbnail
from dmlviz.lessons import LESSONS
from dmlviz.losses.sampling import forces, sample_curve
from dmlviz.miners.tuples import Pairs
from dmlviz.projection import project
from dmlviz.training import sampling
from dmlviz.training.events import Finished
from dmlviz.training.loop import train

FILE = Path(__file__).resolve().parents[1] / "app" / "dmlviz_app" / "learn" / "pictures.svg"
WIDTH, HEIGHT, BORDER = 240, 144, 12
DIGITS, DOTS = 500, 250  # of a projection, and of each of the two maps of a lesson
ANCHOR = 5  # the point of the scene whose triplets are drawn
Box = tuple[float, float, float, float]
WHOLE: Box = (BORDER, BORDER, WIDTH - BORDER, HEIGHT - BORDER)
HALVES: tuple[Box, Box] = ((8, 24, 112, 128), (128, 24, 232, 128))


def quick() -> dict[str, str]:
    """Return the symbols that take no training, by name."""
    torch.set_num_threads(1)
    return dict([*_losses(), *_miners(), *_samplers(), *_projections(), *_labs(), *_topics()])


def trained() -> dict[str, tuple[str, list[str]]]:
    """Return what is drawn of trainings, by key: the symbol's name, and the settings of each run."""
    pages = {
        f"answer-{answer.name}": [run.settings for run in answer.runs if run.page == "explore"]
        for answer in ANSWERS.values()
    }
    pages |= {f"lesson-{lesson.name}": [task.settings for task in lesson.tasks] for lesson in LESSONS.values()}
    return {key_of(name, settings): (name, settings) for name, settings in pages.items()}


def symbols(text: str) -> dict[str, str]:
    """Return the symbols of a file by the key of what they show, or else by their name."""
    found = re.findall(r'(<symbol id="([^"]+)"(?: data-of="([^"]+)")?.*?</symbol>)', text, re.DOTALL)
    return {of or name: symbol for symbol, name, of in found}


def key_of(name: str, settings: Sequence[str]) -> str:
    """Return what the maps of a lesson or an answer are known by: its first and its last run."""
    return f"{name}-{zlib.crc32('|'.join((settings[0], settings[-1])).encode()):08x}"


def write(drawn: dict[str, str]) -> str:
    """Return the file."""
    return "<svg>\n" + "\n".join(drawn.values()) + "\n</svg>\n"


def _symbol(name: str, content: str, of: str = "") -> tuple[str, str]:
    data = f' data-of="{of}"' if of else ""
    return name, f'<symbol id="{name}"{data} viewBox="0 0 {WIDTH} {HEIGHT}">{content}</symbol>'


def _line(points: np.ndarray, kind: str) -> str:
    path = "L".join(f"{x:g} {y:g}" for x, y in np.round(points))
    return f'<path class="{kind}" d="M{path}"/>'


def _fit(values: np.ndarray, low: float, high: float, start: float, end: float) -> np.ndarray:
    return start + (values - low) / max(high - low, 1e-12) * (end - start)


def _reach(places: np.ndarray) -> float:
    """Return how far points lie from their middle along an axis; 2 of 100 may lie farther."""
    return float(np.quantile(np.abs(places - np.median(places, axis=0)), 0.98))


def _dots(places: np.ndarray, labels: np.ndarray, box: Box, least: float = 0) -> str:
    """Return the points, centered in a box and as large as it, as a path for each class; no larger than by `least`."""
    middle = np.median(places, axis=0)
    reach = max(_reach(places), least)
    left, top, right, bottom = box
    scale = min(right - left, bottom - top) / 2 / max(reach, 1e-12)
    at = (places - middle) * [scale, -scale] + [(left + right) / 2, (top + bottom) / 2]
    at = np.round(np.clip(at, [left, top], [right, bottom])).astype(int)
    parts = []
    for label in np.unique(labels):
        steps = np.diff(at[labels == label], axis=0, prepend=0)
        path = "".join(f"m{x} {y}h0" for x, y in steps)
        parts.append(f'<path class="dot c{label % 10}" d="{path}"/>')
    return "".join(parts)


def _losses(names: Iterable[str] = LOSSES) -> Iterator[tuple[str, str]]:
    frame = _line(np.array([[BORDER, BORDER], [BORDER, HEIGHT - BORDER], [WIDTH - BORDER, HEIGHT - BORDER]]), "axis")
    for name in names:
        parts = LOSSES[name].parts({})
        if parts:
            each = "".join(
                f'<use href="#loss-{part}" x="{x}" y="40" width="104" height="64"/>'
                for part, x in zip((part for part, _ in parts.values()), (4, 132), strict=False)
            )
            yield _symbol(f"loss-{name}", f'{each}<path class="axis" d="M114 72h12m-6-6v12"/>')
            continue
        curve = sample_curve(name, {}, samples=48)
        sides = {side: np.array(curve[side]["loss"], float) for side in ("far", "near")}
        low, high = curve["low"], curve["high"]
        if np.nanmin([*sides.values()]) > high:  # it is never as small as the plot that a slider moves begins with
            low, high = np.nanmin([*sides.values()]), np.nanmax([*sides.values()])
        x = _fit(np.array(curve["x"]), curve["x"][0], curve["x"][-1], BORDER, WIDTH - BORDER)
        lines = ""
        for side, values in sides.items():
            y = _fit(values, low, high, HEIGHT - BORDER - 3, BORDER)
            with np.errstate(invalid="ignore"):
                inside = (y >= 0) & (y <= HEIGHT)
            lines += _line(np.column_stack([x, y])[inside], side) if inside.any() else ""
        yield _symbol(f"loss-{name}", frame + lines)


def scene() -> tuple[np.ndarray, np.ndarray]:
    """Return the points (12 × 2) and classes of the miners' scene: three classes that overlap a little."""
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(3), 4)
    centers = np.array([[-0.62, -0.1], [0.1, 0.28], [0.62, -0.22]])
    return centers[labels] + rng.normal(scale=[0.3, 0.2], size=(12, 2)), labels


def _miners() -> Iterator[tuple[str, str]]:
    points, labels = scene()
    low, high = points.min(axis=0), points.max(axis=0)
    at = np.column_stack([
        _fit(points[:, 0], low[0], high[0], BORDER + 6, WIDTH - BORDER - 6),
        _fit(points[:, 1], low[1], high[1], HEIGHT - BORDER - 6, BORDER + 6),
    ])  # fmt: skip
    for name in MINERS:
        mine = miners.build(name, seed=0)
        picked = mine(torch.from_numpy(points).float(), torch.from_numpy(labels))
        if isinstance(picked, Pairs):
            lines = {"near": [*zip(picked.a, picked.p, strict=True)], "far": [*zip(picked.b, picked.n, strict=True)]}
        else:
            of = picked.a == ANCHOR
            lines = {kind: [(ANCHOR, i) for i in ends[of]] for kind, ends in (("near", picked.p), ("far", picked.n))}
        ends = {kind: {tuple(sorted((int(i), int(j)))) for i, j in pairs} for kind, pairs in lines.items()}
        drawn = "".join(
            f'<path class="{kind} link" d="{"".join(_stroke(at, i, j) for i, j in sorted(pairs))}"/>'
            for kind, pairs in ends.items()
            if pairs
        )
        dots = "".join(
            f'<circle class="c{label}" cx="{x:.0f}" cy="{y:.0f}" r="6"/>'
            for (x, y), label in zip(at, labels, strict=True)
        )
        x, y = at[ANCHOR]
        ring = "" if isinstance(picked, Pairs) else f'<circle class="ring" cx="{x:.0f}" cy="{y:.0f}" r="10"/>'
        yield _symbol(f"miner-{name}", drawn + dots + ring)


def _stroke(at: np.ndarray, i: int, j: int) -> str:
    (x, y), (to_x, to_y) = np.round(at[[i, j]]).astype(int)
    return f"M{x} {y}L{to_x} {to_y}"


def _samplers() -> Iterator[tuple[str, str]]:
    labels, size = load("digits").train.labels, 20
    for name, spec in SAMPLERS.items():
        loss = next(loss for loss, of in LOSSES.items() if not spec.tuple_kind or spec.tuple_kind in of.tuple_kinds)
        sizes = {"batch_size": 60, "classes_per_batch": 6, "images_per_class": 10}
        config = TrainConfig(dataset="digits", loss=loss, miner=None, sampler=name, **sizes)
        tiles = "".join(
            f'<rect class="c{label}" x="{21 + i % 10 * size}" y="{13 + i // 10 * size}" width="17" height="17" rx="3"/>'
            for i, label in enumerate(labels[next(sampling.build(config, labels, seed=0))])
        )
        yield _symbol(f"sampler-{name}", tiles)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the first 500 test digits, as rows of pixels, and their classes."""
    test = load("digits").test
    return test.images[:DIGITS].reshape(DIGITS, -1) / np.float32(255), test.labels[:DIGITS]


def _directions(pixels: np.ndarray) -> np.ndarray:
    """Return a space of two dimensions: in each, the ink of a quarter of the image less that of the opposite one."""
    side = int(pixels.shape[1] ** 0.5)
    quarter = pixels.reshape(-1, 2, side // 2, 2, side // 2).mean(axis=(2, 4))
    return np.column_stack([quarter[:, 0, 1] - quarter[:, 1, 0], quarter[:, 0, 0] - quarter[:, 1, 1]])


def _projections() -> Iterator[tuple[str, str]]:
    pixels, labels = digits()
    for name, spec in PROJECTIONS.items():
        rows = _directions(pixels) if spec.identity else pixels  # it draws a space of two dimensions as it is
        projection = project(rows, ProjectionConfig(method=name), labels=labels)
        yield _symbol(f"projection-{name}", _dots(projection.coordinates, labels, WHOLE))


def _labs() -> Iterator[tuple[str, str]]:
    for name, lab in LABS.items():
        study = ready_made(name)
        if study is not None:
            drawn = thumbnail(lab.figures[0], study_rows(study))
            inner = re.sub(r"^<svg[^>]*><title>.*?</title>|</svg>$", "", drawn)
            for number, color in enumerate(PALETTE["light"]):
                inner = inner.replace(color, f"var(--c{number})")
            yield _symbol(f"lab-{name}", f'<g transform="translate(6 26) scale(.71 .82)">{inner}</g>')


def _topics() -> Iterator[tuple[str, str]]:
    places, labels = np.array([[-0.5, -0.1], [0.2, 0.5], [0.1, -0.35]]), [0, 0, 1]
    at = places * [130, -100] + [WIDTH / 2 + 10, HEIGHT / 2]
    pulls = np.array(forces("triplet", {"margin": 1.0}, places.tolist(), labels)["forces"]) * [45, -40]
    arrows = "".join(
        f'<path class="arrow" d="M{x:.0f} {y:.0f}l{dx:.0f} {dy:.0f}"/>'
        f'<circle class="c{label}" cx="{x:.0f}" cy="{y:.0f}" r="9"/>'
        for (x, y), (dx, dy), label in zip(at, pulls, labels, strict=True)
    )
    yield _symbol("topic-forces", arrows)
    spaces = json.loads((FILE.parent / "three_spaces.json").read_text(encoding="utf-8"))
    drawn = "".join(
        _dots(np.array(space["points"]), np.array(space["classes"]), (left, 36, left + 72, 108))
        for space, left in zip(spaces, (6, 84, 162), strict=True)
    )
    yield _symbol("topic-three-spaces", f'<g class="fine">{drawn}</g>')
    curve = sample_curve("triplet", {"margin": 0.4}, samples=48)
    x, y = np.array(curve["x"]), np.array(curve["far"]["loss"], float)  # the negative moves, the positive stays
    at_x, at_y = _fit(x, x[0], x[-1], BORDER, WIDTH - BORDER), _fit(y, 0, curve["high"], HEIGHT - 34, BORDER)
    ends = x[np.argmax(y <= 0)]  # beyond it a negative is easy
    cases = {"hard": ends - 0.65, "semi-hard": ends - 0.2, "easy": ends + 0.35}
    marks = ""
    for case, place in cases.items():
        cx, cy = np.interp(place, x, at_x), np.interp(place, x, at_y)
        up = -10 if y[np.searchsorted(x, place)] > 0 else 28
        marks += f'<circle class="c1" cx="{cx:.0f}" cy="{cy:.0f}" r="7"/>'
        marks += f'<text class="word" x="{cx + 8:.0f}" y="{cy + up:.0f}">{case}</text>'
    yield _symbol("topic-cases", _line(np.column_stack([at_x, at_y]), "far") + marks)


def embeddings_of(settings: str) -> np.ndarray:
    """Return the embeddings of the digits' test images after a training; `settings` are those of Explore's address."""
    state = UIState.from_query(dict(parse_qsl(settings)) | {"dataset": "digits"})
    *_, end = train(state.config("digits"))
    assert isinstance(end, Finished), (settings, end)
    return end.embeddings


def _maps(name: str, settings: Sequence[str]) -> str:
    """Return the maps of the first and the last run side by side: the space itself, or its main directions."""
    test, drawn = load("digits").test, '<path class="axis" d="M120 20v104"/>'
    boxes = dict(zip((settings[0], settings[-1]), HALVES, strict=True))
    if len(boxes) == 1:
        boxes, drawn = {settings[0]: WHOLE}, ""
    maps = {}
    for one in boxes:
        rows = embeddings_of(one)[:DOTS]
        method = dict(parse_qsl(one)).get("view", "plane" if rows.shape[1] == 2 else "pca")
        if not np.ptp(rows):  # all in one point, which no projection draws
            rows, method = np.zeros((DOTS, 2)), "plane"
        maps[one] = project(rows, ProjectionConfig(method=method), labels=test.labels[:DOTS]).coordinates
    widest = max(map(_reach, maps.values()))
    for one, box in boxes.items():
        is_point = name.startswith("answer-") and _reach(maps[one]) < widest / 100  # beside its remedy
        drawn += _dots(maps[one], test.labels[:DOTS], box, widest if is_point else 0)
    return _symbol(name, drawn, key_of(name, settings))[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="train everything again")
    parser.add_argument("--quick", action="store_true", help="train nothing: keep the maps that are there and current")
    options = parser.parse_args()
    known = {} if options.anew or not FILE.exists() else symbols(FILE.read_text(encoding="utf-8"))
    drawn = quick() | {key: known[key] for key in trained() if key in known}
    FILE.write_text(write(drawn), encoding="utf-8")
    for key, (name, settings) in trained().items():
        if key not in drawn and not options.quick:
            drawn[key] = _maps(name, settings)
            FILE.write_text(write(drawn), encoding="utf-8")  # each as soon as it is there
            print(name, flush=True)
