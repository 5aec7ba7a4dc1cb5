"""The next settings to try: by Optuna's TPE where it is installed, else drawn at random; the same every time."""

import math
import zlib
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np

from dmlviz.labs.reality_check.contestants import Contestant, Dimension

STARTUP_TRIALS = 10  # drawn at random before TPE has something to go by, the recommended settings among them


def has_optuna() -> bool:
    """Whether Optuna is installed (the extra `study`)."""
    return find_spec("optuna") is not None


def next_settings(
    contestant: Contestant, history: Sequence[tuple[dict[str, float], float | None]], use_tpe: bool
) -> dict[str, float]:
    """Return the settings of the next trial; the first has those that the catalog recommends.

    Args:
        contestant: Whose settings.
        history: Settings and score of each trial so far, None for one that failed.
        use_tpe: Use Optuna's TPE (Bergstra et al. 2011) instead of drawing at random.

    Returns:
        A value for each dimension. Equal arguments give equal values.
    """
    if not history:
        return {dimension.name: _typed(dimension, dimension.start) for dimension in contestant.dimensions}
    seed = zlib.crc32(f"{contestant.key}-{len(history)}".encode())
    values = _by_tpe(contestant, history, seed) if use_tpe else _at_random(contestant, seed)
    return {dimension.name: _typed(dimension, values[dimension.name]) for dimension in contestant.dimensions}


def _typed(dimension: Dimension, value: float) -> float:
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
