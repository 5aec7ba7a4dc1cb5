"""Contents of an export: test images with classes, positions on one map, and neighbors."""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FORMATS
from dmlviz.config import ProjectionConfig
from dmlviz.config.fields import space_note
from dmlviz.data import sprite_sheet
from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.export.look import Look
from dmlviz.lessons import Lesson
from dmlviz.runs.gallery import Holders
from dmlviz.runs.projection_run import projected_embeddings, projected_items
from dmlviz.runs.run import ProjectionRun, Run

NEIGHBORS = 10
LONGEST = 40  # letters of a title in the name of a file


@dataclass(frozen=True)
class SpriteSheets:
    """The test images as PNG sheets of square tiles of `tile` pixels, as `dmlviz.data.sprite_sheet` makes them."""

    tile: int
    pngs: tuple[bytes, ...]


@dataclass(frozen=True)
class RunExport:
    """A run with one of its maps.

    Attributes:
        run: The run.
        projection: The projection of the map; None for the run's own view.
        sheets: The test images; None if the data set is not on disk.
        look: What a film or figure shows of the map.
        data_root: The data folder; None for the default one.
        holders: Whose threshold it has, as in `kept_threshold`.

    Examples:
        >>> from dmlviz.runs import Runs
        >>> export = RunExport.from_run(Runs().find("Digits in the plane, triplets"))
        >>> export.file_name("csv")[:19], export.problem("csv")
        ('digits-in-the-plane', '')
    """

    run: Run
    projection: ProjectionRun | None = None
    sheets: SpriteSheets | None = None
    look: Look = field(default_factory=Look)
    data_root: Path | None = None
    holders: Holders = None

    @classmethod
    def from_run(cls, run: Run, projection: ProjectionRun | None = None, data_root: Path | None = None) -> "RunExport":
        """Return what a file holds of a run, with the images of its data set if that is on disk.

        Args:
            run: The run.
            projection: A map of it, by default its own view.
            data_root: Folder of the data sets.
        """
        name = run.config.dataset
        if name not in data.available_datasets(data_root):
            return cls(run, projection, data_root=data_root)
        images = data.load(name, data_root).test.images
        pngs = tuple(
            sprite_sheet.encode_sheet(images, number) for number in range(sprite_sheet.sheet_count(len(images)))
        )
        return cls(run, projection, SpriteSheets(sprite_sheet.tile_side(images), pngs), data_root=data_root)

    @property
    def step(self) -> int | None:
        """The step of the map; None for the end with all test images."""
        if self.projection is None:
            return None
        config = self.projection.config
        return config.step if config.whole or not config.follow else self.run.end_step

    @cached_property
    def items(self) -> np.ndarray:
        """Indices of the test images on the map, ascending: all, the tracked ones for a step, or a subset of them."""
        if self.projection is not None:
            return projected_items(self.run, self.projection.config)
        return np.arange(len(self.embeddings))

    @cached_property
    def embeddings(self) -> np.ndarray:
        """Embeddings (n × d, float64 where needed); raises UserError before the run's end."""
        if self.run.embeddings is None:
            raise self.run.lacks("embeddings of all test images")
        return self._shown[0]

    @cached_property
    def labels(self) -> np.ndarray:
        """Class IDs (n); raises UserError before the run's end."""
        _ = self.embeddings  # raises before the end, when labels exist already
        return self._shown[1]

    @cached_property
    def _shown(self) -> tuple[np.ndarray, np.ndarray]:
        if self.projection is None:
            return self.run.embeddings_at(None)
        return projected_embeddings(self.run, self.projection.config, self.step)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names by ID."""
        return DATASETS[self.run.config.dataset].classes

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Positions on the map (n × 2 or 3, float32); raises UserError if the projection is not finished."""
        if self.projection is not None:
            coordinates = self.projection.coordinates
            if coordinates is None:
                raise UserError("This projection is not finished: wait for it, or compute it again.")
            return np.asarray(coordinates)
        embeddings, basis = self.embeddings, self.run.linear_projection
        if basis is None:  # written with the embeddings
            raise DamagedFileError(self.run.path / "basis.npz", MISSING)
        return basis.project(embeddings)

    @cached_property
    def neighbors(self) -> tuple[np.ndarray, np.ndarray]:
        """The ten nearest neighbors of each image: distances and items (n × k), excluding the image itself."""
        from dmlviz.ops.nearest_neighbors import NearestNeighbors

        distances, rows = NearestNeighbors(self.embeddings).others(NEIGHBORS)
        return distances, self.items[rows]

    def problem(self, format: str) -> str:
        """Return why this map cannot be written in a format here, in a sentence; empty if it can.

        Args:
            format: A name in FORMATS.
        """
        if format in ("film", "gif"):
            if len(self.run.embedded_steps) < 2:
                return f"A film needs a training with snapshots; {self.run.title} has one step."
            if self.projection is not None and not self.projection.config.follow:
                title = self.projection.config.declared.title
                return (
                    f"A film needs a layout of each snapshot; this {title} has one: draw all epochs, in Parameters or "
                    "by dmlviz project RUN --follow."
                )
        elsewhere = self.run.recorded or not DATASETS[self.run.config.dataset].trainable
        if format in ("python", "command") and elsewhere:
            return f"A script repeats a training of dmlviz; {self.run.title} was made elsewhere: keep what made it."
        return FORMATS[format].problem

    @property
    def view(self) -> str:
        """Method of the projection, or kind of the run's own view."""
        if self.projection is not None:
            return self.projection.config.method
        basis = self.run.linear_projection
        return basis.kind if basis is not None else self.run.default_view

    @property
    def note(self) -> str:
        """What a picture of the map must say of it; mostly nothing."""
        config = self.run.config
        notes = [space_note(config, self.view, True)]
        if self.projection is not None:
            notes.append(self.projection.config.note(config.embedding_dim))
        return " ".join(filter(None, notes))

    def file_name(self, format: str) -> str:
        """Return a portable file name: title, view if it matters, start of the run ID, format if several end alike.

        A map with settings of its own has the start of its ID, too: those of one method are other files.

        Args:
            format: A name in FORMATS.
        """
        plain = unicodedata.normalize("NFKD", self.run.title).encode("ascii", "ignore").decode().lower()
        words = re.sub("[^a-z0-9]+", "-", plain).strip("-")
        if len(words) > LONGEST:
            words = words[: LONGEST + 1].rpartition("-")[0] or words[:LONGEST]
        view, drawn = "", self.projection
        if drawn is not None and not FORMATS[format].needs_net:
            usual = drawn.config in (ProjectionConfig(method=self.view, follow=follow) for follow in (False, True))
            view = f"-{self.view}" if usual else f"-{self.view}-{drawn.id[:6]}"
        suffix = FORMATS[format].suffix
        kind = f"-{format}" if sum(other.suffix == suffix for other in FORMATS.values()) > 1 else ""
        return f"{words or 'run'}{view}-{self.run.id[:6]}{kind}{suffix}"


@dataclass(frozen=True)
class LessonExport:
    """A lesson with the run of each task, on the map that the task is about."""

    lesson: Lesson
    runs: tuple[RunExport, ...]
