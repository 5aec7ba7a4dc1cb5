"""t-SNE by scikit-learn and UMAP by umap-learn: the libraries themselves, with our names for their parameters.

Neither shows its positions on the way. Each works in a thread beside the caller, who is told what it does and may give
up at any moment; what was given up ends on its own and hands nothing back. umap-learn is imported here and only here,
because it compiles itself in every process that uses it, which can take a minute or two.
"""

import queue
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dmlviz.bases import Basis
from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection.pace import Frames

_LOOK = 0.1  # seconds between two looks at what the library does
_one_at_a_time = threading.Lock()  # numba's threads must not serve two of these at once


@dataclass(frozen=True)
class ReferenceLayout:
    """Positions (n × dims, float32), what the library says of them, and umap-learn's model to place new points by."""

    coordinates: np.ndarray
    error: float | None
    iterations: int
    place: Callable[[np.ndarray], np.ndarray] | None = None


@dataclass
class _Told:
    """What the working thread says, and whether anybody still waits for it."""

    words: str
    iteration: int = 0
    given_up: bool = False
    said: tuple[str, int] = field(default=("", -1))


def lay_out(
    rows: np.ndarray,
    config: ProjectionConfig,
    frames: Frames,
    labels: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> ReferenceLayout:
    """Lay out embeddings (n × d, float32), from the library's own first positions or from `start` (n × dims)."""
    of = config.params["iterations"]
    first = Basis.principal([rows], range(1, config.dims + 1)).project(rows) if start is None else start
    frames.show(0, of, None, np.asarray(first, np.float32))
    if config.method == "tsne":
        told = _Told("scikit-learn lays out the points; it shows nothing before its end")
        work = partial(_tsne, rows, config, start)
    else:
        told = _Told("umap-learn is compiling, which can take a minute or two")
        work = partial(_umap, rows, config, start, labels, told)
    laid = _waited_for(work, told, frames, of, config.declared.name)
    lost = int((~np.isfinite(laid.coordinates).all(axis=1)).sum())
    if lost:
        raise UserError(
            f"{config.declared.name} gave {lost} of {len(rows)} points no place, because nothing is near enough to "
            "them: use more neighbors, or another metric."
        )
    frames.show(laid.iterations, of, laid.error, laid.coordinates)
    return laid


def _tsne(rows: np.ndarray, config: ProjectionConfig, start: np.ndarray | None) -> ReferenceLayout:
    from sklearn.manifold import TSNE

    params = config.params
    model = TSNE(
        n_components=config.dims,
        perplexity=params["perplexity"],
        early_exaggeration=params["exaggeration"] if start is None else 1.0,
        learning_rate=params["learning_rate"],
        max_iter=params["iterations"],
        metric=params["metric"],
        init=params["init"] if start is None else start,
        method=params["method"],
        random_state=config.seed,
    )
    places = model.fit_transform(rows).astype(np.float32, copy=False)
    error = float(model.kl_divergence_)  # the largest float where the layout ended before it was measured
    done = min(params["iterations"], int(model.n_iter_) + 1)  # n_iter_ is the number of the last, from 0
    return ReferenceLayout(places, error if error < np.finfo(float).max else None, done)


def _umap(
    rows: np.ndarray, config: ProjectionConfig, start: np.ndarray | None, labels: np.ndarray | None, told: _Told
) -> ReferenceLayout:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # it misses TensorFlow, for a part that is not used here
        import umap

    params = config.params
    model = umap.UMAP(
        n_neighbors=params["neighbors"],
        n_components=config.dims,
        metric=params["metric"],
        n_epochs=params["iterations"],
        min_dist=params["min_dist"],
        spread=params["spread"],
        densmap=params["densmap"],
        dens_lambda=params["dens_lambda"],
        target_weight=params["target_weight"],
        init="spectral" if start is None else start,
        random_state=config.seed,
        n_jobs=1,  # with a seed it works on one thread, and warns where it is not told so
        tqdm_kwds={"disable": False, "file": _Ticks(told), "bar_format": "{n}", "mininterval": _LOOK},
    )
    model.fit(rows, labels)
    places = np.asarray(model.embedding_, np.float32)
    place = None if params["densmap"] else partial(_transformed, model)  # densMAP takes no new points
    return ReferenceLayout(places, None, params["iterations"], place)


def _transformed(model: Any, new: np.ndarray) -> np.ndarray:
    with _one_at_a_time:
        return np.asarray(model.transform(new), np.float32)


class _Ticks:
    """The file to which umap-learn's progress bar writes how many iterations are done, and nothing else."""

    def __init__(self, told: _Told) -> None:
        self._told = told

    def write(self, text: str) -> None:
        """Take a number down; raise SystemExit, which ends the thread, where nobody waits any more."""
        if self._told.given_up:
            raise SystemExit
        if text.strip().isdigit() and int(text) > 0:  # before the first is done it still compiles
            self._told.words, self._told.iteration = "umap-learn moves the points", int(text)

    def flush(self) -> None:
        """There is nothing to flush."""


def _waited_for(
    work: Callable[[], ReferenceLayout], told: _Told, frames: Frames, of: int, library: str
) -> ReferenceLayout:
    """What `work` returns, done in a thread; raises Cancelled as soon as somebody asks to stop."""
    from threadpoolctl import threadpool_limits

    done: queue.SimpleQueue[ReferenceLayout | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            with _one_at_a_time, threadpool_limits(1):  # see threads.py
                done.put(work())
        except BaseException as error:
            done.put(error)

    threading.Thread(target=run, daemon=True, name=library).start()
    try:
        while True:
            frames.go_on()
            if told.said != (told.words, told.iteration):
                told.said = told.words, told.iteration
                frames.tell(*told.said, of)
            try:
                result = done.get(timeout=_LOOK)
                break
            except queue.Empty:
                continue
    except BaseException:
        told.given_up = True
        raise
    if isinstance(result, ValueError | TypeError | ArithmeticError | NotImplementedError):
        raise UserError(f"{library} cannot draw this: {result}") from result
    if isinstance(result, BaseException):
        raise result
    return result
