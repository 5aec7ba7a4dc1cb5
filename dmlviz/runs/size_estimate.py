"""Size on disk of a run that is not trained yet, and the refusal of one that is too large."""

from dataclasses import dataclass

from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.ops.linear_projection import display_dims
from dmlviz.runs.quota import format_bytes

FLOAT, POSITION = 4, 2  # bytes of a number of an embedding, and of a place on a map


@dataclass(frozen=True)
class SizeEstimate:
    """Bytes of a run's arrays; weights, batches and the log come on top, a few MB.

    Attributes:
        config: The settings.
        tracked: Number of test images that are embedded at each snapshot.
        test_images: Number of all test images, which are embedded at the end.
    """

    config: TrainConfig
    tracked: int
    test_images: int

    @property
    def frame(self) -> int:
        """Bytes of a snapshot's places on the map, which are written while it trains and once more at the end."""
        return self.tracked * display_dims(self.config.embedding_dim) * POSITION

    @property
    def snapshot(self) -> int:
        """Bytes of a snapshot: embeddings, and places on the map."""
        return self.tracked * self.config.embedding_dim * FLOAT + 2 * self.frame

    @property
    def end(self) -> int:
        """Bytes of all test images at the end."""
        return self.test_images * (
            self.config.embedding_dim * FLOAT + display_dims(self.config.embedding_dim) * POSITION
        )

    @property
    def total(self) -> int:
        """Bytes of the whole run."""
        return min(self.config.num_snapshots, self.config.steps) * self.snapshot + self.end

    def check(self, room: int, whose: str) -> None:
        """Raise UserError, with the setting to lower, if the run is larger than `room` bytes, which `whose` names."""
        if self.total <= room:
            return
        config, snapshots = self.config, (room - self.end) // self.snapshot
        if snapshots >= 1:
            remedy = f"lower Snapshots (num_snapshots) to {snapshots:,}"
        else:
            numbers = (self.tracked + self.test_images) * FLOAT  # bytes a dimension
            dims = (room - self.snapshot - self.end) // numbers + config.embedding_dim
            remedy = (
                f"lower Dimensions (embedding_dim) to {dims:,} and Snapshots (num_snapshots) to 1"
                if dims >= 1
                else "delete some runs first"
            )
        what = (
            f"{config.num_snapshots:,} snapshots of {self.tracked:,} test images in {config.embedding_dim:,} dimensions"
        )
        raise UserError(
            f"This run would take about {format_bytes(self.total)}: {what}. {whose} {format_bytes(room)}: {remedy}."
        )


def estimate_size(config: TrainConfig, test_images: int | None = None) -> SizeEstimate:
    """Return the estimated size of a run.

    Args:
        config: The settings.
        test_images: Number of test images of its data set; None where it is unknown.
    """
    if test_images is None:
        return SizeEstimate(config, config.eval_subset_size, config.eval_subset_size)
    return SizeEstimate(config, min(config.eval_subset_size, test_images), test_images)
