"""Points of which a layout playground draws a map: images of a data set, or of a run."""

from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import load
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.storage.files import write_json
from dmlviz_app.learn.protocol import PointCloud

if TYPE_CHECKING:
    from dmlviz.workers.answers import Target

POINTS, DIMENSIONS = 400, 50


def images_as_points(target: "Target", name: str, dataset: str) -> str:
    """Write some test images of a data set as points: their pixels along the directions of largest variance."""
    test = load(dataset, target.data_root).test
    pixels = test.images[:POINTS].reshape(min(len(test), POINTS), -1).astype(np.float32)
    directions = range(1, min(DIMENSIONS, *pixels.shape) + 1)
    write_json(
        target.file, cloud(LinearProjection.joint_pca([pixels], directions).project(pixels), test.labels, dataset)
    )
    return ""


def cloud(rows: np.ndarray, labels: np.ndarray, dataset: str) -> PointCloud:
    """Return the first rows (n × d) as points, with their classes."""
    classes = [*DATASETS[dataset].classes, "no label"]
    labels = labels[:POINTS] % len(classes)  # -1 is no label
    return {"rows": rows[:POINTS].round(4).tolist(), "labels": labels.tolist(), "classes": classes}
