"""Data for embedding a drawing in a page: the net as a program, the embeddings, the preparation of an image."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.catalog.dataset_spec import Framing
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.ops.ball import curvature_of

if TYPE_CHECKING:
    from dmlviz.export.program.writer import Program

_STEPS = 32767  # an int16 has so many steps on either side of 0


@dataclass(frozen=True)
class QueryNet:
    """A net for a page.

    Attributes:
        description: As plain JSON types; see `QueryNet` in frontend/src/standalone/queryNet.ts.
        program: Weights and an image to its embedding.
        weights: The net's weights by name, float32.
        embeddings: The test images' embeddings (n × d, int16), in steps of `description["unit"]`; of a ball float32,
            for near its rim steps would be too coarse.
    """

    description: dict[str, Any]
    program: "Program"
    weights: dict[str, np.ndarray]
    embeddings: np.ndarray


def query_net(export: RunExport) -> QueryNet:
    """Return the trained net of a run for a page.

    Raises:
        UserError: If the images are in color or were given as vectors, the run has no net, or the net holds a layer
            that a page cannot do.
    """
    export = RunExport(export.run)  # whatever part or step a map shows, and of whatever dimensions
    spec = DATASETS[export.run.config.dataset]
    if spec.features is not None:
        raise UserError(
            f"A page embeds a drawing by itself; {spec.title} needs its backbone for that, which is too large for a "
            "page."
        )
    if not spec.trainable:
        raise UserError(f"A drawing needs the net that made the vectors; {spec.title} has none here.")
    if spec.channels != 1:
        raise UserError(f"A drawing is gray; {spec.title} is not: its pages have no drawing pad.")
    from dmlviz.export.program.training import embedding_program
    from dmlviz.nets.models import EmbeddingNet
    from dmlviz.runs.embed import trained_net
    from dmlviz.runs.query_calibration import Judge

    net = trained_net(export.run)
    assert isinstance(net, EmbeddingNet)  # it has no backbone
    program, weights = embedding_program(net, 1, net.image)
    unit = float(np.abs(export.embeddings).max(initial=0)) / _STEPS or 1.0
    basis = export.run.linear_projection
    framing = spec.framing or Framing(box=round(0.8 * spec.size))
    description = {
        "dims": export.embeddings.shape[1],
        "unit": unit,
        "curvature": (curvature := curvature_of(export.embeddings)),
        "calibration": Judge(export.run, compare_images=False).calibration.packed(),
        "mean": spec.mean,
        "std": spec.std,
        "framing": {"size": spec.size, "dark_on_light": spec.dark_on_light, **asdict(framing)},
        "basis": None
        if basis is None
        else {"mean": np.asarray(basis.mean).tolist(), "components": np.asarray(basis.components).tolist()},
    }
    embeddings = export.embeddings.astype("<f4") if curvature else np.rint(export.embeddings / unit).astype("<i2")
    return QueryNet(description, program, weights, embeddings)
