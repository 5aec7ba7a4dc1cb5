"""The lab *Same or not*: verification of identities that no net was trained on."""

from collections.abc import Sequence

from dmlviz.labs.identity_nets import NETS, by_net, compared_trials, having, seed_rows
from dmlviz.labs.kept_arrays import images_and_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.statistics import caveat, compare, named_best
from dmlviz.studies.trial import Size, Trial, TrialResult

FALSE_POSITIVE_RATES = tuple(round(10 ** (exponent / 8), 6) for exponent in range(-32, 1))
SCORES = {
    "accuracy_10_fold": "Ten-fold accuracy",
    "roc_auc": "AUC",
    "eer": "Equal error rate",
    "fpr_at_95_recall": "FPR at 95% recall",
    "recall_at_fpr_001": "Recall at FPR 0.001",
}

COMPARED = (
    *("pixels", "softmax", "contrastive_softmax", "random_triplets", "batch_hard", "center", "normalized_softmax"),
    *("cosface", "arcface", "nt_xent"),
)
QUICK = ("pixels", "softmax", "batch_hard", "nt_xent")
MEASURING_SECONDS = 6.0  # processor seconds of one trial after its training
ERRORS = {"eer": "equal error rate", "fpr_at_95_recall": "false positives at 95% recall"}


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    nets, seeds, steps = (QUICK, 1, 400) if size == "quick" else (COMPARED, 3, 1000)
    return compared_trials(nets, seeds, steps, dataset, MEASURING_SECONDS)


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    rows: list[FigureRow] = []
    for title, group in by_net(results).items():
        own = having("roc", group)
        rows += seed_rows("roc", title, FALSE_POSITIVE_RATES, own, lambda result: result.values["roc"])
        rows += [_score_row("accuracy", "this lab", title, "accuracy_10_fold", group)]
        if own:
            rows += [_score_row("errors", words, title, name, own) for name, words in ERRORS.items()]
        rows += [
            FigureRow(figure="folds", series=title, x=fold + 1, y=accuracy)
            for fold, accuracy in enumerate(group[0].values["folds"]["accuracy"])
        ]
    best = _best(having("histogram", results))
    if best is not None:
        histogram = best.values["histogram"]
        middles = [(a + b) / 2 for a, b in zip(histogram["edges"], histogram["edges"][1:], strict=False)]
        for kind in ("same", "different"):
            series = f"{kind} identity, {NETS[best.trial.settings['net']][0]}"
            values = zip(middles, histogram[kind], strict=True)
            rows += [FigureRow(figure="distances", series=series, x=x, y=y) for x, y in values]
    return rows


def _score_row(figure: str, series: str, title: str, name: str, group: Sequence[TrialResult]) -> FigureRow:
    """Return a bar: of several seeds their mean with a t-interval, of one a bootstrap over identities."""
    (row,) = seed_rows(figure, series, [0], group, lambda result: [result.values[name]])
    low, high, n = row.low, row.high, row.n
    values = group[0].values
    if len(group) == 1 and name in values.get("low", {}):
        low, high, n = values["low"][name], values["high"][name], values["identities"]
    return FigureRow(figure=figure, series=series, x=title, y=row.y, low=low, high=high, n=n)


def _best(results: Sequence[TrialResult]) -> TrialResult | None:
    trials = [result for result in results if result.values]
    return max(trials, key=lambda result: float(result.values["accuracy_10_fold"]), default=None)


def _worst(result: TrialResult, kinds: Sequence[bool] = (False, True)) -> list[PicturePair]:
    """Return the nearest pairs of two identities that the threshold accepts, and the farthest of one it rejects."""
    behind = images_and_arrays(result, "worst.npz")
    if behind is None:
        return []
    images, arrays = behind
    pairs = []
    for first, second, same, distance, pixels in zip(*(arrays[name] for name in _WORST), strict=True):
        if bool(same) in kinds:
            verdict = "one identity, rejected" if same else "two identities, accepted"
            caption = f"{verdict}: distance {distance:.2f}, pixels {pixels:,.0f}"
            pairs.append(PicturePair(images=(images[first], images[second]), caption=caption))
    return pairs


_WORST = ("first", "second", "same", "distance", "pixel_distance")


def _strip(results: Sequence[TrialResult]) -> list[PicturePair]:
    """Return the three worst of each kind, for the best net."""
    best = _best(results)
    return [] if best is None else [pair for same in (False, True) for pair in _worst(best, (same,))[:3]]


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return the worst pairs of the selected net: its wrong acceptances first."""
    title = x if figure in ("accuracy", "errors") else series.split(", ")[-1]
    group = by_net(results).get(str(title), [])
    return _worst(group[0]) if group else []


def _answer(results: Sequence[TrialResult]) -> str:
    scores = {str(row.x): row for row in LAB.rows(results) if row.figure == "accuracy"}
    pixels = scores.pop("raw pixels", None)
    if pixels is None or not scores:
        return "Too many trainings failed to tell."
    best = max(scores.values(), key=lambda row: row.y)
    name = named_best(best, [*scores.values()])
    words = (
        f"Raw pixels are right for {pixels.y:.1%} of the pairs, the best net ({name}) for {best.y:.1%}"
        f"{caveat(best, pixels, '{:.1%}')}, though it never saw these identities"
    )
    if compare(best, pixels) != "higher":
        return f"{words}."
    return f"{words}: it learned what makes two pictures one identity, not who they are."


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, strip=_strip, pictures=_pictures)
