"""A map that follows embeddings while they change, as those of a net that learns."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.projection.alignment import align_by
from dmlviz.projection.implementation import implementation
from dmlviz.projection.layout import Projection, project
from dmlviz.projection.out_of_sample import place_on
from dmlviz.projection.progress import OnFrame
from dmlviz.projection.registry import Layout
from dmlviz.projection.validation import check, check_embeddings, check_labels, lowered

_COLLAPSED = 1e-3  # of the embeddings' length
_KNOWN = 50  # points, or half of them, must have a place for the map to go on from
_GENTLE = 1.6  # factor of the early affinities of a t-SNE that settles: it ends as well as from scratch, in its place
_NOISE = 1e-4  # of the map: new points that are placed alike separate
_FORMED = 1000  # iterations: neighbors pull a layout together no more
_FRAMES = (6, 2)  # of the first update and of a later one, where one looks on
_MEASURED = 700  # points: the quality of a frame is measured on a sample, see `projection_quality`


@dataclass(frozen=True)
class _State:
    """Where a map stands: its settings, the points' ids (n), its layout, and the frame (n × dims) that was shown."""

    config: ProjectionConfig
    ids: np.ndarray
    layout: Layout
    frame: np.ndarray


class LiveProjection:
    """A map that goes on from where it stands whenever the embeddings change.

    With each update neighbors and affinities are found anew, positions and momentum are kept, and the frame is rotated
    onto the one before it. Equal calls give equal maps on a CPU. A call that raises leaves the map as it was.

    Every parameter of the method is an attribute, too, and may be set between updates: `live.perplexity = 50`.

    Args:
        config: Method ("pca", "tsne", "umap", "pacmap" or "localmap", also "plane" and "fan") and parameters; PCA by
            default. Its number of iterations is that of `settle`.
        device: Torch device, for t-SNE.

    Raises:
        UserError: For another method or engine.

    Examples:
        >>> rows = np.random.default_rng(0).standard_normal((60, 8))
        >>> live = LiveProjection(ProjectionConfig(method="tsne", params={"perplexity": 10}))
        >>> first, second = live.update(rows), live.update(1.1 * rows)
        >>> second.coordinates.shape, live.places(rows[:2]).shape, live.settle(rows).coordinates.shape
        ((60, 2), (2, 2), (60, 2))
        >>> again = LiveProjection(live.config)
        >>> again.begin(second.coordinates, np.arange(60))
        >>> next(again.frames(rows)).coordinates.shape
        (60, 2)
    """

    config: ProjectionConfig
    _state: _State | None

    def __init__(self, config: ProjectionConfig | None = None, *, device: str = "cpu") -> None:
        self.__dict__.update(_device=device, _state=None, config=ProjectionConfig())
        self.config = config or self.config

    def __getattr__(self, name: str) -> Any:
        params = self.config.params if "config" in self.__dict__ else {}
        if name not in params:
            raise AttributeError(f"A live map has no attribute {name!r}; its parameters are {', '.join(params)}")
        return params[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            getattr(self, name)  # says which parameters there are
            name, value = "config", self.config.replace(params=self.config.params | {name: value})
        if name == "config" and not (value.declared.linear or implementation(value).updates[0]):
            raise UserError(
                f"A live map is linear, or drawn step by step by dmlviz itself; got {value.method} by {value.engine}: "
                "use `project` for it."
            )
        self.__dict__[name] = value

    def begin(self, coordinates: np.ndarray, ids: np.ndarray) -> None:
        """Go on from a layout that was kept.

        Args:
            coordinates: Positions (n × dims).
            ids: Which point each row is (n integers).
        """
        layout = Layout(np.asarray(coordinates, np.float32), iterations=_FORMED)
        self._state = _State(self.config, ids, layout, layout.coordinates)

    def places(self, embeddings: Any, *, ids: Any = None, labels: Any = None) -> np.ndarray | None:
        """Return where points (n × dims) are on this map, new ones where it would place them; None if it has none.

        Args:
            embeddings: Embeddings (n × d).
            ids: As for `update`.
            labels: As for `update`.

        Raises:
            UserError: For input that this method cannot project; see `project`.
        """
        rows, numbers, config, _ = self._checked(embeddings, ids, labels)
        return self._places(config, rows, numbers)

    def update(
        self,
        embeddings: Any,
        *,
        ids: Any = None,
        labels: Any = None,
        iterations: int | None = None,
        seconds: float | None = None,
    ) -> Projection:
        """Go on with new embeddings, and return the map.

        Args:
            embeddings: Embeddings (n × d), finite; NumPy or torch.
            ids: Which point each row is (n integers), where points are added or taken away; 0 to n − 1 by default. New
                points begin where the map would place them.
            labels: Classes (n), for the class fan and a supervised UMAP.
            iterations: Iterations of t-SNE or UMAP; by default 150 or 100 the first time, then 25 or 20; of PaCMAP and
                LocalMAP 450 and 40.
            seconds: Go on for so long instead; equal calls then give no equal maps.

        Returns:
            The map. Its `note` says when the space has collapsed; points of equal embeddings stay where they are. Its
            quality is measured on a sample.

        Raises:
            UserError: For input that this method cannot project; see `project`.
        """
        with closing(
            self._maps(embeddings, ids, labels, lambda usual, _: [_turns(iterations or usual, seconds)])
        ) as maps:
            return next(maps)

    def frames(self, embeddings: Any, *, ids: Any = None, labels: Any = None) -> Iterator[Projection]:
        """Go on with new embeddings, and yield the map after every few iterations, as long as one asks for another.

        The sixth map of the first embeddings, and the second of later ones, is that of `update`, turned onto the frame
        before. A linear map is yielded once.

        Args:
            embeddings: As for `update`.
            ids: As for `update`.
            labels: As for `update`.

        Yields:
            The map.

        Raises:
            UserError: As `update`.
        """
        return self._maps(embeddings, ids, labels, _slices)

    def _maps(
        self, embeddings: Any, ids: Any, labels: Any, frames: Callable[[int, int], Iterable[Iterator[float]]]
    ) -> Generator[Projection]:
        rows, ids, config, note = self._checked(embeddings, ids, labels)
        if config.declared.linear:
            layout = Layout(project(rows, config, labels=labels).coordinates)
            yield self._shown(config, rows, ids, layout, note)
            return
        begun = self._begin(config, rows, ids)
        if (rows == rows[0]).all():
            still = begun or Layout(np.zeros((len(rows), config.dims), np.float32), iterations=0)
            yield self._shown(config, rows, ids, still, note)
            return
        method, is_later = implementation(config), begun is not None
        known = check_labels(labels, len(rows)) if config.params.get("supervised") else None
        work = frames(method.updates[is_later], _FRAMES[is_later])
        for layout in method.follow(rows, config, begun, work, known, self._device):
            yield self._shown(config, rows, ids, layout, note)

    def settle(
        self,
        embeddings: Any,
        *,
        ids: Any = None,
        labels: Any = None,
        on_frame: OnFrame | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Projection:
        """Return the whole map of these embeddings, begun where the live one stands: as good as one from scratch.

        In the median, 200 or more known points stay within a tenth of the map, fewer within an eighth. Those of noise,
        which has no layout of its own, move by up to a quarter; its map is no worse for that.

        Args:
            embeddings: Embeddings (n × d) of the points of the live map, and of any number of others.
            ids: As for `update`.
            labels: Classes (n), for the class fan and a supervised UMAP.
            on_frame: As for `project`.
            stop: As for `project`.

        Raises:
            UserError: For input that this method cannot project; see `project`.
        """
        rows, ids, config, note = self._checked(embeddings, ids, labels)
        start = self._places(config, rows, ids)
        drawn, begun = config, 0
        if start is not None and "exaggeration" in config.params:
            gentle = min(_GENTLE, config.params["exaggeration"])
            drawn, begun = config.replace(params=config.params | {"exaggeration": gentle}), 1  # which has early ones
        whole = project(rows, drawn, on_frame, labels=labels, start=start, stop=stop, begun=begun, device=self._device)
        layout = Layout(
            whole.coordinates, whole.error, whole.iterations, whole.explained, whole.momentum, whole.neighbors
        )
        shown = self._shown(config, rows, ids, layout, note)
        return replace(shown, stopped=whole.stopped, measured=whole.measured)

    def _checked(self, embeddings: Any, ids: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, ProjectionConfig, str]:
        rows = check_embeddings(embeddings)
        check(self.config, *rows.shape, labels=labels is not None)
        config, note = lowered(self.config, *rows.shape)
        numbers = np.arange(len(rows)) if ids is None else np.asarray(ids)
        if numbers.shape != (len(rows),) or numbers.dtype.kind not in "iu" or len(np.unique(numbers)) < len(rows):
            raise UserError(f"Each of {len(rows):,} points has an id of its own, a whole number; got {ids!r}.")
        return rows, numbers, config, what_is_odd(rows, config) or note

    def _places(self, config: ProjectionConfig, rows: np.ndarray, ids: np.ndarray) -> np.ndarray | None:
        begun = None if config.declared.linear else self._begin(config, rows, ids)
        return None if begun is None else begun.coordinates

    def _begin(self, config: ProjectionConfig, rows: np.ndarray, ids: np.ndarray) -> Layout | None:
        """Return the layout of these points to go on from; its neighbors only if the points are the same."""
        state = self._state
        if state is None or (state.config.method, state.config.dims) != (config.method, config.dims):
            return None
        layout = state.layout
        if layout.iterations == 0:  # the space was collapsed from the beginning
            return None
        if np.array_equal(ids, state.ids):
            return layout
        _, here, there = np.intersect1d(ids, state.ids, return_indices=True)
        if len(here) < min(_KNOWN, len(ids) / 2):  # so few do not say where the others belong
            return None
        start = np.empty((len(ids), config.dims), np.float32)
        start[here] = layout.coordinates[there]
        new = np.setdiff1d(np.arange(len(ids)), here)
        if len(new):
            noise = np.random.default_rng(config.seed).standard_normal((len(new), config.dims))
            start[new] = place_on(config, rows[here], start[here], rows[new]) + _NOISE * np.ptp(start[here]) * noise
        momentum = None
        if layout.momentum is not None:
            momentum = np.stack([np.zeros_like(start), np.ones_like(start)])
            momentum[:, here] = layout.momentum[:, there]
        return Layout(start, iterations=layout.iterations, momentum=momentum)

    def _shown(
        self, config: ProjectionConfig, rows: np.ndarray, ids: np.ndarray, layout: Layout, note: str
    ) -> Projection:
        frame, before = layout.coordinates, self._state
        if before is not None and before.config.dims == config.dims and not config.declared.identity:
            _, here, there = np.intersect1d(ids, before.ids, return_indices=True)
            if len(here) > 1:
                frame = align_by(frame, frame[here], before.frame[there])
        self._state = _State(config, ids, layout, frame)
        return Projection(
            config,
            rows,
            frame,
            error=layout.error,
            iterations=layout.iterations,
            neighbors=layout.neighbors,
            note=note,
            measured=_MEASURED,
        )


def what_is_odd(rows: np.ndarray, config: ProjectionConfig) -> str:
    """Say in a sentence that embeddings (n × d) are nearly equal, or half of them equal to others."""
    apart = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
    if np.median(apart) <= _COLLAPSED * np.median(np.linalg.norm(rows, axis=1)):  # whatever a few others do
        return f"The {len(rows):,} embeddings are nearly equal: the space has collapsed, and the map shows noise."
    if not config.declared.linear and (places := len({row.tobytes() for row in rows})) <= len(rows) / 2:
        return f"The {len(rows):,} embeddings are in {places:,} places: equal ones lie anywhere in their group."
    return ""


def _slices(iterations: int, frames: int) -> Iterator[Iterator[float]]:
    """Yield the iterations of each frame: of so many, which share the usual ones, and then of ever more."""
    each, turns = -(-iterations // frames), _turns(iterations, None)
    yield from (islice(turns, each) for _ in range(frames))
    while True:
        yield _turns(each, None)


def _turns(iterations: int, seconds: float | None) -> Iterator[float]:
    """Yield what share of the work is done, `iterations` times or for so many seconds, at least once."""
    begin = time.perf_counter()
    for turn in count():
        share = turn / iterations if seconds is None else (time.perf_counter() - begin) / seconds
        if turn > 0 and share >= 1:
            return
        yield min(share, 1.0)
