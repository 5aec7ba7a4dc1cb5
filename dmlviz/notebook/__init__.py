"""The live map in a notebook: Jupyter, Colab, VS Code, marimo. What draws it loads with the first map."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dmlviz.config import ProjectionConfig
    from dmlviz.notebook.widget import MapWidget

__all__ = ["show"]


def show(
    thing: Any,
    labels: Any = None,
    images: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    projection: "str | ProjectionConfig | None" = None,
    height: int = 460,
    runs: str | Path | None = None,
    data: str | Path | None = None,
) -> "MapWidget":
    """Show a map in a notebook: of embeddings, of a run, or of a training while it goes on.

    Args:
        thing: Embeddings (n × d), PyTorch or NumPy; a table, as for `dmlviz.add_data`; a run; or what `dmlviz.train`
            returns, which is then trained in the background and kept as a run.
        labels: Class of each embedding (n), of any type; missing ones (None, NaN, NA) are gray beside others.
            None for a map without classes. Only with embeddings.
        images: The images (n), as `dmlviz.record` takes them. Only with embeddings.
        classes: Class names, by label. Only with embeddings.
        projection: The map of a run or training: "pca", "tsne", "umap", "pacmap", "localmap" or a
            `ProjectionConfig`, with a layout of each snapshot, drawn by another process where it is not
            there; by default the one that follows a run that is on, as of `dmlviz.record(…, projection="tsne")`, else
            the run's own view.
        height: Height of the map in pixels.
        runs: The runs folder, for a training; by default that of the app.
        data: The data folder, for the images of a run; by default that of the app.

    Returns:
        The widget, which a notebook shows at the end of a cell. Its `pinned` and `selected` can be read and set.

    Raises:
        UserError: For embeddings of a wrong shape, a run without embeddings, or a training that has begun.

    Examples:
        >>> import numpy as np
        >>> show(np.eye(3), ["cat", "dog", "cat"]).selected
        []
    """
    from dmlviz.notebook.display import map_widget

    return map_widget(thing, labels, images, classes, projection, height, runs, data)
