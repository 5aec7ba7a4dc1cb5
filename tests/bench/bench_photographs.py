"""Is a photographed digit found? Simulated phone photographs of MNIST test digits: the class of ten neighbors, by kind.

`python tests/bench/bench_photographs.py [--digits 60] [--seed 1] [--kinds ruled table] [--sides 800] [--garments]`,
with DMLVIZ_DATA set. Each photograph is a JPEG, made from the seed: light, paper, pen, sharpness, noise, size and place
of the digit are drawn anew for each, and so is the strength of what its kind is named after. It goes the way of an
upload: `decode`, `prepare`, the net of the default settings, the majority of its ten nearest test images, the digit's
own left out. `--garments` does the same with Fashion-MNIST's garments on tables and hangers.

The net is trained once and kept in `--runs`. `--keep FOLDER` keeps what was not found, photograph and steps.
"""

import argparse
import io
import os
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.data.query_file import decode
from dmlviz.data.query_image import prepare
from dmlviz.errors import UserError
from dmlviz.runs.embed import embed
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record, warm_up

NEIGHBORS = 10
PENS = ((30, 30, 35), (20, 40, 140), (170, 25, 30), (20, 100, 50), (70, 40, 110))
LINES = ((120, 150, 210), (90, 90, 100), (200, 120, 120), (120, 180, 140), (60, 60, 160))
Canvas = np.ndarray  # float, h × w × 3, light from 0 to 1


class Scene:
    """A sheet, a pen and a digit on it; what a kind changes before or after the pen writes."""

    def __init__(self, rng: np.random.Generator, digits: np.ndarray, width: int) -> None:
        """Draw a sheet of `width` × 3/4 `width` pixels, and the size and place of the first of `digits` (n × s × s)."""
        self.rng, self.digits = rng, digits
        self.width, self.height = width, width * 3 // 4
        if rng.random() < 0.3:
            self.width, self.height = self.height, self.width
        self.sheet: Canvas = np.ones((self.height, self.width, 3)) * rng.uniform(0.75, 0.97)
        self.sheet *= 1 - rng.uniform(0, 0.08, 3)
        self.unit = width / 800  # lengths below are given for a picture of 800 × 600
        self.darkness = rng.uniform(0.6, 1)
        self.pen = np.array(PENS[rng.integers(len(PENS))]) / 255
        self.share = rng.uniform(1 / 4, 0.6)  # of the picture's height
        self.angle = rng.uniform(-4, 4)
        self.shift = 0.14  # largest distance from the middle, share of the picture

    def ink(self, digit: np.ndarray, share: float, x: float, y: float, angle: float) -> np.ndarray:
        """Return a digit's cover (h × w, 0 to 1): `share` of the height tall, its center at (x, y), shares too."""
        rows, columns = np.flatnonzero(digit.any(axis=1)), np.flatnonzero(digit.any(axis=0))
        cut = np.pad(digit[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], 3).astype(np.float32) / 255
        fine = cv2.resize(cut, None, fx=8, fy=8, interpolation=cv2.INTER_CUBIC)
        fine = np.clip((fine - 0.3) / 0.35, 0, 1)
        scale = share * self.height / (len(fine) - 48)
        matrix = cv2.getRotationMatrix2D((fine.shape[1] / 2, fine.shape[0] / 2), -angle, scale)
        matrix[:, 2] += (x * self.width - fine.shape[1] / 2, y * self.height - fine.shape[0] / 2)
        return np.clip(cv2.warpAffine(fine, matrix, (self.width, self.height), flags=cv2.INTER_AREA), 0, 1)

    def place(self) -> tuple[float, float]:
        """Return a place for the digit."""
        x, y = self.rng.uniform(-self.shift, self.shift, 2)
        return 0.5 + x, 0.5 + y

    def write(self, cover: np.ndarray, darkness: float | None = None, pen: np.ndarray | None = None) -> None:
        """Put ink on the sheet."""
        weight = (cover * (self.darkness if darkness is None else darkness))[..., None]
        self.sheet *= 1 - weight * (1 - (self.pen if pen is None else pen))

    def stroke(self, points: np.ndarray, thickness: float) -> np.ndarray:
        """Return the cover of a line through points (n × 2, shares of width and height)."""
        cover = np.zeros((self.height, self.width), np.uint8)
        pixels = np.round(points * (self.width, self.height) * 16).astype(np.int32)
        thick = max(1, round(thickness * self.unit))
        cv2.polylines(cover, [pixels[:, None]], False, 255, thick, cv2.LINE_AA, 4)
        return cover / 255

    def smooth_noise(self, grain: float, stretch: float = 1) -> np.ndarray:
        """Return noise (h × w, of deviation 1) with features of `grain` pixels, `stretch` times as wide."""
        rows = max(2, int(self.height / (grain * self.unit)))
        columns = max(2, int(self.width / (grain * stretch * self.unit)))
        small = self.rng.normal(size=(rows, columns)).astype(np.float32)
        noise = cv2.resize(small, (self.width, self.height), interpolation=cv2.INTER_CUBIC)
        return noise / max(noise.std(), 1e-6)

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y of each pixel, from -1 to 1."""
        return np.meshgrid(np.linspace(-1, 1, self.width), np.linspace(-1, 1, self.height))


Kind = Callable[[Scene], None]


def _digit(scene: Scene) -> None:
    scene.write(scene.ink(scene.digits[0], scene.share, *scene.place(), scene.angle))


def plain(scene: Scene) -> None:
    """A pen on white paper."""
    _digit(scene)


def rotated(scene: Scene) -> None:
    """Turned by 12°."""
    scene.angle = scene.rng.choice([-12, 12])
    _digit(scene)


def small(scene: Scene) -> None:
    """An eighth to a quarter of the picture's height."""
    scene.share, scene.shift = scene.rng.uniform(1 / 8, 1 / 4), 0.2
    _digit(scene)


def blackboard(scene: Scene) -> None:
    """Chalk on a board with smears."""
    rng = scene.rng
    ground = rng.uniform(0.12, 0.35) * np.array([0.9, 1, 0.92])
    dust = (1 + rng.uniform(0, 0.15) * scene.smooth_noise(60, 3))[..., None]
    cover = scene.ink(scene.digits[0], scene.share, *scene.place(), scene.angle)
    cover = cover * np.clip(1 + rng.uniform(0, 0.25) * scene.smooth_noise(2), 0, 1) * rng.uniform(0.6, 0.95)
    scene.sheet = ground * dust * (1 - cover[..., None]) + cover[..., None] * rng.uniform(0.75, 0.95)


def gradient(scene: Scene) -> None:
    """Light from one side."""
    _digit(scene)
    x, y = scene.coordinates()
    turn = scene.rng.uniform(0, 2 * np.pi)
    along = (x * np.cos(turn) + y * np.sin(turn)) / 2.83 + 0.5
    scene.sheet *= (1 - scene.rng.uniform(0.3, 0.75) * along)[..., None]


def vignette(scene: Scene) -> None:
    """Dark corners."""
    _digit(scene)
    x, y = scene.coordinates()
    scene.sheet *= (1 - scene.rng.uniform(0.3, 0.75) * ((x**2 + y**2) / 2) ** scene.rng.uniform(0.7, 1.5))[..., None]


def hand_shadow(scene: Scene) -> None:
    """A hand and its fingers between the lamp and the sheet."""
    _digit(scene)
    rng = scene.rng
    shadow = np.zeros((scene.height, scene.width), np.float32)
    x, y = rng.uniform(0.2, 0.9), rng.uniform(0.4, 1.1)
    radius = rng.uniform(0.15, 0.4)
    size = np.array([scene.width, scene.height])
    center = np.round(np.array([x, y]) * size).astype(int)
    axes = np.round(radius * scene.height * np.array([rng.uniform(0.7, 1.5), 1])).astype(int)
    cv2.ellipse(shadow, center.tolist(), axes.tolist(), rng.uniform(0, 180), 0, 360, 1.0, -1)
    for turn in rng.uniform(-2.6, -0.5, rng.integers(0, 4)):
        tip = center + np.round(scene.height * rng.uniform(0.3, 0.7) * np.array([np.cos(turn), np.sin(turn)])).astype(
            int
        )
        cv2.line(shadow, center.tolist(), tip.tolist(), 1.0, int(scene.height * rng.uniform(0.06, 0.12)))
    shadow = cv2.GaussianBlur(shadow, None, rng.uniform(6, 45) * scene.unit)
    scene.sheet *= (1 - rng.uniform(0.3, 0.7) * shadow)[..., None]


def _rules(scene: Scene, spacing: float, darkness: float, thickness: float, tilt: float) -> np.ndarray:
    x, y = np.meshgrid(np.arange(scene.width), np.arange(scene.height))
    turn = np.deg2rad(tilt)
    along = (y * np.cos(turn) - x * np.sin(turn)) / scene.unit + scene.rng.uniform(0, spacing)
    distance = np.abs((along + spacing / 2) % spacing - spacing / 2)
    return darkness * np.clip((thickness / 2 - distance) * scene.unit + 0.5, 0, 1)


def ruled(scene: Scene) -> None:
    """A lined pad, some with a margin line."""
    rng = scene.rng
    spacing, tilt = rng.uniform(22, 110), rng.uniform(-4, 4)
    color = np.array(LINES[rng.integers(len(LINES))]) / 255
    scene.write(_rules(scene, spacing, rng.uniform(0.3, 1), rng.uniform(1, 3.5), tilt), 1, color)
    if rng.random() < 0.4:
        side = rng.uniform(0.08, 0.2)
        lean = np.tan(np.deg2rad(tilt)) * 0.75 / 2
        points = np.array([[side + lean, 0], [side - lean, 1]])
        scene.write(scene.stroke(points, 2.5), 1, np.array([0.8, 0.3, 0.3]))
    _digit(scene)


def squared(scene: Scene) -> None:
    """Squared paper."""
    rng = scene.rng
    spacing, tilt = rng.uniform(16, 70), rng.uniform(-4, 4)
    color = np.array(LINES[rng.integers(len(LINES))]) / 255
    thickness, darkness = rng.uniform(1, 2.5), rng.uniform(0.3, 1)
    for turn in (tilt, tilt + 90):
        scene.write(_rules(scene, spacing, darkness, thickness, turn), 1, color)
    _digit(scene)


def table(scene: Scene) -> None:
    """The sheet ends inside the picture, on a table of another tone, with grain."""
    rng = scene.rng
    scene.share, scene.shift = min(scene.share, 0.45), 0.06  # whole, on the sheet
    _digit(scene)
    tone = rng.uniform(0.08, 0.55) * (1 - rng.uniform(0, 0.4) * np.array([0, 0.4, 1]))
    x, y = scene.coordinates()
    outside = np.zeros((scene.height, scene.width))
    for side in rng.choice(4, rng.integers(1, 3), replace=False):
        turn = side * np.pi / 2 + np.deg2rad(rng.uniform(-12, 12))
        beyond = x * np.cos(turn) + y * np.sin(turn) - rng.uniform(0.62, 0.9)
        outside = np.maximum(outside, np.clip(beyond * scene.width / 4 + 0.5, 0, 1))
    grain = 1 + rng.uniform(0.02, 0.15) * scene.smooth_noise(6, 25) + rng.uniform(0, 0.1) * scene.smooth_noise(80)
    near = np.clip(1 - 0.25 * rng.random() * cv2.GaussianBlur(outside.astype(np.float32), None, 8 * scene.unit), 0, 1)
    scene.sheet = (
        scene.sheet * near[..., None] * (1 - outside[..., None])
        + np.clip(tone * grain[..., None], 0, 1) * (outside[..., None])
    )


def light_table(scene: Scene) -> None:
    """A gray or tinted sheet on a lighter table."""
    scene.sheet *= scene.rng.uniform(0.6, 0.8)
    paper = scene.sheet[0, 0].copy()
    table(scene)
    x, _y = scene.coordinates()
    outside = np.clip((np.abs(x) - 1 + scene.rng.uniform(0.1, 0.25)) * scene.width / 4, 0, 1)[..., None]
    scene.sheet = scene.sheet * (1 - outside) + outside * np.minimum(paper * 1.25, 1)


def pencil(scene: Scene) -> None:
    """Faint and grainy."""
    cover = scene.ink(scene.digits[0], scene.share, *scene.place(), scene.angle)
    grain = np.clip(1 + scene.rng.uniform(0, 0.3) * scene.smooth_noise(2), 0, 1.5)
    scene.write(cover * grain, scene.rng.uniform(0.15, 0.45), np.array([0.1, 0.1, 0.1]))


def two_pens(scene: Scene) -> None:
    """One part of the digit with a dark pen, the other with a pale one."""
    cover = scene.ink(scene.digits[0], scene.share, *scene.place(), scene.angle)
    x, y = scene.coordinates()
    turn = scene.rng.uniform(0, 2 * np.pi)
    weight = cover * (x * np.cos(turn) + y * np.sin(turn) > scene.rng.uniform(-0.1, 0.1))
    scene.write(weight, scene.rng.uniform(0.75, 1))
    scene.write(cover - weight, scene.rng.uniform(0.35, 0.6), np.array(PENS[scene.rng.integers(len(PENS))]) / 255)


def _neighbors(scene: Scene, share: float, count: int, crossed: bool) -> None:
    """Write the digit near the middle, and others left and right of it, no larger."""
    rng = scene.rng
    scene.share, scene.shift = share, 0.04
    x, y = scene.place()
    scene.write(scene.ink(scene.digits[0], share, x, y, scene.angle))
    for position in range(count):
        side = -1 if position % 2 else 1
        other = share * rng.uniform(0.55, 0.9)
        reach = scene.height / scene.width * (share / 2 + other / 2 + rng.uniform(0.05, 0.15))
        step = side * reach * (1 + position // 2)
        place = x + step, y + rng.uniform(-0.1, 0.1)
        scene.write(scene.ink(scene.digits[1 + position], other, *place, rng.uniform(-8, 8)))
        if crossed:
            half = np.array([other * scene.height / scene.width * 0.45, other * 0.45])
            for _ in range(rng.integers(1, 4)):
                slope = np.array([1, rng.uniform(-1, 1)])
                points = np.stack([np.array(place) - half * slope, np.array(place) + half * slope])
                scene.write(scene.stroke(points, rng.uniform(3, 8)))


def several(scene: Scene) -> None:
    """Two to four more digits beside the one in the middle, the largest."""
    _neighbors(scene, scene.rng.uniform(0.25, 0.42), int(scene.rng.integers(1, 4)), crossed=False)


def crossed_out(scene: Scene) -> None:
    """Two tries beside the digit, crossed out."""
    _neighbors(scene, scene.rng.uniform(0.28, 0.45), int(scene.rng.integers(1, 3)), crossed=True)


def creased(scene: Scene) -> None:
    """Folded paper: planes with different light, a bright or dark line between them."""
    _digit(scene)
    x, y = scene.coordinates()
    for _ in range(scene.rng.integers(1, 5)):
        turn, offset = scene.rng.uniform(0, np.pi), scene.rng.uniform(-0.6, 0.6)
        along = (x * np.cos(turn) + y * np.sin(turn) - offset) * scene.width / 2 / scene.unit
        light = scene.rng.uniform(-0.12, 0.12) * np.tanh(along / 2) + scene.rng.uniform(-0.15, 0.1) * np.exp(
            -((along / scene.rng.uniform(1.5, 4)) ** 2)
        )
        scene.sheet *= (1 + light)[..., None]
    scene.sheet *= (1 + scene.rng.uniform(0, 0.04) * scene.smooth_noise(70))[..., None]


def flash(scene: Scene) -> None:
    """The phone's light: a glare beside the middle, dark away from it."""
    _digit(scene)
    x, y = scene.coordinates()
    a, b = scene.rng.uniform(-0.6, 0.6, 2)
    away = (x - a) ** 2 + (y - b) ** 2
    scene.sheet *= (scene.rng.uniform(0.35, 0.6) + 0.8 * np.exp(-away / scene.rng.uniform(0.3, 1.2)))[..., None]
    scene.sheet += (scene.rng.uniform(0, 0.3) * np.exp(-away / 0.05))[..., None]


def motion(scene: Scene) -> None:
    """The hand that held the phone moved."""
    _digit(scene)
    length, turn = scene.rng.uniform(6, 18) * scene.unit, scene.rng.uniform(0, np.pi)
    side = 2 * int(length // 2) + 3
    kernel = np.zeros((side, side), np.float32)
    reach = np.array([np.cos(turn), np.sin(turn)]) * length / 2
    ends = [np.round((side // 2 + sign * reach) * 16).astype(int).tolist() for sign in (-1, 1)]
    cv2.line(kernel, ends[0], ends[1], 1.0, 1, cv2.LINE_AA, 4)
    scene.sheet = cv2.filter2D(scene.sheet, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REPLICATE)


def everything(scene: Scene) -> None:
    """Ruled paper, on a table, in the shadow of a hand."""
    scene.darkness = scene.rng.uniform(0.75, 1)
    color = np.array(LINES[scene.rng.integers(len(LINES))]) / 255
    rules = _rules(scene, scene.rng.uniform(25, 70), scene.rng.uniform(0.3, 0.7), 2, scene.rng.uniform(-3, 3))
    scene.write(rules, 1, color)
    table(scene)
    digits, scene.digits = scene.digits, np.zeros_like(scene.digits)
    scene.digits[:, :1, :1] = 1  # a shadow alone
    hand_shadow(scene)
    scene.digits = digits


KINDS: dict[str, Kind] = {
    kind.__name__: kind
    for kind in (
        *(plain, rotated, blackboard, gradient, vignette, hand_shadow, ruled, squared, table, pencil),
        *(small, two_pens, crossed_out, several, creased, flash, motion, light_table, everything),
    )
}


def _garment_on(scene: Scene, ground: Canvas, turn: float) -> np.ndarray:
    """Lay the garment on a ground: a light one takes it dark, as a shop's photograph, a dark one bright."""
    image = scene.digits[0]
    fine = cv2.resize(np.pad(image, 2).astype(np.float32), None, fx=16, fy=16, interpolation=cv2.INTER_CUBIC)
    solid = (cv2.resize(np.pad(image, 2), None, fx=16, fy=16, interpolation=cv2.INTER_LINEAR) > 12).astype(np.uint8)
    solid = cv2.GaussianBlur(cv2.morphologyEx(solid, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8)) * 1.0, None, 3)
    scale = scene.share * scene.height / (16 * 28)
    x, y = scene.place()
    matrix = cv2.getRotationMatrix2D((fine.shape[1] / 2, fine.shape[0] / 2), turn, scale)
    matrix[:, 2] += (x * scene.width - fine.shape[1] / 2, y * scene.height - fine.shape[0] / 2)
    size = scene.width, scene.height
    level = np.clip(cv2.warpAffine(fine, matrix, size) / 255, 0, 1)
    cover = np.clip(cv2.warpAffine(solid, matrix, size), 0, 1)[..., None]
    tone = level if ground.mean() < 0.5 else 1 - level
    scene.sheet = ground * (1 - cover) + tone[..., None] * cover
    return np.asarray(cover[..., 0])


def _ground(scene: Scene, tone: float) -> Canvas:
    rng = scene.rng
    tint = 1 - rng.uniform(0, 0.25) * np.array([0, 0.4, 1])
    grain = 1 + rng.uniform(0.005, 0.03) * scene.smooth_noise(5, 25) + rng.uniform(0, 0.03) * scene.smooth_noise(90)
    x, y = scene.coordinates()
    turn = rng.uniform(0, 2 * np.pi)
    light = 1 - rng.uniform(0, 0.25) * ((x * np.cos(turn) + y * np.sin(turn)) / 2.83 + 0.5)
    return np.clip(tone * tint * (grain * light)[..., None], 0, 1)


def on_light_table(scene: Scene) -> None:
    """A garment on a light table with grain."""
    scene.share = scene.rng.uniform(0.5, 0.85)
    _garment_on(scene, _ground(scene, scene.rng.uniform(0.85, 1)), scene.rng.uniform(-4, 4))


def on_dark_table(scene: Scene) -> None:
    """A garment on a dark table with grain."""
    scene.share = scene.rng.uniform(0.5, 0.85)
    _garment_on(scene, _ground(scene, scene.rng.uniform(0.03, 0.15)), scene.rng.uniform(-4, 4))


def on_hanger(scene: Scene) -> None:
    """A garment before a wall, with the hook of its hanger."""
    scene.share = scene.rng.uniform(0.5, 0.7)
    scene.shift = 0.06
    cover = _garment_on(scene, _ground(scene, scene.rng.uniform(0.85, 1)), scene.rng.uniform(-2, 2))
    rows = np.flatnonzero((cover > 0.5).any(axis=1))
    columns = np.flatnonzero(cover[rows[0]] > 0.5)
    x, top = columns.mean() / scene.width, rows[0] / scene.height
    turns = np.linspace(np.pi, -0.6 * np.pi, 20)
    hook = np.stack([x + 0.02 * np.cos(turns), top - 0.07 - 0.02 * np.sin(turns)], axis=1)
    hook = np.vstack([hook[:15], [[x, top - 0.04], [x, top + 0.01]]])
    scene.write(scene.stroke(hook, scene.rng.uniform(3, 6)), 1, np.array([0.35, 0.35, 0.38]))


GARMENTS: dict[str, Kind] = {kind.__name__: kind for kind in (on_light_table, on_dark_table, on_hanger)}


def photograph(kind: str, digits: np.ndarray, seed: int, width: int = 800) -> bytes:
    """Return a JPEG of a kind: of the first of `digits` (at least 5 × s × s), others where the kind has more."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    scene = Scene(rng, digits, width)
    (KINDS | GARMENTS)[kind](scene)
    picture = scene.sheet.astype(np.float32) * rng.uniform(0.8, 1.05) * (1 + rng.uniform(-0.06, 0.06, 3))
    picture = cv2.GaussianBlur(picture, None, rng.uniform(0.5, 1.8) * scene.unit)
    noise = rng.normal(size=(*picture.shape[:2], 3)).astype(np.float32) * rng.uniform(1.5, 8) / 255
    pixels = np.clip((picture + noise) * 255, 0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=int(rng.integers(50, 93)))
    return file.getvalue()


def trained(dataset: str, folder: Path) -> Run:
    """Return the run of the default settings on a data set in a folder of runs, training it where there is none."""
    for run in Runs(folder).list():
        if run.config.dataset == dataset and run.state == "finished":
            return run
    run = Runs(folder).create(TrainConfig(dataset=dataset))
    for _event in train_and_record(run, data_root=Path(os.environ["DMLVIZ_DATA"])):
        pass
    assert run.state == "finished", run.state
    return run


def votes(run: Run, images: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Return the class of the majority of each image's ten nearest test images, `left_out` (n) apart."""
    asked, known = embed(run, images), run.embeddings
    distances = (known**2).sum(axis=1) - 2 * asked @ known.T
    distances[np.arange(len(asked)), left_out] = np.inf
    nearest = np.argsort(distances, axis=1)[:, :NEIGHBORS]
    return np.array([np.bincount(labels).argmax() for labels in run.labels[nearest]])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--sides", type=int, nargs="+", default=[800], help="the longer side, taken in turn")
    parser.add_argument("--garments", action="store_true")
    parser.add_argument("--runs", type=Path, default=Path(tempfile.gettempdir()) / "bench-photographs")
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    warm_up()
    dataset, kinds = ("fashion_mnist", GARMENTS) if chosen.garments else ("mnist", KINDS)
    run, test = trained(dataset, chosen.runs), load(dataset).test
    which = np.random.default_rng([chosen.seed, 99]).choice(len(test.labels), (chosen.digits, 5), replace=False)
    raw = np.mean(votes(run, test.images[which[:, 0]], which[:, 0]) == test.labels[which[:, 0]])
    print(f"{dataset}: {chosen.digits} images, as they are {raw:.3f}")
    print(f"{'kind':16s} {'own class':>9s} {'refused':>8s} {'processor ms':>13s}")
    shares = []
    for kind in chosen.kinds or kinds:
        images, refused, seconds, kept = [], 0, 0.0, []
        for number, items in enumerate(which):
            width = chosen.sides[number % len(chosen.sides)]
            data = photograph(kind, test.images[items], chosen.seed * 100_000 + number, width)
            start = time.process_time()
            try:
                prepared = prepare(decode(data, dataset), dataset)
                images.append(prepared.image)
                kept.append((data, prepared))
            except UserError:
                refused += 1
                images.append(np.zeros_like(test.images[0]))
                kept.append((data, None))
            seconds += time.process_time() - start
        found = votes(run, np.stack(images), which[:, 0]) == test.labels[which[:, 0]]
        shares.append(found.mean())
        print(f"{kind:16s} {found.mean():9.3f} {refused:8d} {seconds / len(which) * 1000:13.1f}", flush=True)
        if chosen.keep:
            chosen.keep.mkdir(parents=True, exist_ok=True)
            for number in np.flatnonzero(~found):
                data, prepared = kept[number]
                (chosen.keep / f"{kind}-{number}.jpg").write_bytes(data)
                for place, step in enumerate(prepared.steps if prepared else ()):
                    Image.fromarray(step.image).save(chosen.keep / f"{kind}-{number}-{place}.png")
    print(f"{'mean':16s} {np.mean(shares):9.3f}")


if __name__ == "__main__":
    main()
