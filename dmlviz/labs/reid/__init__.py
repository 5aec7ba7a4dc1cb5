"""The lab *Who is it?*: re-identification across cameras, and the table of Hermans, Beyer and Leibe."""

from collections.abc import Sequence

import numpy as np

from dmlviz.catalog.parameters import Fields
from dmlviz.labs.identity_nets import NETS, SECONDS_PER_STEP, by_net, compared_trials, fields_of, having, seed_rows
from dmlviz.labs.kept_arrays import images_and_arrays, kept_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.pictures import picture_grid
from dmlviz.labs.statistics import mean_row, named_best
from dmlviz.studies.trial import Size, Trial, TrialResult

RANKS = (1, 2, 3, 5, 10, 20, 50, 100)
GALLERY_SIZES = (100, 200, 400, 751)  # identities
COLLAPSED_MAP = 0.01  # below it, all embeddings lie in one point
SIZES = "sizes.npz"  # of a trial: rank-1 and MAP with the first one, two, … all identities in the gallery

COMPARED = (
    *("pixels", "softmax", "random_triplets", "batch_all", "batch_all_nonzero", "lifted", "batch_hard"),
    *("arcface", "nt_xent"),
)
QUICK = ("pixels", "softmax", "batch_all_nonzero", "batch_hard", "nt_xent")
MEASURING_SECONDS = 3.0  # processor seconds of one trial after its training

NO_SOFT = ("batch_hard_nonzero", "batch_all_nonzero", "lifted", "lifted_one")  # nothing of a soft term is ever 0
TABLE = ("random_triplets", "offline_hard", "batch_hard_free", "batch_hard", "batch_all", *NO_SOFT)
TABLE_QUICK = ("batch_hard_free", "batch_hard")
SOFT = "soft"
SOFT_TRIPLETS = (
    "random_triplets",
    "offline_hard",
    "batch_all",
)  # whose loss has no margin of that name: it is another loss
MARGINS: tuple[float | str, ...] = (0.1, 0.2, 0.5, 1.0, SOFT)
FREE = "batch_hard_free"
TIMED = ("random_triplets", "offline_hard", "batch_all", "batch_hard")  # mAP over the time of training
TIMED_QUICK = ("random_triplets", "offline_hard", "batch_hard")
LOOKS = 10  # at the test images, while it trains
SHOWN = 8  # of the ranking, beside the query
FREE_TITLE = "batch hard, free space"


def _title(net: str) -> str:
    return FREE_TITLE if net == FREE else NETS[net][0]


def _cell_fields(net: str, margin: float | str, steps: int) -> Fields:
    changes: Fields = {"loss_params": {"margin": margin}, "steps": steps, "seed": 0}
    if net == FREE:
        return fields_of("batch_hard", **changes, normalize=False, classes_per_batch=20, images_per_class=4)
    if margin == SOFT and net in SOFT_TRIPLETS:
        fields = fields_of(net, steps=steps, seed=0, loss="triplet_soft")
        fields["loss_params"] = {
            name: value for name, value in fields.get("loss_params", {}).items() if name != "margin"
        }
        return fields
    return fields_of(net, **changes)


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    nets, table, seeds, steps = (QUICK, TABLE_QUICK, 1, 400) if size == "quick" else (COMPARED, TABLE, 3, 1000)
    trials = compared_trials(nets, seeds, steps, dataset, MEASURING_SECONDS, sizes=True)
    cells = [
        Trial(
            name=f"table-{net}-margin_{margin}",
            settings={"cell": net, "margin": margin, "fields": _cell_fields(net, margin, steps), "sizes": False},
            dataset=dataset,
            seconds=1 + SECONDS_PER_STEP * steps,
        )
        for net in table
        for margin in MARGINS
        if not (net in NO_SOFT and margin == SOFT)
    ]
    timed = [
        Trial(
            name=f"time-{net}",
            settings={"timed": net, "fields": fields_of(net, steps=steps, seed=0), "sizes": False, "looks": LOOKS},
            dataset=dataset,
            seconds=LOOKS + SECONDS_PER_STEP * steps * (2 if net == "offline_hard" else 1),
        )
        for net in (TIMED_QUICK if size == "quick" else TIMED)
    ]
    return [*trials, *cells, *timed]


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for title, group in by_net(results).items():
        rows += seed_rows("cmc", title, RANKS, group, lambda result: result.values["cmc"])
        sizes = having("gallery", group)
        rows += seed_rows("gallery", title, GALLERY_SIZES, sizes, lambda result: result.values["gallery"]["rank1"])
        for series, score in (("mAP", _map), ("rank-1", _rank1)):
            (row,) = seed_rows("scores", series, [0], group, score)
            rows.append(
                FigureRow(figure="scores", series=series, x=title, y=row.y, low=row.low, high=row.high, n=row.n)
            )
    for result in results:
        settings = result.trial.settings
        if "cell" in settings and result.values:
            series, margin = _title(settings["cell"]), str(settings["margin"])
            cells = {"table": result.values["map"], "table_rank1": _rank1(result)[0]}
            rows += [FigureRow(figure=name, series=series, x=margin, y=value) for name, value in cells.items()]
        for seconds, value in result.values.get("curve", ()):
            rows.append(FigureRow(figure="time", series=_title(settings["timed"]), x=seconds, y=value))
    return rows


def size_rows(results: Sequence[TrialResult], size: int) -> list[FigureRow]:
    """Return rank-1 and mAP of each net with a gallery of the first so many identities."""
    rows = []
    for title, group in by_net(results).items():
        scores = [arrays for result in group if (arrays := kept_arrays(result, SIZES))]
        for series, key in (("rank-1", "rank1"), ("mAP", "map")) if scores else ():
            rows.append(mean_row("gallery_size", series, title, [float(one[key][size - 1]) for one in scores]))
    return sorted(rows, key=lambda row: row.series == "mAP")


def _map(result: TrialResult) -> list[float]:
    return [result.values["map"]]


def _rank1(result: TrialResult) -> list[float]:
    return [result.values["cmc"][RANKS.index(1)]]


def _ranking(result: TrialResult, most: int) -> list[PicturePair]:
    """Return queries, each with the nearest pictures of the other cameras, framed by whether they are right."""
    behind = images_and_arrays(result, "ranking.npz")
    if behind is None:
        return []
    images, ranking = behind
    pairs = []
    for query, nearest, right in zip(ranking["query"][:most], ranking["found"], ranking["right"], strict=False):
        picture = picture_grid(images[query], images[nearest[:SHOWN]], right[:SHOWN])
        pairs.append(
            PicturePair(images=(picture,), caption=f"{np.sum(right[:SHOWN])} of the nearest {SHOWN} are right")
        )
    return pairs


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    trials = [result for result in results if result.values]
    best = max(trials, key=lambda result: float(result.values["map"]), default=None)
    return [] if best is None else _ranking(best, 6)


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the rankings of the selected net."""
    if figure.startswith("table"):
        group = [
            result
            for result in results
            if result.values
            and _title(result.trial.settings.get("cell", "pixels")) == series
            and str(result.trial.settings.get("margin")) == str(x)
        ]
    else:
        group = by_net(results).get(str(x) if figure == "scores" else series, [])
    return _ranking(group[0], 12) if group else []


def _answer(results: Sequence[TrialResult]) -> str:
    scores = {str(row.x): row for row in LAB.rows(results) if row.figure == "scores" and row.series == "mAP"}
    if "softmax" not in scores or len(scores) < 3:
        return "Too many trainings failed to tell."
    best = max(scores.values(), key=lambda row: row.y)
    name = named_best(best, [*scores.values()])
    others = ", ".join(f"{title} {scores[title].y:.3f}" for title in ("softmax", "raw pixels") if title in scores)
    name += "," * (name != best.x)  # an insertion ends
    return f"{name[0].upper()}{name[1:]} finds most: mAP {best.y:.3f}, {others}.{_collapse(results)}"


def _collapse(results: Sequence[TrialResult]) -> str:
    """Say which cells of the table collapsed, and what its loss was then; nothing where none did."""
    cells = [result for result in results if "cell" in result.trial.settings and result.values]
    collapsed = [cell for cell in cells if cell.values["collapsed"]]
    if not collapsed:
        return ""
    words = f" Of {len(cells)} cells of the table {len(collapsed)} collapsed: all images lie in one point."
    margins = {cell.trial.settings["margin"] for cell in collapsed}
    if {cell.trial.settings["cell"] for cell in collapsed} == {FREE} and margins == set(MARGINS):
        words += (
            " They are those of batch hard in free space, at every margin: where all distances are 0, every term is "
            "active, and a margin only adds a number to it, so that the forces are the same at all of them (soft: half "
            "as strong). The farthest of three positives pulls harder than the nearest negative pushes, and nothing "
            "keeps the embeddings apart."
        )
    return words


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, strip=_strip, pictures=_pictures)
