"""Embeds the tiles of a visitor's own picture, for the lab *terrapattern*."""

from base64 import b64decode, b64encode
from functools import lru_cache
from pathlib import Path

import numpy as np
from torch import nn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.labs.answers import EmbeddedTiles, TilesQuestion
from dmlviz.labs.pair_training import in_chunks, normalize
from dmlviz.labs.terrapattern import CELL, LEAST_COLUMNS, MOST_COLUMNS
from dmlviz.labs.terrapattern.measure import DIMENSIONS, build_net, directions
from dmlviz.labs.training import fill_with_kept


def answer(question: TilesQuestion) -> EmbeddedTiles:
    """Return where the tiles of a picture are in the embedding.

    Args:
        question: The picture, CELL · columns pixels a side.

    Raises:
        UserError: If the picture is too large or too small, or did not arrive whole.
    """
    columns = int(question["columns"])
    if not LEAST_COLUMNS <= columns <= MOST_COLUMNS:
        raise UserError(f"A picture has {LEAST_COLUMNS} to {MOST_COLUMNS} tiles in a row; got {columns}.")
    pixels = np.frombuffer(b64decode(question["pixels"], validate=True), np.uint8)
    if len(pixels) != (CELL * columns) ** 2:
        raise UserError("The picture did not arrive whole; choose it again.")
    grid = pixels.reshape(columns, CELL, columns, CELL).swapaxes(1, 2).reshape(-1, CELL, CELL)
    spec = DATASETS[question["dataset"]]
    net = _net(question["folder"], question["stamp"])
    embeddings = directions(in_chunks(net, normalize(grid, spec.mean, spec.std)))
    return EmbeddedTiles(embeddings=b64encode(embeddings.tobytes()).decode(), dimensions=DIMENSIONS)


@lru_cache(maxsize=4)
def _net(folder: str, stamp: int) -> nn.Module:
    return fill_with_kept(build_net(CELL, 0), Path(folder))
