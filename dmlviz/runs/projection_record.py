"""A projection of a run on disk."""

from functools import cached_property

import numpy as np

from dmlviz.config import ProjectionConfig
from dmlviz.runs.event_log_dir import EventLogDir
from dmlviz.runs.run_info import read_config
from dmlviz.storage.arrays import WHOLE, check_array, read_array, read_arrays, read_shape, take
from dmlviz.storage.run_schema.descriptions import PROJECTION
from dmlviz.storage.run_schema.events import PROJECTION_EVENT, ProjectionEnd, ProjectionEvent

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
        """Final positions (n × dims, float32; epochs × n × dims with all_epochs); None before the end."""
        path, config = self.path / "coordinates.npy", self.config
        shape = (self._count, config.dims)
        return read_array(path, "f", (None, *shape) if config.all_epochs else shape)

    @property
    def _count(self) -> int | None:
        """Number of points; None before the run has begun."""
        run, config = self.path.parent.parent, self.config
        if config.items is not None and config.whole:
            return len(config.items)
        if config.items is not None:
            tracked = read_array(run / "tracked.npy", WHOLE, (None,))
            return None if tracked is None else len(np.intersect1d(tracked, config.items))
        shape = read_shape(run / ("labels.npy" if config.whole else "tracked.npy"))
        return None if shape is None else shape[0]

    @property
    def resume_state(self) -> tuple[int, np.ndarray] | None:
        """State to resume from: (iteration, positions n × dims).

        None if the projection must start again: no layout yet, finished, all epochs, or by another library.
        """
        if not self.config.resumable or self.coordinates is not None:
            return None
        for event in reversed(self.events()):
            if event["event"] in ("frame", "finished", "stopped"):
                frame, iteration = event.get("frame"), event.get("iteration")
                if frame and iteration:
                    return iteration, self.positions(frame)
        return None

    @property
    def quality(self) -> dict[str, np.ndarray]:
        """Map quality per test image (n, float32), by measure; empty before the end."""
        path, coordinates = self.path / "faithfulness.npz", self.coordinates
        if not path.exists() or coordinates is None:
            return {}
        stored = read_arrays(path)
        quality = {name: take(path, stored, name, "f") for name in MEASURES}
        for values in quality.values():
            check_array(path, values.shape, values.dtype, "f", (len(coordinates),))
        return quality
