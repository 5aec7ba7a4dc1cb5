"""The lab *Same or not*: verification of identities that no net was trained on."""

from collections.abc import Sequence

from dmlviz.labs.identity_nets import NETS, compared_trials
from dmlviz.labs.identity_rows import by_net, having, seed_rows
from dmlviz.labs.lab import PERCENT, SHARE, FigureRow, FigureSpec, Guess, Lab, PicturePair, PrintedRow
from dmlviz.labs.shown_images import images_and_arrays
from dmlviz.labs.statistics import caveat, compare, named_best
from dmlviz.studies.trial import Size, Trial, TrialResult

FALSE_POSITIVE_RATES = tuple(round(10 ** (exponent / 8), 6) for exponent in range(-32, 1))
SCORES = {
    "accuracy_10_fold": "Ten-fold accuracy",
    "roc_auc": "AUC",
    "eer": "Equal error rate",
    "fpr_at_95_recall": "FPR at 95 % recall",
    "recall_at_fpr_001": "Recall at FPR 0.001",
}

COMPARED = (
    *("pixels", "softmax", "contrastive_softmax", "random_triplets", "batch_hard", "center", "normalized_softmax"),
    *("cosface", "arcface", "nt_xent"),
)
QUICK = ("pixels", "softmax", "batch_hard", "nt_xent")
MEASURING_SECONDS = 6.0  # processor seconds of one trial after its training
ERRORS = {"eer": "equal error rate", "fpr_at_95_recall": "false positives at 95 % recall"}

SPHEREFACE = "Liu et al.: SphereFace, CVPR 2017, table of LFW; one model, WebFace"
COSFACE = "Wang et al.: CosFace, CVPR 2018"
ARCFACE = "Deng et al.: ArcFace, CVPR 2019"
PRINTED = {
    "softmax": (97.88, SPHEREFACE),
    "contrastive_softmax": (98.78, SPHEREFACE),
    "random_triplets": (98.70, f"{SPHEREFACE}; its triplets were mined"),
    "center": (99.05, SPHEREFACE),
    "cosface": (99.33, COSFACE),
    "arcface": (99.53, f"{ARCFACE}; m = 0.5"),
}

# Accuracy in percent on LFW, YTF and CFP-FP, by paper; None where it prints none.
BENCHMARKS = ("LFW", "YTF", "CFP-FP")
FACES: dict[tuple[str, str], dict[str, tuple[float | None, ...]]] = {
    ("Liu 2017", "Liu et al.: SphereFace, CVPR 2017; one model, WebFace"): {
        "softmax": (97.88, 93.1, None),
        "softmax + contrastive": (98.78, 93.5, None),
        "triplet": (98.70, 93.4, None),
        "L-softmax": (99.10, 94.0, None),
        "softmax + center": (99.05, 94.4, None),
        "SphereFace": (99.42, 95.0, None),
    },
    ("Wang 2018", COSFACE): {
        "normalized A-softmax": (99.32, 95.4, None),
        "CosFace": (99.33, 96.1, None),
    },
    ("Deng 2019", ARCFACE): {
        "ArcFace 0.4": (99.53, None, 95.41),
        "ArcFace 0.45": (99.46, None, 95.47),
        "ArcFace 0.5": (99.53, None, 95.56),
        "ArcFace 0.55": (99.41, None, 95.32),
        "SphereFace 1.35": (99.11, None, 94.38),
        "CosFace 0.35": (99.51, None, 95.44),
    },
}


def _face_rows() -> list[PrintedRow]:
    return [
        PrintedRow(figure="faces", series=f"{loss} ({paper})", x=benchmark, y=percent, source=source)
        for (paper, source), table in FACES.items()
        for loss, row in table.items()
        for benchmark, percent in zip(BENCHMARKS, row, strict=True)
        if percent is not None
    ]


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


LAB = Lab(
    name="verification",
    aliases=("LFW", "faces", "ROC"),
    title="Same or not?",
    summary="Two pictures of identities never seen in training: one or two? A threshold on the distance decides.",
    reference="Huang, Ramesh, Berg, Learned-Miller: Labeled Faces in the Wild, 2007",
    question="Can a net tell whether two pictures show one identity, when it has never seen that identity?",
    datasets=("identities",),
    plan=_plan,
    measure="dmlviz.labs.verification.measure:measure",
    rows=_rows,
    figures=(
        FigureSpec(
            name="roc",
            title="ROC",
            caption="Pairs of 751 test identities, none of them in training: in each of ten folds up to 2,000 pairs of "
            "one identity and 10,000 of two. Of several seeds (n) the mean with a 95 % t-interval.",
            x_title="false positive rate",
            y_title="recall",
            bounds=SHARE,
            log_x=True,
        ),
        FigureSpec(
            name="accuracy",
            title="Ten-fold accuracy",
            caption="The protocol of LFW: ten folds that share no identity, 300 + 300 pairs in each, the threshold of "
            "a fold from the other nine. Of several seeds (n) the mean with a 95 % t-interval; one seed has none.",
            kind="bar",
            x_title="loss",
            y_title="accuracy",
            bounds=SHARE,
        ),
        FigureSpec(
            name="errors",
            title="Error rates",
            caption="On the pairs of the ROC. Of several seeds (n) the mean with a 95 % t-interval; of one seed a 95 % "
            "bootstrap interval over the identities (n).",
            kind="bar",
            x_title="loss",
            y_title="rate",
            bounds=SHARE,
        ),
        FigureSpec(
            name="distances",
            title="Distances",
            caption="Share of the pairs of each kind in 40 bins, first seed. Where the curves cross, a threshold errs.",
            x_title="distance",
            y_title="share of pairs",
            bounds=SHARE,
        ),
        FigureSpec(
            name="folds",
            title="The ten folds",
            caption="Accuracy of each fold, first seed: 600 pairs of 75 identities each.",
            kind="points",
            x_title="fold",
            y_title="accuracy",
            bounds=SHARE,
        ),
    ),
    guess=Guess(
        question="Raw pixels are right for two of three pairs. The best net, on identities it never saw?",
        options=("Also two of three", "About three of four", "About 95 of 100", "All of them"),
        answer=_answer,
    ),
    literature=(
        *(
            PrintedRow(
                figure="accuracy",
                series="LFW, printed",
                x=NETS[net][0],
                y=percent / 100,
                source=f"{source}; faces of LFW",
            )
            for net, (percent, source) in PRINTED.items()
        ),
        *_face_rows(),
    ),
    printed_figure=FigureSpec(
        name="faces",
        title="Verification of faces, printed",
        caption="Accuracy in percent as the papers print it, with the margin beside a loss: LFW, YouTube Faces (YTF), "
        "frontal against profile (CFP-FP). Training data and nets differ between the papers. Empty: not in that table.",
        kind="cells",
        x_title="benchmark",
        y_title="accuracy, %",
        bounds=PERCENT,
    ),
    literature_note="On faces the step from softmax to a loss on distances or angles is one to two points of 100, near "
    "the ceiling, with nets trained on half a million pictures or more. Here 750 identities with 8 views each are all "
    "there is, so a plain softmax has few pictures for each weight and falls farther behind, and losses that compare "
    "pairs directly gain more than margins on the angle.",
    live=True,
    strip=_strip,
    pictures=_pictures,
    activity="pairs",
)
