"""The trials of the lab: search, then final runs, then the baseline as papers ran it."""

import math
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.catalog.parameters import Fields
from dmlviz.studies.trial import Size, Trial, TrialResult


@dataclass(frozen=True)
class Dimension:
    """A setting that is searched: `learning_rate`, `loss_learning_rate`, or a parameter of the loss.

    Attributes:
        name: The setting.
        low: Lower end of its range.
        high: Upper end.
        start: Its value in the first trial: what the catalog recommends, within the range.
        log: Whether it is searched on a logarithmic scale.
        whole: Whether it is a whole number.
    """

    name: str
    low: float
    high: float
    start: float
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Contestant:
    """A loss as it competes.

    Attributes:
        key: Its name in the names of trials.
        title: Its name in the tables of the paper.
        year: The year in which it was published.
        loss: Its name in the catalog.
        space: Settings that are searched, besides the learning rate.
        fixed: Fields of `TrainConfig` that are not searched.
        searches: How many searches there are, each independent of the others.
    """

    key: str
    title: str
    year: int
    loss: str
    space: tuple[Dimension, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    searches: int = 1

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Everything that is searched."""
        return (LEARNING_RATE, *self.space)


LEARNING_RATE = Dimension("learning_rate", 3e-4, 3e-2, 4e-3, log=True)


def _contestant(
    key: str, *, space: Sequence[Mapping[str, Any]], fixed: Mapping[str, Any] | None = None, **more: Any
) -> Contestant:
    changes = {name: value or None for name, value in (fixed or {}).items()}
    return Contestant(key=key, space=tuple(Dimension(**one) for one in space), fixed=changes, **more)


_TABLES = tomllib.loads(Path(__file__).with_name("contestants.toml").read_text(encoding="utf-8"))
CONTESTANTS = tuple(_contestant(key, **fields) for key, fields in _TABLES.items())
BY_KEY = {contestant.key: contestant for contestant in CONTESTANTS}
CONTRASTIVE, TRIPLET, NT_XENT, ARCFACE = (BY_KEY[key] for key in ("contrastive", "triplet", "nt_xent", "arcface"))
QUICK_CONTESTANTS = (CONTRASTIVE, TRIPLET, NT_XENT, ARCFACE)
TRIALS: dict[Size, int] = {"quick": 4, "full": 50}  # of the search, for each loss
SEEDS: dict[Size, int] = {"quick": 2, "full": 10}  # of the final runs
FURTHER_SEEDS = 3  # of the final runs of a further search
STEPS: dict[Size, int] = {"quick": 100, "full": 300}
SECONDS_A_STEP = 0.0085  # of a training, on one core
FOLDS = 4


@dataclass(frozen=True)
class Baseline:
    """The contrastive loss as a paper may run it.

    Attributes:
        tuned: Whether it gets the best settings of its search, or those that the catalog recommends.
        changes: Fields of `TrainConfig`: another miner, fewer dimensions.
        seeds: Number of runs.
    """

    tuned: bool
    changes: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[Size, int] = field(default_factory=lambda: SEEDS)


_UNMINED: Fields = {"miner": "all_pairs"}
_SMALLER: Fields = {"embedding_dim": 8}
_ONE_IF_QUICK: dict[Size, int] = {**SEEDS, "quick": 1}
# What papers did, one trick after the other; then the other combinations, for those who switch tricks on and off.
BASELINES = {
    "untuned": Baseline(tuned=False),
    "unmined": Baseline(tuned=False, changes=_UNMINED),
    "smaller": Baseline(tuned=False, changes={**_UNMINED, **_SMALLER}),
    "untuned-smaller": Baseline(tuned=False, changes=_SMALLER, seeds=_ONE_IF_QUICK),
    "tuned-unmined": Baseline(tuned=True, changes=_UNMINED, seeds=_ONE_IF_QUICK),
    "tuned-smaller": Baseline(tuned=True, changes=_SMALLER, seeds=_ONE_IF_QUICK),
    "tuned-unmined-smaller": Baseline(tuned=True, changes={**_UNMINED, **_SMALLER}, seeds=_ONE_IF_QUICK),
}

# What papers did for their own loss alone, one at a time and together; `steps` is a multiple of those of all others.
FAVORS: dict[str, Mapping[str, Any]] = {
    "net": {"net": "lenet"},
    "augmentation": {"augmentation": {"rotate": 5}},
    "optimizer": {"optimizer": "adam"},
    "longer": {"steps": 2},
}
FAVORS["all"] = {name: value for favor in FAVORS.values() for name, value in favor.items()}
LENET_TIMES = 6  # as long as with the usual net

# Each loss once more, this many times as long, with the settings that were chosen for the shorter training.
LONGER = 4


def contestants(size: Size) -> tuple[Contestant, ...]:
    """Return the losses that compete."""
    return QUICK_CONTESTANTS if size == "quick" else CONTESTANTS


def plan(size: Size, dataset: str, results: Sequence[TrialResult]) -> list[Trial]:
    """Return the trials wanted now: of each loss those that are done and the next of its search, or its final runs."""
    by_name = {result.trial.name: result for result in results}
    done, trials = [result.trial for result in results], []
    for contestant in contestants(size):
        search = search_results(contestant, results)
        if len(search) < TRIALS[size]:
            trials.append((len(search), _search_trial(size, dataset, contestant, search)))
            continue
        settings = best_settings(search)
        if settings is not None:
            trials += [
                (TRIALS[size], _trial(size, dataset, f"final-{contestant.key}", contestant, settings, seed, "test"))
                for seed in range(1, SEEDS[size] + 1)
            ]
            longer = {"steps": LONGER}
            long = _trial(size, dataset, f"long-{contestant.key}", contestant, settings, 1, "test", longer)
            trials.append((TRIALS[size] + 3, long))
        for number in further_searches(size, contestant):
            search = search_results(contestant, results, number)
            if len(search) < TRIALS[size]:
                turn = TRIALS[size] + 4 + len(search)
                trials.append((turn, _search_trial(size, dataset, contestant, search, number)))
            elif (settings := best_settings(search)) is not None:
                name = f"{_numbered('final', number)}-{contestant.key}"
                trials += [
                    (2 * TRIALS[size] + 4, _trial(size, dataset, name, contestant, settings, seed, "test"))
                    for seed in range(1, FURTHER_SEEDS + 1)
                ]
    search = search_results(CONTRASTIVE, results)
    best = best_settings(search) if len(search) >= TRIALS[size] else None
    start = next_settings(CONTRASTIVE, [], use_tpe=False)
    for name, baseline in BASELINES.items():
        settings = best if baseline.tuned else start
        if settings is not None:
            trials += [
                (
                    TRIALS[size] + 1,
                    _trial(size, dataset, f"paper-{name}", CONTRASTIVE, settings, seed, "test", baseline.changes),
                )
                for seed in range(1, baseline.seeds[size] + 1)
            ]
    if (winner := favorite(size, results)) is not None:
        settings = best_settings(search_results(winner, results)) or {}
        trials += [
            (
                TRIALS[size] + 2,
                _trial(size, dataset, f"favor-{name}-{winner.key}", winner, settings, 1, "test", changes),
            )
            for name, changes in FAVORS.items()
        ]
    missing = [(turn, trial) for turn, trial in trials if trial.name not in by_name]
    return done + [trial for _, trial in sorted(missing, key=lambda pair: pair[0])]  # each loss in turn


def total(size: Size, dataset: str) -> tuple[int, float]:
    """Return how many trials there will be, and their seconds."""
    losses = len(contestants(size))
    further = sum(len(further_searches(size, one)) for one in contestants(size))
    count = losses * (TRIALS[size] + SEEDS[size]) + further * (TRIALS[size] + FURTHER_SEEDS)
    count += sum(baseline.seeds[size] for baseline in BASELINES.values())
    seconds = count * _seconds(size, {}) + sum(_seconds(size, changes) for changes in FAVORS.values())
    return count + len(FAVORS) + losses, seconds + losses * _seconds(size, {"steps": LONGER})


def favorite(size: Size, results: Sequence[TrialResult]) -> Contestant | None:
    """Return the new loss with the best validation score; None before all searches have ended."""
    rivals = contestants(size)
    searches = [search_results(one, results) for one in rivals]
    if any(len(search) < TRIALS[size] for search in searches):
        return None
    scores = [max((one.values.get("validation") or 0.0 for one in search), default=0.0) for search in searches]
    new = [(score, -number) for number, score in enumerate(scores) if score and rivals[number] != CONTRASTIVE]
    return rivals[-max(new)[1]] if new else None


def search_results(contestant: Contestant, results: Sequence[TrialResult], number: int = 1) -> list[TrialResult]:
    """Return the trials of a loss's search, its first one or a further one, in their order."""
    begin = f"{_numbered('search', number)}-{contestant.key}-"
    own = [result for result in results if result.trial.name.startswith(begin)]
    return sorted(own, key=lambda result: result.trial.name)


def further_searches(size: Size, contestant: Contestant) -> range:
    """Return the numbers of a loss's searches after the first."""
    return range(2, 1 + (contestant.searches if size == "full" else 1))


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}_{number}"


def best_settings(search: Sequence[TrialResult]) -> dict[str, float] | None:
    """Return the settings with the highest validation score; None when every trial failed."""
    results = [result for result in search if result.values.get("validation") is not None]
    if not results:
        return None
    return dict(max(results, key=lambda result: result.values["validation"]).trial.settings["tuned"])


def _search_trial(
    size: Size, dataset: str, contestant: Contestant, search: Sequence[TrialResult], number: int = 1
) -> Trial:
    history = [(dict(result.trial.settings["tuned"]), result.values.get("validation")) for result in search]
    # The way of searching is that of the first trial, wherever the study goes on.
    use_tpe = search[0].trial.settings["search"] == "tpe" if search else has_optuna()
    params = next_settings(contestant, history, use_tpe, number)
    key = f"{_numbered('search', number)}-{contestant.key}"
    trial = _trial(size, dataset, key, contestant, params, number - 1, "validation")
    settings = {**trial.settings, "search": "tpe" if use_tpe else "random"}
    name = f"{key}-{len(search):02d}"
    return Trial(name=name, settings=settings, dataset=dataset, seconds=trial.seconds)


def _trial(
    size: Size,
    dataset: str,
    name: str,
    contestant: Contestant,
    params: Mapping[str, float],
    seed: int,
    score_on: str,
    changes: Mapping[str, Any] | None = None,
) -> Trial:
    fields = {**contestant.fixed, **(changes or {})}
    settings = {
        "contestant": contestant.key,
        "tuned": dict(params),
        "changes": {name: value for name, value in fields.items() if name != "steps"},
        "steps": STEPS[size] * fields.get("steps", 1),
        "seed": seed,
        "score_on": score_on,
    }
    return Trial(name=f"{name}-seed_{seed:02d}", settings=settings, dataset=dataset, seconds=_seconds(size, fields))


def _seconds(size: Size, fields: Mapping[str, Any]) -> float:
    times = fields.get("steps", 1) * (LENET_TIMES if fields.get("net") == "lenet" else 1)
    return float(FOLDS * STEPS[size] * SECONDS_A_STEP * times)


STARTUP_TRIALS = 10  # drawn at random before TPE has something to go by, the recommended settings among them


def has_optuna() -> bool:
    """Return whether Optuna is installed (the extra `study`)."""
    return find_spec("optuna") is not None


def next_settings(
    contestant: Contestant, history: Sequence[tuple[dict[str, float], float | None]], use_tpe: bool, number: int = 1
) -> dict[str, float]:
    """Return the settings of the next trial; the first has those that the catalog recommends.

    Args:
        contestant: The contestant whose settings are searched.
        history: Settings and score of each trial so far, None for one that failed.
        use_tpe: Use Optuna's TPE (Bergstra et al. 2011) instead of drawing at random.
        number: Number of the search: others draw other settings.

    Returns:
        A value for each dimension. Equal arguments give equal values.
    """
    if not history:
        return {dimension.name: _convert(dimension, dimension.start) for dimension in contestant.dimensions}
    seed = zlib.crc32(f"{_numbered(contestant.key, number)}-{len(history)}".encode())
    values = _by_tpe(contestant, history, seed) if use_tpe else _at_random(contestant, seed)
    return {dimension.name: _convert(dimension, values[dimension.name]) for dimension in contestant.dimensions}


def _convert(dimension: Dimension, value: float) -> float:
    """Return a whole number where it must be one, else four significant digits, so that a table can print it."""
    return round(value) if dimension.whole else float(f"{value:.4g}")


def _at_random(contestant: Contestant, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    values = {}
    for dimension in contestant.dimensions:
        low, high = dimension.low, dimension.high
        if dimension.log:
            values[dimension.name] = math.exp(rng.uniform(math.log(low), math.log(high)))
        else:
            values[dimension.name] = float(rng.uniform(low, high))
    return values


def _by_tpe(
    contestant: Contestant, history: Sequence[tuple[dict[str, float], float | None]], seed: int
) -> dict[str, float]:
    import optuna
    from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
    from optuna.trial import TrialState, create_trial

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space: dict[str, BaseDistribution] = {
        dimension.name: IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
        if dimension.whole
        else FloatDistribution(dimension.low, dimension.high, log=dimension.log)
        for dimension in contestant.dimensions
    }
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS, multivariate=True),
    )
    for params, score in history:
        state = TrialState.FAIL if score is None else TrialState.COMPLETE
        study.add_trial(create_trial(params=params, distributions=space, value=score, state=state))
    return dict(study.ask(space).params)
