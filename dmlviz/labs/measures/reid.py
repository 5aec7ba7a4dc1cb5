"""Re-identification: queries of one camera, searched among the pictures of the others."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlviz.data import load
from dmlviz.data.dataset import Split
from dmlviz.labs.measures.identity_embeddings import embed_test_images
from dmlviz.labs.reid_scores import COLLAPSED_MAP, GALLERY_SIZES, RANKS
from dmlviz.labs.shown_images import images_id
from dmlviz.metrics import evaluate
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.studies.trial import Trial, TrialContext

SHOWN_QUERIES, SHOWN_NEIGHBORS = 12, 10


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train a net, or take raw pixels; search the queries of the test identities.

    Returns:
        `map`, `cmc` at each of `RANKS`, `gallery`: rank-1 and MAP at each of `GALLERY_SIZES` identities, `collapsed`,
        `queries`, `images`.
    """
    data = load(trial.dataset, context.data_root)
    embeddings = embed_test_images(trial.settings["fields"], data, context)
    scores = search(embeddings, data.test)
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
    sizes = {size: search(embeddings, data.test, size) for size in GALLERY_SIZES} if trial.settings["sizes"] else {}
    return {
        "map": scores["map"],
        "cmc": [scores[f"cmc_at_{rank}"] for rank in RANKS],
        "gallery": {
            "rank1": [sizes[size]["cmc_at_1"] for size in sizes],
            "map": [sizes[size]["map"] for size in sizes],
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
