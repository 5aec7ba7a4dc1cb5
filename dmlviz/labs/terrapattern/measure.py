"""Measures how many of the most alike tiles of a large picture show the same kind of thing (the lab *terrapattern*)."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, load
from dmlviz.data.dataset import Split
from dmlviz.data.made.pixels import enlarge
from dmlviz.data.made.town import build_town
from dmlviz.errors import UserError
from dmlviz.labs.answers import EmbeddedTiles, TilesQuestion
from dmlviz.labs.kept_arrays import PICTURES, PLAYGROUND
from dmlviz.labs.pair_training import in_chunks, normalize
from dmlviz.labs.terrapattern import CELL, LEAST_COLUMNS, MOST_COLUMNS
from dmlviz.labs.training import fill_with_kept, keep_net, train_to_the_end
from dmlviz.nets import build
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.studies.trial import Trial, TrialContext, TrialStoppedError


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


KS = (1, 2, 5, 10, 20, 50, 100, 200)
DIMENSIONS = 32
PARTS = 8  # of the tiles, whose neighbors are searched one after the other
SHOWN = 8  # clicks that are kept as pictures


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Embed the tiles, and look at the most alike ones of every tile.

    The trial's settings: `method` ("pixels", "untrained" or "trained"), `steps`, `seed`.
    """
    settings = trial.settings
    source = load(trial.dataset, context.data_root)
    town = build_town(source)
    if settings["method"] == "pixels":
        embeddings = town.tiles.reshape(len(town.tiles), -1) / np.float32(255)
    else:
        net = build_net(town.tiles.shape[1], settings["seed"])
        if settings["steps"]:
            train, test = enlarge(source)
            few = Split(test.images[:500], test.labels[:500])  # the scores of this training are not shown
            data = Dataset(source.name, source.classes, train, few, source.mean, source.std)
            config = TrainConfig(
                dataset=trial.dataset,
                net="small",
                embedding_dim=DIMENSIONS,
                steps=settings["steps"],
                seed=settings["seed"],
                num_snapshots=10,
                eval_subset_size=200,
            )
            end = train_to_the_end(config, data, context, share=(0.0, 0.8))
            net.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in end.net_weights.items()})
            if not settings["seed"]:
                keep_net(net, context.folder)
        net.eval()
        embeddings = in_chunks(net, normalize(town.tiles, source.mean, source.std))
    neighbors = _neighbors(embeddings, town.image, town.labels, context)
    right = town.labels[neighbors] == town.labels[:, None]
    _keep_for_playground(context, embeddings)
    _keep(context, town.tiles, town.labels, neighbors)
    names = source.classes
    return {
        "precision": _precision(right),
        "by_class": [
            [names[label], float(right[town.labels == label, :50].mean())] for label in np.unique(town.labels)
        ],
        "tiles": len(town.tiles),
    }


def build_net(size: int, seed: int) -> nn.Module:
    """Create the net that embeds tiles of `size` pixels a side."""
    return build("small", embedding_dim=DIMENSIONS, size=size, seed=seed)


def directions(embeddings: np.ndarray) -> np.ndarray:
    """Return the directions of embeddings (n × d) as signed bytes, from which the page computes who is alike."""
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-9)
    return np.asarray(np.rint(127 * unit), np.int8)


def _neighbors(embeddings: np.ndarray, image: np.ndarray, labels: np.ndarray, context: TrialContext) -> np.ndarray:
    """Return the neighbors of each tile; report the precision of some tiles, drawn at random, while it goes on."""
    index, k = NearestNeighbors(embeddings), max(KS)
    order = np.random.default_rng(0).permutation(len(embeddings))
    neighbors = np.empty((len(embeddings), k), np.int64)
    done = 0
    for rows in np.array_split(order, PARTS):
        if context.stop():
            raise TrialStoppedError
        neighbors[rows] = others_of_another_image(index, image, k, rows)
        done += len(rows)
        right = labels[neighbors[order[:done]]] == labels[order[:done], None]
        context.report(0.8 + 0.2 * done / len(order), precision=_precision(right))
    return neighbors


def _precision(right: np.ndarray) -> list[list[float]]:
    return [[k, float(right[:, :k].mean())] for k in KS]


def others_of_another_image(index: NearestNeighbors, image: np.ndarray, k: int, rows: np.ndarray) -> np.ndarray:
    """Return the k nearest tiles of some tiles, m × k, without those that show the very same image.

    Args:
        index: The tiles' embeddings.
        image: Index of the image of each tile, n; in a small data set one comes several times.
        k: Number of neighbors.
        rows: Indices of tiles, m.
    """
    repeats = int(np.bincount(image).max()) - 1
    neighbors = index.others(k + repeats, rows)[1]
    same = image[neighbors] == image[rows, None]
    return np.take_along_axis(neighbors, same.argsort(axis=1, kind="stable")[:, :k], axis=1)


def _keep_for_playground(context: TrialContext, embeddings: np.ndarray) -> None:
    """Keep the embeddings of the tiles, without their pixels."""
    if embeddings.shape[1] <= DIMENSIONS:
        np.savez_compressed(context.folder / PLAYGROUND, embeddings=directions(embeddings))


def _keep(context: TrialContext, tiles: np.ndarray, labels: np.ndarray, neighbors: np.ndarray) -> None:
    """Keep the results of a few clicks."""
    items = np.linspace(0, len(tiles) - 1, SHOWN).astype(int)
    np.savez_compressed(
        context.folder / PICTURES,
        clicked=tiles[items],
        alike=tiles[neighbors[items, :49]],
        right=(labels[neighbors[items, :50]] == labels[items, None]).mean(1),
    )
