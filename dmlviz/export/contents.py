"""What is kept of a run: its test images with their classes, places on one map, and neighbors."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FORMATS
from dmlviz.data import sprite_sheet
from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.runs.projection_run import epoch_steps
from dmlviz.runs.run import ProjectionRun, Run

NEIGHBORS = 10


@dataclass(frozen=True)
class SpriteSheets:
    """The test images as PNG sheets of square tiles: `sprite_sheet.COLUMNS` a row, `sprite_sheet.PER_SHEET` a sheet."""

    tile: int
    pngs: tuple[bytes, ...]


@dataclass(frozen=True)
class RunExport:
    """A run as it is to be kept; `drawing` is the projection that is shown, None for the view that the run plays.

    `sheets` None has none where the data set is not on disk.
    """

    run: Run
    drawing: ProjectionRun | None = None
    sheets: SpriteSheets | None = None

    @classmethod
    def from_run(cls, run: Run, drawing: ProjectionRun | None = None, data_root: Path | None = None) -> "RunExport":
        """With the pictures of its data set, where that is on disk."""
        name = run.config.dataset
        if name not in data.available_datasets(data_root):
            return cls(run, drawing)
        images = data.load(name, data_root).test.images
        pngs = tuple(
            sprite_sheet.encode_sheet(images, number) for number in range(sprite_sheet.sheet_count(len(images)))
        )
        return cls(run, drawing, SpriteSheets(int(images.shape[1]), pngs))

    @property
    def step(self) -> int | None:
        """The epoch that the map shows, of a film the last; None for the end, where all test images are."""
        if self.drawing is None:
            return None
        return (
            epoch_steps(self.run, self.drawing.config)[-1]
            if self.drawing.config.all_epochs
            else self.drawing.config.step
        )

    @cached_property
    def items(self) -> np.ndarray:
        """The test images on the map: all, or those that were tracked where it shows an epoch (indices, rising)."""
        return np.arange(len(self.embeddings)) if self.step is None else np.asarray(self.run.tracked_indices)

    @cached_property
    def embeddings(self) -> np.ndarray:
        """Theirs (n × d, float32); raise UserError before the run's end."""
        if self.run.embeddings is None:
            raise UserError(f"{self.run.title} has no embeddings yet; they are written when its training ends.")
        return np.asarray(self.run.embeddings_at(self.step)[0])

    @cached_property
    def labels(self) -> np.ndarray:
        """Their classes (n); raise UserError before the run's end."""
        _ = self.embeddings  # the classes are there before, and alone they are not worth keeping
        return np.asarray(self.run.embeddings_at(self.step)[1])

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return DATASETS[self.run.config.dataset].classes

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Where they lie on the map (n × 2 or 3, float32), of a film at its end; raise UserError before that."""
        if self.drawing is not None:
            found = self.drawing.coordinates
            if found is None:
                raise UserError("This projection is not finished; wait for its end, or draw it again.")
            return np.asarray(found[-1] if self.drawing.config.all_epochs else found)
        embeddings, basis = self.embeddings, self.run.linear_projection
        if basis is None:  # written with the embeddings
            raise DamagedFileError(self.run.path / "basis.npz", MISSING)
        return basis.project(embeddings)

    @cached_property
    def neighbors(self) -> tuple[np.ndarray, np.ndarray]:
        """The ten nearest of each in the embedding: distances (n × k, float32) and items (n × k), itself left out."""
        from dmlviz.ops.gallery import Gallery

        distances, rows = Gallery(self.embeddings, self.labels).kneighbors_all(NEIGHBORS)
        return distances, self.items[rows]

    @property
    def view(self) -> str:
        """What the map is called: a projection's method, or the view that the run plays."""
        if self.drawing is not None:
            return self.drawing.config.method
        basis = self.run.linear_projection
        return basis.kind if basis is not None else ""

    def file_name(self, format: str) -> str:
        """A name for the file, safe on every system: title, view where that matters, the run's first digits."""
        plain = unicodedata.normalize("NFKD", self.run.title).encode("ascii", "ignore").decode().lower()
        words = re.sub("[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-")
        view = "" if self.drawing is None or format == "weights" else f"-{self.view}"
        return f"{words or 'run'}{view}-{self.run.id[:6]}{FORMATS[format].suffix}"
