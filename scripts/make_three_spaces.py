"""Writes app/dmlviz_app/learn/three_spaces.json: three embeddings that tie in NMI, F1 and R@1 but not in MAP@R.

After fig. 3 of Musgrave, Belongie, Lim: A metric learning reality check, ECCV 2020. In each, four classes fill a
square tile each and every image has a twin beside it; what differs is how far the tiles keep from each other.
"""

import json
from pathlib import Path

import numpy as np

from dmlviz.metrics import evaluate

FILE = Path(__file__).resolve().parents[1] / "app" / "dmlviz_app" / "learn" / "three_spaces.json"
SCORES = ("nmi", "pairwise_f1", "precision_at_1", "r_precision", "map_at_r")
SPACES = {"Side by side": 1.0, "A gap": 0.78, "Far apart": 0.25}  # side of a tile; their centers are 1 apart
GRID = 4  # twins in a tile: GRID × GRID
TWIN = 0.03


def points(side: float) -> tuple[np.ndarray, np.ndarray]:
    """Return places (n × 2) and classes (n)."""
    rng = np.random.default_rng(0)
    cells = (np.stack(np.meshgrid(np.arange(GRID), np.arange(GRID)), -1).reshape(-1, 2) + 0.5) / GRID - 0.5
    tiles = np.array([[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]])
    places, classes = [], []
    for label, tile in enumerate(tiles):
        for cell in cells:
            middle = tile + side * (cell + rng.uniform(-0.07, 0.07, 2))
            away = rng.normal(size=2)
            away *= side * TWIN / np.linalg.norm(away) / 2
            places += [middle - away, middle + away]
            classes += [label, label]
    return np.round(np.array(places), 4), np.array(classes)


def spaces() -> list[dict[str, object]]:
    """Return each space with its points and its scores by the library."""
    made: list[dict[str, object]] = []
    for title, side in SPACES.items():
        places, classes = points(side)
        scores = evaluate(places, classes, full_ranking=False, verification=False)
        scores = {name: round(scores[name], 4) for name in SCORES}
        made.append({"title": title, "points": places.tolist(), "classes": classes.tolist(), "scores": scores})
    return made


if __name__ == "__main__":
    FILE.write_text(json.dumps(spaces(), separators=(",", ":")) + "\n")
