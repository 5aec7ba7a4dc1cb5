"""The lab *Sketch and photograph*: two domains, with all, the first, the last or no layers in common."""

from collections.abc import Sequence
from typing import NamedTuple

from dmlviz.labs.kept_arrays import MAP, PICTURES, first_arrays
from dmlviz.labs.lab import FigureRow, PicturePair, read_lab
from dmlviz.labs.statistics import caveat, compare, mean_rows, ties
from dmlviz.studies.trial import Size, Trial, TrialResult


class Variant(NamedTuple):
    """A variant.

    Attributes:
        learns: "nothing", "class", "match" (NT-Xent over the batch), "both" of them, "contrastive" (pairs), or
            "match and turn": a second head also says by how much the sketch is turned.
        normalize: Whether embeddings have length 1.
        shared: What the two towers share; "different" ones are built differently, too: sketches go through a net
            without convolutions.
        net: The net of both.
        same_class: Share of the contrastive loss's negatives that are of the class of their photograph.
        turn: Largest turn of a sketch in degrees, either way.
        dimensions: Dimensions of the embeddings.
    """

    learns: str
    normalize: bool
    shared: str
    net: str = "small"
    same_class: float = 0.0
    turn: float = 0.0
    dimensions: int = 64


VARIANTS = {
    "pixels": Variant("nothing", False, "all"),
    "class": Variant("class", False, "all"),
    "match, shared": Variant("match", True, "all"),
    "match, last shared": Variant("match", True, "last"),
    "match, first shared": Variant("match", True, "first"),
    "match, none shared": Variant("match", True, "none"),
    "match, different": Variant("match", True, "different"),
    "both": Variant("both", False, "last"),
    "both, normalized": Variant("both", True, "last"),
    "match, 256 dimensions": Variant("match", True, "last", dimensions=256),
    "match, MLP": Variant("match", True, "last", net="mlp"),
    "both, MLP": Variant("both", True, "last", net="mlp"),
    "contrastive, 20% of its class": Variant("contrastive", True, "last", same_class=0.2),
    "contrastive, 80% of its class": Variant("contrastive", True, "last", same_class=0.8),
    "turned sketches": Variant("match", True, "last", turn=90),
    "turned sketches, and by how much": Variant("match and turn", True, "last", turn=90),
}
STEPS = {"quick": 250, "full": 800}
SEEDS = {"quick": 1, "full": 3}
SECONDS_A_STEP = 0.022
TOWERS = ["match, " + shared for shared in ("shared", "last shared", "first shared", "none shared", "different")]
MAP_OF, TSNE_OF = "match, last shared", "match, 256 dimensions"
ASKED = (MAP_OF, "class")  # whose nets are kept, for drawings of the visitor's


def _plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    trials = []
    for seed in range(SEEDS[size]):
        for name, variant in VARIANTS.items():
            steps = STEPS[size] if variant.learns != "nothing" else 0
            if seed and not steps:
                continue
            usual = Variant._field_defaults
            fields = {key: value for key, value in variant._asdict().items() if value != usual.get(key)}
            settings = {"variant": name, **fields, "steps": steps, "seed": seed}
            trials.append(
                Trial(
                    name=f"{name.replace(', ', '-').replace(' ', '_').replace('%', 'percent')}-seed_{seed}",
                    settings=settings,
                    dataset=dataset,
                    seconds=2 + steps * SECONDS_A_STEP,
                )
            )
    return trials


def _rows(results: Sequence[TrialResult]) -> list[FigureRow]:
    trials = [result for result in results if result.values]
    rows: list[FigureRow] = []
    for variant in VARIANTS:
        own = [result for result in trials if result.trial.settings["variant"] == variant]
        rows += mean_rows("recall", variant, [(k, value) for result in own for k, value in result.values["recall"]])
        for score, words in (("recall_at_1_percent", "the partner, R@1%"), ("class_at_1", "a garment of its class")):
            rows += mean_rows("partner_or_class", words, [(variant, result.values[score]) for result in own])
        turns = [(variant, result.values.get("turn_error")) for result in own]
        rows += mean_rows("turn", "by a second head", turns)
    return rows + _map(trials)


def _map(results: Sequence[TrialResult]) -> list[FigureRow]:
    """Return the maps of both domains: a few pairs of a variant whose last layers are shared."""
    return [
        FigureRow(figure=figure, series=domain, x=float(x), y=float(y))
        for figure, places, variant in (("map", "places", MAP_OF), ("tsne", "tsne", TSNE_OF))
        for arrays in [first_arrays([one for one in results if one.trial.settings["variant"] == variant], MAP)]
        for domain, points in zip(("photographs", "sketches"), arrays.get(places, ()), strict=False)
        for x, y in points
    ]


def _pictures(results: Sequence[TrialResult], figure: str, series: str, x: float | str) -> list[PicturePair]:
    """Return a few sketches, each with the photographs found first."""
    variant = {"map": MAP_OF, "tsne": TSNE_OF, "recall": series}.get(figure, x)
    queries = first_arrays([one for one in results if one.trial.settings["variant"] == variant], PICTURES)
    if not queries:
        return []
    pairs = []
    for sketch, photographs, right in zip(queries["sketches"], queries["photographs"], queries["right"], strict=True):
        rank = f"its photograph comes as number {right.argmax() + 1}" if right.any() else "not the right one"
        pairs.append(PicturePair(images=(sketch, photographs[0]), caption=f"a sketch and what it finds; {rank}"))
    return pairs


def _answer(results: Sequence[TrialResult]) -> str:
    rows = {str(row.x): row for row in LAB.rows(results) if row.series == "the partner, R@1%"}
    if not {"class", MAP_OF} <= rows.keys():
        return "Too many trainings failed to tell."
    towers = {name.removeprefix("match, "): row for name, row in rows.items() if name in TOWERS}
    shares = ", ".join(f"{name} {row.y:.3f}" for name, row in towers.items())
    best = max(towers, key=lambda name: towers[name].y)
    tied = [name for name, row in towers.items() if row in ties(towers[best], [*towers.values()])]
    words = f"R@1% by the weights that the towers share: {shares}. "
    if tied:
        words += f"{best[0].upper()}{best[1:]} has no clear difference to {' and '.join(tied)}. "
    words += f"A net that learned the classes only reaches {rows['class'].y:.3f}"
    if compare(towers[best], rows["class"]) != "higher":
        return f"{words}{caveat(towers[best], rows['class'], '{:.3f}')}."
    return f"{words}: it brings a sketch to the right kind of garment, but not to its own photograph."


LAB = read_lab(__file__, plan=_plan, rows=_rows, answer=_answer, pictures=_pictures)
