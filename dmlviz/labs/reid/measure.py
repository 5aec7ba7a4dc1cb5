"""Re-identification: queries of one camera, searched among the pictures of the others."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dmlviz.data import load
from dmlviz.data.dataset import Split
from dmlviz.labs.kept_arrays import images_id
from dmlviz.labs.reid import COLLAPSED_MAP, GALLERY_SIZES, RANKS, SIZES
from dmlviz.labs.training import embed, embed_test_images
from dmlviz.metrics import evaluate
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.studies.trial import Trial, TrialContext
from dmlviz.training.trainer import Trainer

SHOWN_QUERIES, SHOWN_NEIGHBORS = 12, 10


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train a net, or take raw pixels; search the queries of the test identities.

    Returns:
        `map`, `cmc` at each of `RANKS`, `gallery`: rank-1 and MAP at each of `GALLERY_SIZES` identities, `collapsed`,
        `queries`, `images`; `curve`: processor seconds of the training and MAP, at as many looks as `looks` of the
        trial's settings asks for.
    """
    data = load(trial.dataset, context.data_root)
    curve: list[tuple[float, float]] = []
    looks = trial.settings.get("looks", 0)
    every = trial.settings["fields"].get("steps", 0) // looks if looks else 0
    begun, spent = time.process_time(), 0.0

    def look(step: int, trainer: Trainer) -> None:
        nonlocal begun, spent
        spent += time.process_time() - begun
        if every and step % every == 0:
            curve.append((round(spent, 2), search(embed(trainer.net, data.test.images, data), data.test)["map"]))
        begun = time.process_time()

    embeddings = embed_test_images(trial.settings["fields"], data, context, look)
    scores = search(embeddings, data.test)
    ranking = {"map": scores["map"], "cmc": [scores[f"cmc_at_{rank}"] for rank in RANKS]}
    context.report(0.95, **ranking)
    query = np.flatnonzero(data.test.roles["query"])[:: len(np.unique(data.test.labels)) // SHOWN_QUERIES]
    gallery = np.flatnonzero(data.test.roles["query"] == 0)
    query = query[:SHOWN_QUERIES]
    distances, indices = NearestNeighbors(embeddings[gallery]).search(embeddings[query], SHOWN_NEIGHBORS)
    np.savez_compressed(
        context.folder / "ranking.npz",
        query=query.astype(np.int32),
        found=gallery[indices].astype(np.int32),
        right=data.test.labels[gallery[indices]] == data.test.labels[query, None],
        distance=distances.astype(np.float32),
    )
    sizes = size_scores(embeddings, data.test) if trial.settings["sizes"] else {}
    if sizes:
        np.savez_compressed(
            context.folder / SIZES, rank1=sizes["rank1"].astype(np.float32), map=sizes["map"].astype(np.float32)
        )
    return {
        **ranking,
        **({"curve": curve} if looks else {}),
        "gallery": {
            name: [float(sizes[name][size - 1]) for size in GALLERY_SIZES] if sizes else [] for name in ("rank1", "map")
        },
        "collapsed": scores["map"] < COLLAPSED_MAP,
        "queries": scores["queries"],
        "images": images_id(data),
        "made_from": data.note,
    }


def search(embeddings: np.ndarray, test: Split, identities: int | None = None) -> dict[str, float]:
    """Return the scores of the queries, whose own camera is left out of the search (the rule of Market-1501).

    Args:
        embeddings: An embedding of each test image (n × d).
        test: The test images, with the roles query and camera.
        identities: Search only the first identities; all by default.
    """
    used = np.isin(test.labels, np.unique(test.labels)[:identities])
    query, gallery = used & (test.roles["query"] == 1), used & (test.roles["query"] == 0)
    cameras = test.roles["camera"]
    return evaluate(
        embeddings[query],
        test.labels[query],
        embeddings[gallery],
        test.labels[gallery],
        ks=RANKS,
        clustering=False,
        verification=False,
        cameras=cameras[query],
        gallery_cameras=cameras[gallery],
    )


def size_scores(embeddings: np.ndarray, test: Split) -> dict[str, np.ndarray]:
    """Return the scores of the queries among the first one, two, … all identities.

    Args:
        embeddings: An embedding of each test image (n × d).
        test: The test images, with the roles query and camera; no picture of the gallery is of a query's camera.

    Returns:
        `rank1` and `map`, each with a value for 1 to all identities. Of two pictures at one distance the wrong one
        comes first.
    """
    _, identities = np.unique(test.labels, return_inverse=True)
    query, gallery = test.roles["query"] == 1, test.roles["query"] == 0
    if np.intersect1d(test.roles["camera"][query], test.roles["camera"][gallery]).size:
        raise ValueError("the gallery has pictures of a query's camera")
    neighbors, count = identities[gallery], int(identities.max()) + 1
    rank1, precision, queries = np.zeros((3, count))
    for own, distances in zip(
        identities[query], cdist(embeddings[query], embeddings[gallery], "sqeuclidean"), strict=True
    ):
        right = np.sort(distances[neighbors == own])
        wrong, wrong_distances = neighbors[neighbors != own], distances[neighbors != own]
        # For each right picture: how many wrong ones come before it, among the first identities.
        before = np.stack([np.bincount(wrong[wrong_distances <= limit], minlength=count).cumsum() for limit in right])
        places = 1 + np.arange(len(right))[:, None]
        rank1[own:] += before[0, own:] == 0
        precision[own:] += (places / (places + before)).mean(0)[own:]
        queries[own:] += 1
    return {"rank1": rank1 / queries, "map": precision / queries}
