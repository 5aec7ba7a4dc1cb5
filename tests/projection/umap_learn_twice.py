"""Draws digits by umap-learn, once through `project` and once directly, and fails where one bit differs.

Called by test_reference.py in a process of its own, with numba's compiler off and every warning an error.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits

from dmlviz.config import ProjectionConfig
from dmlviz.projection import place_on, project
from dmlviz.projection.fuzzy_graph import fit_ab

# What project is told, and what else than the usual umap-learn must be told for the same.
CASES = [
    ({}, {}),
    (
        {"supervised": True, "target_weight": 0.3, "metric": "cosine", "spread": 2.0, "min_dist": 0.5},
        {"target_weight": 0.3, "metric": "cosine", "spread": 2.0, "min_dist": 0.5},
    ),
    ({"densmap": True, "dens_lambda": 1.0}, {"densmap": True, "dens_lambda": 1.0}),
]

images, classes = load_digits(return_X_y=True)
points = images.astype(np.float32) / 16
told: list[tuple[str, int, int]] = []
drawn = []
for params, _ in CASES:
    config = ProjectionConfig(
        method="umap", engine="reference", params={"neighbors": 8, "iterations": 20} | params, seed=4
    )
    drawn.append(project(points[:80], config, labels=classes[:80], on_phase=lambda *phase: told.append(phase)))
assert told[0] == ("umap-learn is compiling, which can take a minute or two", 0, 20), told[0]
assert any(words == "umap-learn moves the points" and of == 20 for words, _, of in told), told

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ImportWarning)
    from umap import UMAP
    from umap.umap_ import find_ab_params

assert np.allclose(fit_ab(0.5, 2.0), find_ab_params(2.0, 0.5), rtol=1e-4)
for projection, (params, same) in zip(drawn, CASES, strict=True):
    model = UMAP(n_neighbors=8, n_epochs=20, random_state=4, n_jobs=1, **same)
    model.fit(points[:80], classes[:80] if "supervised" in params else None)
    assert np.array_equal(projection.coordinates, model.embedding_), params
    new = points[80:83]
    if "densmap" in params:  # umap-learn places none on such a map, so we do
        expected = place_on(projection.config, points[:80], projection.coordinates, new)
    else:
        expected = model.transform(new)
    assert np.array_equal(projection.place(new), expected), params
