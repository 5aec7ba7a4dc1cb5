"""Report of the verification and identification test of a run: one HTML file without scripts, to read and print."""

import html
import json
import platform
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

import numpy as np

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import short_names
from dmlviz.data.sprite_sheet import png_of
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.page import TEMPLATES, page_data
from dmlviz.export.script import as_command
from dmlviz.figures.data import Images, class_name, images
from dmlviz.figures.palette import PALETTE
from dmlviz.metrics import curves
from dmlviz.metrics.inputs import read_finite
from dmlviz.metrics.verification import MAX_PAIRS, area, pair_distances, pairs
from dmlviz.metrics.verification_folds import recall_at_false_positives, weighted_operating_points
from dmlviz.ops.squared_distances import for_each_distance_chunk, rescale, single_threaded_blas, squared_differences
from dmlviz.runs.store import package_version
from dmlviz.runs.thresholds import MAX_IMAGES, Threshold, kept_threshold, threshold_of, validation_embeddings
from dmlviz.storage.text import counted

RATES = (0.1, 0.01, 0.001)
RANKS = 100
DRAWS = 200  # of the bootstrap over the classes
FEWEST_CLASSES = 5  # for an interval
MOST_PAIRS, MOST_IMAGES = 12, 20_000  # shown of each kind of error; searched for it
PACKAGES = ("dmlviz", "numpy", "torch", "faiss-cpu")

Estimate = tuple[float, float, float]  # with the ends of its 95% interval; NaN for none


@dataclass(frozen=True)
class Tested:
    """A test of the images of some classes.

    Attributes:
        name: The classes, in words.
        points: The images.
        roc: The ROC, with the numbers of pairs.
        recall: Recall@k.
        distances: Distance of each pair, ascending (m).
        same: Whether each pair is of one class (m).
        weights: How often each pair counts in a draw of the bootstrap (draws × m, one after the other).
        rates: False-accept rates (k), and the share of pairs of one class that is accepted there: values, ends of
            the interval (3 × k).
        found: Recall@k: values, ends of the interval (3 × ranks).
        scores: Further scores by their name.
    """

    name: str
    points: Images
    roc: curves.Roc
    recall: curves.RecallAtK
    distances: np.ndarray
    same: np.ndarray
    weights: Callable[[], Sequence[np.ndarray]]
    rates: tuple[np.ndarray, np.ndarray]
    found: np.ndarray
    scores: dict[str, Estimate]


def write_report(export: RunExport, file: IO[bytes]) -> None:
    """Write the report.

    Raises:
        UserError: If the run is not finished, or has no labels of two classes or no class with two images.
    """
    run, config, limits = export.run, export.run.config, list[str]()
    said, is_own = config.dataset_spec.said, config.dataset_spec.trainable and not run.recorded
    _ = export.embeddings  # raises before the end
    points = images(run)
    _, counts = np.unique(points.labels, return_counts=True)
    if len(counts) < 2 or counts.max() < 2:
        has = f"{counted(len(points.labels), 'test image')} of {counted(len(counts), 'class', 'classes')}"
        needed = "two test images of one class, and one of another"
        raise UserError(said(f"A report needs {needed}; {run.title} has {has}: choose another run."))
    tests = [_tested("all classes", points)]
    held_out = np.isin(points.labels, config.held_out_classes)
    if held_out.any():
        items = np.flatnonzero(held_out) if points.items is None else points.items[held_out]
        own = Images(points.embeddings[held_out], points.labels[held_out], points.classes, points.about, items)
        try:
            tests.append(_tested("held-out classes", own))
        except UserError as error:
            limits.append(f"The held-out classes cannot be tested by themselves. {error}")
    left_out = len(run.labels if run.labels is not None else ()) - len(points.labels)
    if left_out:
        limits.append(f"{counted(left_out, 'image')} without a label {'is' if left_out == 1 else 'are'} left out.")
    for test in tests:
        count = len(np.unique(test.points.labels))
        if count < FEWEST_CLASSES:
            limits.append(
                f"No intervals for {test.name}: {counted(count, 'class', 'classes')} are too few to draw from."
            )
    thresholds, limit, basis = _thresholds(export, tests, limits)
    pictures = _pictures(export, limits)
    cards = "".join(_worst(tests[-1].points, kind, limit, pictures, said) for kind in ("different", "same"))
    settings = json.dumps(config.model_dump(mode="json"), ensure_ascii=False)[1:-1].replace('"', "")
    made = as_command(RunExport(run)) if is_own else "# The vectors were brought, not trained here.\n"
    text = TEMPLATES["report"].format(
        style=TEMPLATES["report_style"],
        title=html.escape(run.title),
        about=html.escape(f"{points.about}. {datetime.now(UTC):%Y-%m-%d}, run {run.id}."),
        facts=_facts([row for row in page_data(RunExport(run)) if row[0] != "Map"] + _classes(export, points)),
        protocol=_list(map(said, _protocol(tests, basis))),
        limits=f"<h2>What it does not say</h2>{_list(map(said, limits))}" if limits else "",
        scores=_score_table(tests),
        charts=_charts(tests),
        thresholds=thresholds,
        worst=cards,
        command=html.escape(f"{made}dmlviz report {run.id}\n"),
        versions=_facts(_versions(export)),
        settings=f"<h2>All settings</h2><p class='settings'>{html.escape(settings)}</p>" if is_own else "",
    )
    file.write(text.encode())


def _tested(name: str, of: Images) -> Tested:
    roc = curves.roc(of.embeddings, of.labels)  # raises where there are no pairs
    recall = curves.recall_at_k(of.embeddings, of.labels, RANKS)
    points = read_finite(of.embeddings, of.labels)
    with single_threaded_blas():
        distances, same, unit = pair_distances(points)
    first, second, _ = pairs(points.classes, MAX_PAIRS)
    order = np.argsort(distances, kind="stable")
    distances, same, count = distances[order] * unit, same[order], len(points.class_ids)
    a, b = points.classes[first[order]], points.classes[second[order]]
    rng = np.random.default_rng(0)
    drawn = [np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(DRAWS)]
    drawn = [times for times in drawn if np.count_nonzero(times) > 1] if count >= FEWEST_CLASSES else []

    def weights() -> Sequence[np.ndarray]:
        return [np.where(same, times[a], times[a] * times[b]) for times in drawn]

    rates = np.geomspace(1 / max(roc.pairs, 2), 1, 80)
    drawings = [weighted_operating_points(distances, same, one) for one in weights()]
    accepted = recall_at_false_positives(roc.false_positives, roc.recall, rates)
    hits = np.zeros((count, len(recall.recall) + 1))
    np.add.at(hits, (points.classes[recall.images], np.minimum(recall.first_hit, hits.shape[1]) - 1), 1)
    hits, asked = np.cumsum(hits, axis=1)[:, :-1], hits.sum(axis=1)
    return Tested(
        name,
        of,
        roc,
        recall,
        distances,
        same,
        weights,
        (rates, _with_ends(accepted, [recall_at_false_positives(x, y, rates) for x, y in drawings])),
        _with_ends(recall.recall, [times @ hits / (times @ asked) for times in drawn if times @ asked]),
        {
            "Area under the ROC": _estimate(roc.area, [area(x, y) for x, y in drawings]),
            "Equal error rate": _estimate(
                _equal_error_rate(roc.false_positives, roc.recall), [_equal_error_rate(x, y) for x, y in drawings]
            ),
        },
    )


def _equal_error_rate(false_positives: np.ndarray, recall: np.ndarray) -> float:
    return float(np.interp(0, false_positives + recall - 1, false_positives))


def _with_ends(values: np.ndarray, draws: Sequence[np.ndarray]) -> np.ndarray:
    """Return values (k) and the ends of their 95% intervals over draws, 3 × k; NaN without draws."""
    ends = np.quantile(draws, (0.025, 0.975), axis=0) if len(draws) else np.full((2, len(values)), np.nan)
    return np.stack([values, *ends])


def _estimate(value: float, draws: Sequence[float]) -> Estimate:
    value, low, high = _with_ends(np.array([value]), [np.array([one]) for one in draws])[:, 0].tolist()
    return value, low, high


def _classes(export: RunExport, points: Images) -> list[tuple[str, str]]:
    """Return which classes there are, and how many of the images are in the smallest and largest."""
    names, counts = np.unique(points.labels, return_counts=True)
    some = [class_name(short_names(points.classes), int(name)) for name in names[:10]]
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    each = " to ".join(f"{count:,}" for count in sorted({int(counts.min()), int(counts.max())}))
    noun = DATASETS[export.run.config.dataset].noun
    rows = [("Classes", f"{len(names):,}: {', '.join(some)}{more}; {each} {noun}s each")]
    held_out = [class_name(short_names(export.classes), name) for name in export.run.config.held_out_classes]
    return rows + ([("Held out of training", ", ".join(held_out))] if held_out else [])


def _protocol(tests: Sequence[Tested], basis: str) -> list[str]:
    lines = []
    for test in tests:
        roc, (alike, unlike) = test.roc, test.roc.of
        judged = " and ".join(
            f"{f'all {count:,}' if count == roc.pairs else f'{roc.pairs:,} of the {count:,}'} pairs of {kind}"
            for count, kind in ((alike, "one class"), (unlike, "different classes"))
        )
        lines.append(
            f"Verification, {test.name}: {len(test.points.labels):,} images. Two are called the same up to a Euclidean "
            f"distance. Judged are {judged}{'' if alike == unlike == roc.pairs else ', drawn with seed 0'}."
        )
        alone = f"; {test.recall.left_out:,} alone in their class do not" if test.recall.left_out else ""
        lines.append(
            f"Identification, {test.name}: {test.recall.queries:,} images search all others{alone}. Recall@k (CMC) is "
            "the share with an image of their class among the k nearest."
        )
    if any(np.isfinite(test.found[1]).all() for test in tests):
        lines.append(
            f"Intervals: 95% of what other classes would have given, by {DRAWS} bootstrap draws of the classes. Pairs "
            "share images, so that their number alone would promise too much."
        )
    return [*lines, f"Thresholds: found on {basis}." if basis else "Thresholds: none could be found."]


def _thresholds(export: RunExport, tests: Sequence[Tested], limits: list[str]) -> tuple[str, float, str]:
    """Return the table, the threshold of the errors that are shown (NaN for none), and its images."""
    points = tests[-1].points
    try:
        embeddings, labels, basis = validation_embeddings(export.run, export.data_root)
    except UserError as error:
        rows = np.unique(np.linspace(0, len(points.labels) - 1, min(len(points.labels), MAX_IMAGES)).astype(int))
        embeddings, labels = np.asarray(points.embeddings[rows], np.float32), points.labels[rows]
        basis = f"{len(rows):,} of the tested images"
        limits.append(f"Thresholds are sought on the images that test them, which flatters them. {error}")
    test = tests[-1] if "held-out" in basis or len(tests) == 1 else tests[0]
    found = list[tuple[str, Threshold]]()
    with suppress(UserError):  # damaged: which the page says
        if (kept := kept_threshold(export.run, export.holders)) is not None:
            found.append(("kept with the run", kept))
    missing = dict[str, str]()
    for rate in RATES:
        try:
            one = threshold_of(embeddings, labels, basis, rate)
        except UserError as error:
            missing[f"{100 * rate:g}%"] = str(error)
            continue
        found.append((f"{100 * rate:g}%", one))
        if one.doubt:
            limits.append(f"The threshold of {100 * rate:g}% {one.doubt}")
    if missing:
        limits.append(f"No threshold for {', '.join(missing)} false accepts. {next(iter(missing.values()))}")
    cells = [[name, *_costs(one, test)] for name, one in found]
    values = [one.value for name, one in found if name == "1%"] or [one.value for _, one in found] or [np.nan]
    body = "".join(f"<tr><th>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in cells)
    table = TEMPLATES["report_thresholds"].format(rows=body) if found else "<p>None could be found.</p>"
    said = f"{basis}, {found[-1][1].pairs:,} pairs of different classes; measured on {test.name}" if found else ""
    return table, float(values[0]), said


def _costs(one: Threshold, test: Tested) -> list[str]:
    """Return the cells of a threshold: value, rates where it was found, rates in the test."""
    far = test.distances <= one.value
    costs = []
    for kind, wrong in ((~test.same, far), (test.same, ~far)):
        draws = [weights[kind & wrong].sum() / weights[kind].sum() for weights in test.weights() if weights[kind].any()]
        costs.append(_number(_estimate(float(wrong[kind].mean()), draws), ".2%"))
    low, high = one.interval
    value = _number((one.value, low, high), ".3g")
    found = f"{one.false_accept_rate:.2%}", f"{one.false_reject_rate:.2%}"
    return [value, *found, *costs]


def _number(estimate: Estimate, kind: str) -> str:
    value, low, high = estimate
    if not np.isfinite(low):
        return f"{value:{kind}}"
    return f"{value:{kind}} <small>{low:{kind}} to {high:{kind}}</small>"


def _score_table(tests: Sequence[Tested]) -> str:
    rows = [(name, [_number(test.scores[name], ".4f") for test in tests]) for name in tests[0].scores]
    for k in (1, 5, 10):
        with suppress(IndexError):  # fewer images
            rows.append((f"Recall@{k}", [_number(tuple(test.found[:, k - 1].tolist()), ".4f") for test in tests]))
    head = "".join(f"<th>{test.name}</th>" for test in tests)
    body = "".join(f"<tr><th>{name}</th>{''.join(f'<td>{c}</td>' for c in cells)}</tr>" for name, cells in rows)
    return f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody>"


def _charts(tests: Sequence[Tested]) -> str:
    lowest = min(0.1, *(float(test.rates[0][0]) for test in tests))
    rocs = [(test.name, *test.rates) for test in tests]
    dets = [(name, x, np.maximum(1 - y, lowest)) for name, x, y in rocs]
    recalls = [(test.name, test.recall.ks, test.found) for test in tests]
    x = "false accept rate"
    has_bands = any(np.isfinite(test.found[1]).all() for test in tests)
    return (
        "<p>A band is the 95% interval.</p>" * has_bands
        + "<div class='charts'>"
        + _chart("ROC", x, "accepted pairs of one class", rocs, (lowest, 1), (0, 1))
        + _chart("DET", x, "false reject rate", dets, (lowest, 1), (lowest, 1), log_y=True)
        + _chart("CMC", "k", "recall@k", recalls, (1, max(len(one[1]) for one in recalls)), _range(recalls))
        + "</div>"
    )


Line = tuple[str, np.ndarray, np.ndarray]  # name, x (k), values with the ends of their intervals (3 × k)


def _range(lines: Sequence[Line]) -> tuple[float, float]:
    return float(np.floor(10 * min(0.99, *(np.nanmin(y) for _, _, y in lines))) / 10), 1.0


def _chart(
    title: str,
    x_title: str,
    y_title: str,
    lines: Sequence[Line],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    log_y: bool = False,
) -> str:
    """Return a figure as SVG: lines with bands over a logarithmic x axis."""

    def at(values: np.ndarray, of: tuple[float, float], log: bool, begin: float, end: float) -> np.ndarray:
        low, high = np.log10(of) if log else of
        share = ((np.log10(values) if log else values) - low) / max(high - low, 1e-9)
        return begin + np.clip(share, 0, 1) * (end - begin)

    def along(values: np.ndarray) -> np.ndarray:
        return at(values, x_range, True, 60, 350)

    def up(values: np.ndarray) -> np.ndarray:
        return at(values, y_range, log_y, 210, 14)

    shapes = []
    for ticks, is_x in ((_decades(x_range), True), (_decades(y_range) if log_y else _tenths(y_range), False)):
        for tick in ticks:
            where = float((along if is_x else up)(np.array([tick]))[0])
            line = f'x1="{where:.1f}" x2="{where:.1f}" y1="14" y2="210"' if is_x else ""
            line = line or f'x1="60" x2="350" y1="{where:.1f}" y2="{where:.1f}"'
            text = f"{tick:g}" if tick >= 1 or not (is_x or log_y) else f"{100 * tick:g}%"
            text = "100%" if tick == 1 and (log_y or (is_x and x_range[1] == 1)) else text
            place = f'x="{where:.1f}" y="226" class="x"' if is_x else f'x="55" y="{where + 4:.1f}" class="y"'
            shapes.append(f"<line {line}/><text {place}>{text}</text>")
    for number, (name, x, y) in enumerate(lines):
        color, places = PALETTE["light"][number], along(np.asarray(x, float))
        if np.isfinite(y[1:]).all():
            band = _path(np.concatenate([places, places[::-1]]), np.concatenate([up(y[1]), up(y[2])[::-1]]))
            shapes.append(f'<polygon points="{band}" style="fill:{color}"/>')
        shapes.append(f'<polyline points="{_path(places, up(y[0]))}" style="stroke:{color}"/>')
        if len(lines) > 1:
            shapes.append(f'<text x="{60 + 120 * number}" y="266" style="fill:{color}">{name}</text>')
    words = f'<text x="205" y="246" class="x">{x_title}</text><text x="-112" y="12" class="up">{y_title}</text>'
    return (
        f'<figure><figcaption>{title}</figcaption><svg viewBox="0 0 374 274" role="img" aria-label="{title}: {y_title} '
        f'over {x_title}">{"".join(shapes)}{words}</svg></figure>'
    )


def _path(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _decades(of: tuple[float, float]) -> list[float]:
    low, high = (round(value, 6) for value in np.log10(of))
    return [float(10.0**power) for power in range(int(np.ceil(low)), int(np.floor(high)) + 1)]


def _tenths(of: tuple[float, float]) -> np.ndarray:
    parts = round(10 * (of[1] - of[0]))
    return np.linspace(*of, 1 + (parts if 1 < parts < 6 else 5))


def _pictures(export: RunExport, limits: list[str]) -> np.ndarray | None:
    """Return the test images; None if they are not on this machine."""
    name = export.run.config.dataset
    if name in data.available_datasets(export.data_root):
        found = data.load(name, export.data_root).test.images
        if len(found) == len(export.run.labels if export.run.labels is not None else ()):
            return found
    if DATASETS[name].noun == "image":  # else there are none
        limits.append("The images of the data set are not on this machine: the worst errors have numbers instead.")
    return None


def _worst(of: Images, kind: str, limit: float, pictures: np.ndarray | None, said: Callable[[str], str]) -> str:
    """Return the worst errors of a kind with a heading: each image with its nearest other, or farthest of its class."""
    rows = np.unique(np.linspace(0, len(of.labels) - 1, min(len(of.labels), MOST_IMAGES)).astype(np.int64))
    labels, is_accept = np.unique(of.labels[rows], return_inverse=True)[1], kind == "different"
    points, _, unit = rescale(np.asarray(of.embeddings)[rows], np.asarray(of.embeddings)[rows])
    partner = np.empty(len(rows), np.int64)

    def visit(part: slice, squared: np.ndarray) -> None:
        same = labels[part, None] == labels
        if is_accept:
            partner[part] = np.where(same, np.inf, squared).argmin(axis=1)
        else:
            partner[part] = np.where(same, squared, -1).argmax(axis=1)

    for_each_distance_chunk(points, points, points.dtype, visit)
    own = np.arange(len(rows))
    distances = np.sqrt(squared_differences(points, points, own, partner)) * unit
    wrong = (distances <= limit if is_accept else distances > limit) & (partner != own)
    shown, used = list[str](), set[int]()
    for row in np.argsort(distances if is_accept else -distances, kind="stable"):
        pair = (int(row), int(partner[row]))
        if wrong[row] and not used & {*pair} and len(shown) < MOST_PAIRS:
            used |= {*pair}
            shown.append(_card(of, rows[list(pair)], float(distances[row]), pictures))
    title = (
        "False accepts: the nearest pairs of two classes" if is_accept else "False rejects: the farthest of one class"
    )
    searched = f" Searched are {len(rows):,} images." if len(rows) < len(of.labels) else ""
    side = "up to" if is_accept else "beyond"
    note = f"{side} the threshold of {limit:.3g}; an image is shown once.{searched}"
    note = f"{len(shown)} {note}" if shown else f"None {note}" if np.isfinite(limit) else "No threshold, no errors."
    return f"<h3>{title}</h3><p>{said(note)}</p><div class='pairs'>{''.join(shown)}</div>"


def _card(of: Images, rows: np.ndarray, distance: float, pictures: np.ndarray | None) -> str:
    items = rows if of.items is None else np.asarray(of.items)[rows]
    names = [class_name(short_names(of.classes), int(label)) for label in of.labels[rows]]
    words = [f"{html.escape(name)} <small>{item:,}</small>" for name, item in zip(names, items, strict=True)]
    picture = ""
    if pictures is not None:
        pngs = [b64encode(png_of(pictures[item : item + 1], 1)).decode() for item in items]
        picture = "".join(f'<img alt="" src="data:image/png;base64,{png}">' for png in pngs)
    caption = f"<span>{'</span><span>'.join(words)}</span><b>{distance:.3g}</b>"
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _versions(export: RunExport) -> list[tuple[str, str]]:
    info = export.run.info
    now = ", ".join(f"{name} {package_version(name)}" for name in PACKAGES)
    then = [f"{name} {info[name]}" for name in ("dmlviz", "torch") if info.get(name)]
    then += [f"{info['device']}"] if info.get("device") else []
    made = f"{export.run.created:%Y-%m-%d}: {', '.join(map(str, then))}"
    return [("Report", f"{now}, Python {sys.version.split()[0]}, {platform.platform(terse=True)}"), ("Run", made)]


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd></div>" for name, text in rows)


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"
