"""The engine "reference": scikit-learn's t-SNE and umap-learn's UMAP, with our names for their parameters.

Neither reports intermediate positions. Each runs in a thread; the caller gets its progress and may cancel at any
moment, and a cancelled thread ends later, its result discarded. umap-learn is imported only here, because it compiles
itself in every process that uses it, which can take a minute or two.
"""

import queue
import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.projection.progress import ProgressReporter
from dmlviz.projection.registry import REFERENCE_REGISTRY, Layout, Method, Request

_POLL_INTERVAL_S = 0.1
_library_lock = threading.Lock()  # numba's threads must not serve two layouts at once


@dataclass
class ThreadProgress:
    """Progress of the library's thread, and whether the caller has cancelled it."""

    words: str
    iteration: int = 0
    cancelled: bool = False
    last_report: tuple[str, int] = field(default=("", -1))


class ReferenceMethod(Method):
    """A library's projection, computed in a thread."""

    @abstractmethod
    def compute(self, rows: np.ndarray, request: Request, progress: ThreadProgress) -> Layout:
        """Return the library's layout and report its progress; called in a thread."""

    def fit(self, rows: np.ndarray, request: Request) -> Layout:
        """Return the library's layout.

        Raises:
            CancelledError: If the caller stopped it.
            UserError: If the library rejects the input, or leaves points without a position.
        """
        config, frames, start = request.config, request.frames, request.start
        of = config.params["iterations"]
        first = LinearProjection.joint_pca([rows], range(1, config.dims + 1)).project(rows) if start is None else start
        frames.report(0, of, None, np.asarray(first, np.float32))
        progress = ThreadProgress(config.declared.waiting)
        layout = _run_in_thread(
            partial(self.compute, rows, request, progress), progress, frames, of, config.declared.name
        )
        num_lost = int((~np.isfinite(layout.coordinates).all(axis=1)).sum())
        if num_lost:
            raise UserError(
                f"{config.declared.name} gave {num_lost} of {len(rows):,} points no position, because they have no "
                "near neighbors: use more neighbors, or another metric."
            )
        frames.report(layout.iterations, of, layout.error, layout.coordinates)
        return layout


@REFERENCE_REGISTRY.register("tsne")
class ScikitLearnTSNE(ReferenceMethod):
    """sklearn.manifold.TSNE."""

    def compute(self, rows: np.ndarray, request: Request, progress: ThreadProgress) -> Layout:
        """Return the layout; scikit-learn reports no progress."""
        return _tsne(rows, request)


@REFERENCE_REGISTRY.register("umap")
class UMAPLearn(ReferenceMethod):
    """umap.UMAP."""

    def compute(self, rows: np.ndarray, request: Request, progress: ThreadProgress) -> Layout:
        """Return the layout; umap-learn reports the number of iterations done."""
        return _umap(rows, request, progress)


def _tsne(rows: np.ndarray, request: Request) -> Layout:
    from sklearn.manifold import TSNE

    config, start, params = request.config, request.start, request.config.params
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
    coordinates = model.fit_transform(rows).astype(np.float32, copy=False)
    error = float(model.kl_divergence_)  # the largest float if it was never measured
    done = min(params["iterations"], int(model.n_iter_) + 1)  # n_iter_ is the 0-based number of the last iteration
    return Layout(coordinates, error if error < np.finfo(float).max else None, done)


def _umap(rows: np.ndarray, request: Request, progress: ThreadProgress) -> Layout:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # about TensorFlow, for a part not used here
        import umap

    config, start, params = request.config, request.start, request.config.params
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
        n_jobs=1,  # with a seed it uses one thread, and warns unless this is set
        tqdm_kwds={
            "disable": False,
            "file": _ProgressFile(progress),
            "bar_format": "{n}",
            "mininterval": _POLL_INTERVAL_S,
        },
    )
    model.fit(rows, request.labels)
    coordinates = np.asarray(model.embedding_, np.float32)
    place = None if params["densmap"] else partial(_transform, model)  # densMAP cannot place new points
    return Layout(coordinates, iterations=params["iterations"], place=place)


def _transform(model: Any, new: np.ndarray) -> np.ndarray:
    with _library_lock:
        return np.asarray(model.transform(new), np.float32)


class _ProgressFile:
    """The file of umap-learn's progress bar, which writes only the number of iterations done."""

    def __init__(self, progress: ThreadProgress) -> None:
        self._progress = progress

    def write(self, text: str) -> None:
        """Store the number; raise SystemExit, which ends the thread, after a cancellation."""
        if self._progress.cancelled:
            raise SystemExit
        if text.strip().isdigit() and int(text) > 0:  # before the first iteration it still compiles
            self._progress.words, self._progress.iteration = "umap-learn moves the points", int(text)

    def flush(self) -> None:
        """Do nothing; part of the file protocol."""


def _run_in_thread(
    work: Callable[[], Layout], progress: ThreadProgress, frames: ProgressReporter, of: int, library: str
) -> Layout:
    """Run `work` in a thread and return its result; raise CancelledError as soon as the caller stops it."""
    from threadpoolctl import threadpool_limits

    done: queue.SimpleQueue[Layout | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            with _library_lock, threadpool_limits(1):  # see threads.py
                done.put(work())
        except BaseException as error:
            done.put(error)

    threading.Thread(target=run, daemon=True, name=library).start()
    try:
        while True:
            frames.raise_if_stopped()
            if progress.last_report != (progress.words, progress.iteration):
                progress.last_report = progress.words, progress.iteration
                frames.tell(*progress.last_report, of)
            try:
                result = done.get(timeout=_POLL_INTERVAL_S)
                break
            except queue.Empty:
                continue
    except BaseException:
        progress.cancelled = True
        raise
    if isinstance(result, UserError):
        raise result
    if isinstance(result, ValueError | TypeError | ArithmeticError | NotImplementedError):
        raise UserError(f"{library} cannot draw this: {result}") from result
    if isinstance(result, BaseException):
        raise result
    return result
