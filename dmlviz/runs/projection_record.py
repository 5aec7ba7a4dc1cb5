"""A projection of a run on disk."""

import contextlib
from functools import cached_property

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.errors import DamagedFileError
from dmlviz.runs.event_log_dir import EventLogDir
from dmlviz.runs.run_info import read_config
from dmlviz.storage.arrays import WHOLE, check_array, read_array, read_arrays, read_shape, take
from dmlviz.storage.file_cache import kept_while_unchanged
from dmlviz.storage.run_schema.descriptions import PROJECTION
from dmlviz.storage.run_schema.events import PROJECTION_EVENT, FrameMeta, ProjectionEnd, ProjectionEvent

STOPPED_STATE = "stopped.npz"  # of a layout that was stopped: what it needs to go on as if it never was
MEASURES = ("trustworthiness", "continuity", "neighbors_kept")  # per-image quality of a finished map


class ProjectionRun(EventLogDir[ProjectionEvent, ProjectionEnd]):
    """A projection of a run: frames while it is computed, `coordinates` at the end."""

    kinds = PROJECTION_EVENT

    @cached_property
    def config(self) -> ProjectionConfig:
        """The settings."""
        return read_config(self.path / "projection.json", ProjectionConfig, PROJECTION)

    @property
    def coordinates(self) -> np.ndarray | None:
        """Final positions (n × dims, float32); None before the end."""
        return read_array(self.path / "coordinates.npy", "f", (self._count, self.config.dims))

    @property
    @kept_while_unchanged("events.jsonl")
    def layouts(self) -> dict[int, FrameMeta]:
        """The frames of the snapshots that it has followed, by step; at the end of a linear one on its last basis."""
        frames: dict[int, FrameMeta] = {}
        for event in self.events():
            if event["event"] == "replay":
                frames |= {frame["step"]: frame for frame in event["frames"]}
            elif event["event"] == "frame" and "step" in event:
                frames[event["step"]] = event["frame"]
        return dict(sorted(frames.items()))

    @property
    def _count(self) -> int | None:
        """Number of points; None before the run has begun."""
        run, config = self.path.parent.parent, self.config
        if config.items is not None and config.whole:
            return len(config.items)
        if config.items is not None:
            indices = read_array(run / "tracked.npy", WHOLE, (None,))
            return None if indices is None else len(np.intersect1d(indices, config.items))
        shape = read_shape(run / ("labels.npy" if config.whole else "tracked.npy"))
        return None if shape is None else shape[0]

    @property
    def resume_state(self) -> tuple[int, np.ndarray, np.ndarray | None] | None:
        """State to resume from: (iteration, positions n × dims, momentum).

        A layout that was stopped left all of it exactly; of one whose process was killed there is the last frame.
        None if the projection must start again: no layout yet, finished, following, or by another library.
        """
        if not self.config.resumable or self.coordinates is not None:
            return None
        for event in reversed(self.events()):
            if event["event"] in ("frame", "finished", "stopped"):
                frame, iteration = event.get("frame"), event.get("iteration")
                if frame and iteration:
                    positions = self.positions(frame)
                    return self._stopped_state(iteration, positions.shape) or (iteration, positions, None)
        return None

    def _stopped_state(
        self, iteration: int, shape: tuple[int, ...]
    ) -> tuple[int, np.ndarray, np.ndarray | None] | None:
        path = self.path / STOPPED_STATE
        with contextlib.suppress(OSError, DamagedFileError):
            arrays = read_arrays(path)
            positions = take(path, arrays, "positions", "f")
            momentum = take(path, arrays, "momentum", "f") if "momentum" in arrays else None
            if int(take(path, arrays, "iteration", "i")) == iteration and positions.shape == shape:
                return (
                    iteration,
                    positions,
                    momentum if momentum is not None and momentum.shape == (2, *shape) else None,
                )
        return None

    @property
    def quality(self) -> dict[str, np.ndarray]:
        """Map quality per test image (n, float32), by measure; empty before the end."""
        path, coordinates = self.path / "faithfulness.npz", self.coordinates
        if not path.exists() or coordinates is None:
            return {}
        arrays = read_arrays(path)
        quality = {name: take(path, arrays, name, "f") for name in MEASURES}
        for values in quality.values():
            check_array(path, values.shape, values.dtype, "f", (len(coordinates),))
        return quality
