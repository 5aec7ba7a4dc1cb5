"""Chooses a loss's defaults by measuring: `python scripts/sweep.py LOSS [field=value,value ...] [--seeds 0 1]`.

Trains it as the learning table does for every learning rate and every value of its main parameter (the first number
among its parameters), or of the fields and parameters given instead, and prints P@1 on the 10,000 test images. One
training takes about eight CPU seconds; what was measured is kept in --results.
"""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from measured import RESULTS, Learned, Measured, setup

from dmlviz.config import TrainConfig
from dmlviz.declarations import LossDeclaration, literal
from dmlviz.errors import UserError
from dmlviz.losses.declared import LOSSES

RATES = (1e-3, 2e-3, 4e-3, 8e-3)
NOISE = 0.003  # P@1: what two seeds of a good loss differ by


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the grid, print it, and say what to choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loss", choices=list(LOSSES))
    parser.add_argument("grid", nargs="*", metavar="field=value,value", help="a setting, or a parameter of the loss")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    measured, loss = Measured(chosen.results), LOSSES[chosen.loss]
    grid = dict(map(_values, chosen.grid)) or _grid(loss)
    found: dict[tuple[Any, ...], float] = {}
    print(f"{loss.title}: P@1 on 10,000 test images, mean of seeds {chosen.seeds}")
    for values in product(*grid.values()):
        try:
            config = _config(loss, dict(zip(grid, values, strict=True)))
        except UserError as error:
            print(f"  left out: {error}")
            continue
        results = [measured(config.but(seed=seed)) for seed in chosen.seeds]
        found[values] = mean(result.precision_at_1 for result in results)
        print(f"  {_named(grid, values):52s} {found[values]:.4f} {_remarks(results)}", flush=True)
    usual = mean(measured(setup(loss.name, seed)).precision_at_1 for seed in chosen.seeds)
    best = max(found, key=lambda values: found[values])
    print(f"  as recommended {usual:.4f}; best: {_named(grid, best)} with {found[best]:.4f}")
    print("  choice: keep what is recommended" if usual >= found[best] - NOISE else "  choice: change it to the best")


def _grid(loss: LossDeclaration) -> dict[str, list[Any]]:
    """Learning rates around the usual one, and half, all and twice the main parameter."""
    rates = sorted({*RATES, setup(loss.name).learning_rate})
    grid: dict[str, list[Any]] = {"learning_rate": rates}
    main = next((parameter for parameter in loss.parameters if parameter.kind is float), None)
    if main is not None and isinstance(main.default, int | float):
        low, high = main.minimum or 0.0, float("inf") if main.maximum is None else main.maximum
        grid[main.name] = sorted({value for f in (0.5, 1, 2) if low <= (value := f * main.default) <= high})
    return grid


def _values(text: str) -> tuple[str, list[Any]]:
    name, _, values = text.partition("=")
    words = {"none": None, "true": True, "false": False}
    return name, [words[value] if value in words else literal(value) for value in values.split(",")]


def _config(loss: LossDeclaration, chosen: dict[str, Any]) -> TrainConfig:
    params = {parameter.name for parameter in loss.parameters}
    given = {name: value for name, value in chosen.items() if name in params}
    return setup(loss.name, loss_params=given, **{name: chosen[name] for name in chosen if name not in params})


def _named(grid: dict[str, list[Any]], values: tuple[Any, ...]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(grid, values, strict=True))


def _remarks(results: list[Learned]) -> str:
    words = ["collapsed"] * any(result.collapsed for result in results)
    words += ["diverged"] * any(result.failed != "" for result in results)
    return " ".join(words)


if __name__ == "__main__":
    main()
