"""Trains every loss on MNIST with three seeds and writes what each learned into docs/LEARNING.md.

`python scripts/learning_table.py [--only LOSS ...] [--other-data] [--results FILE]`: one thread, about half an hour,
half of it for the last table, of other data, which --other-data makes alone. What was measured is kept in FILE, so that
a broken-off table goes on; remove it after a change of the code that trains.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch
from measured import RESULTS, STEPS, TRAIN_IMAGES, Learned, Measured, raw_pixels, setup, untrained

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.parameters import Fields
from dmlviz.config import TrainConfig
from dmlviz.data import load

PAGE = Path(__file__).resolve().parent.parent / "docs/LEARNING.md"
SEEDS = (0, 1, 2)

# Settings that fail, kept to show that they do. On the sphere, or at the usual rate, hardest negatives do learn.
LESSONS: dict[str, Fields] = {
    "contrastive_no_margin": {"loss": "contrastive_no_margin"},
    "tuple_hinge": {"loss": "tuple_hinge"},
    "triplet, cold and fast": {
        "loss": "triplet",
        "miner": "hardest_negative",
        "normalize": False,
        "learning_rate": 0.05,
    },
}

# The losses since 2020, and three before to compare with, on data that are no test of MNIST alone.
LATEST = (
    "contrastive triplet nt_xent supcon proxy_anchor smooth_ap recall_at_k roadmap ranked_list decoupled_contrastive "
    "siglip subcenter_arcface adaface magface sigreg graded_contrastive hyperbolic_contrastive"
).split()
OTHER_DATA = {"digits": "Digits 8 × 8", "fashion_mnist": "Fashion-MNIST", "numbers": "Numbers 00–99"}
LATEST_HEAD = f"""
## The latest on other data

P@1 / MAP@R of all test images among themselves ({{images}}), trained as above, on the first {TRAIN_IMAGES:,}
training images or on all where there are fewer: losses since 2020 and, first, three before them. The settings are those
chosen on MNIST. Mean ± standard deviation over {len(SEEDS)} seeds.

| loss | {" | ".join(OTHER_DATA.values())} |
|---|---|---|---|
"""

HEAD = f"""# What each loss learns

P@1 (the share of images whose nearest neighbor is of their class) and MAP@R of the 10,000 test images of MNIST among
themselves, after training on the first {TRAIN_IMAGES:,} training images: net `small`, 64 dimensions, {STEPS} steps, all
other settings as the loss recommends. Mean ± standard deviation over {len(SEEDS)} seeds (net and batches); made by
`python scripts/learning_table.py`. The recommended settings were chosen on other images: see [SWEEPS.md](SWEEPS.md).

The differences between good losses are of the size of the spread: MNIST tells which losses learn, not which is best.
"""


class Row(NamedTuple):
    """A row of the table: how the loss was trained, and its result with each seed."""

    title: str
    miner: str
    batch: int
    results: list[Learned]


def rows(measured: Measured, only: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """Return each loss's family and row; one seed of all losses comes before the next, for a first look early."""
    asked: dict[str, Fields] = {name: {"loss": name} for name in LOSSES if not LOSSES[name].caveat} | LESSONS
    configs = {name: setup(**fields) for name, fields in asked.items() if not only or name in only}
    for seed in SEEDS:
        for name, config in configs.items():
            result = measured(config.replace(seed=seed))
            print(f"seed {seed}  {name:26s} P@1 {result.precision_at_1:.4f}  {result.cpu_seconds:.1f} s", flush=True)
    for name, config in configs.items():
        family = "lessons" if name in LESSONS else LOSSES[config.loss].family
        results = [measured(config.replace(seed=seed)) for seed in SEEDS]
        yield (
            family,
            Row(
                _title(name, config), f"`{config.miner}`" if config.miner else "", config.effective_batch_size, results
            ),
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, then write the page; with --only, print instead."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="LOSS")
    parser.add_argument("--other-data", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    measured = Measured(chosen.results)
    if chosen.other_data:
        before, _, _ = PAGE.read_text().partition(LATEST_HEAD.splitlines()[1])
        PAGE.write_text(before.rstrip("\n") + "\n" + latest(measured))
        return
    families: dict[str, list[Row]] = {}
    for family, row in rows(measured, chosen.only):
        families.setdefault(family, []).append(row)
    data = load("mnist")
    raw, fresh = raw_pixels(data), [untrained(seed, data) for seed in SEEDS]
    scores = ("precision_at_1", "map_at_r")
    text = HEAD + "\n| without training | P@1 | MAP@R |\n|---|---|---|\n"
    text += f"| raw pixels | {raw[scores[0]]:.4f} | {raw[scores[1]]:.4f} |\n"
    text += f"| the untrained net | {' | '.join(_spread([score[key] for score in fresh]) for key in scores)} |\n"
    for family, members in families.items():
        text += _lessons(members) if family == "lessons" else _table(family, members, raw[scores[0]])
    if chosen.only:
        print(text)
    else:
        PAGE.write_text(text + latest(measured))


def latest(measured: Measured) -> str:
    """Return the table of other data, measuring what is missing."""
    images = ", ".join(f"{len(load(name).test):,} of {title}" for name, title in OTHER_DATA.items())
    text = LATEST_HEAD.format(images=images)
    for loss in LATEST:
        cells = []
        for name in OTHER_DATA:
            results = [measured(setup(loss, seed, dataset=name)) for seed in SEEDS]
            scores = ([one.precision_at_1 for one in results], [one.map_at_r for one in results])
            cells.append(" / ".join(_spread(values, 3) for values in scores))
            print(f"{loss:26s} {name:14s} {cells[-1]}", flush=True)
        text += f"| {_title(loss, setup(loss))} | {' | '.join(cells)} |\n"
    return text


def _table(family: str, members: list[Row], raw: float) -> str:
    text = f"\n## {family.capitalize()}\n\n| loss | miner | batch | P@1 | MAP@R |\n|---|---|---|---|---|\n"
    for title, miner, batch, results in members:
        below = " (below raw pixels)" if mean(result.precision_at_1 for result in results) <= raw else ""
        text += f"| {title} | {miner} | {batch} | {_spread([result.precision_at_1 for result in results])}{below} "
        text += f"| {_spread([result.map_at_r for result in results])} |\n"
    return text


def _lessons(members: list[Row]) -> str:
    text = "\n## Lessons: what does not learn, on purpose\n\n"
    text += "| loss | P@1 | effective rank of 64 | collapse flag |\n|---|---|---|---|\n"
    for title, _, _, results in members:
        ranks = _spread([result.effective_rank for result in results], 1)
        flags = f"{sum(result.collapsed for result in results)} of {len(results)}"
        text += f"| {title} | {_spread([result.precision_at_1 for result in results])} | {ranks} | {flags} |\n"
    return text


def _title(name: str, config: TrainConfig) -> str:
    title = f"{LOSSES[config.loss].title} `{config.loss}`"
    if name in LESSONS and config.miner:
        title += f" with {MINERS[config.miner].title.lower()}, learning rate {config.learning_rate:g} from a cold start"
    return title


def _spread(values: list[float], digits: int = 4) -> str:
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}"


if __name__ == "__main__":
    main()
