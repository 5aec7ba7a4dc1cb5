"""Use a trained net without dmlviz and without PyTorch: `python examples/use_exported_net.py`.

The first part keeps a ready-made run: its net as ONNX, its test images as an index of FAISS and as a table, and its
threshold. The second part is all that another program needs: onnxruntime embeds pictures, FAISS finds their nearest
test images, the threshold says which are too far from these, and `parts` why two pictures are near.
"""

import csv
import json
from pathlib import Path

import faiss
import numpy as np
import onnxruntime

from dmlviz import data
from dmlviz.export import RunExport, save
from dmlviz.runs import Runs, runs_folder
from dmlviz.runs.thresholds import FILE

folder = Path("exported-net")
folder.mkdir(exist_ok=True)
run = Runs(runs_folder(None)).get("476b1d8df4e46879")  # comes with the program: digits in the plane
for kind, name in {"onnx": "digits.onnx", "faiss": "digits.faiss", "csv": "digits.csv", "thresholds": FILE}.items():
    save(kind, RunExport.from_run(run), folder / name)

# From here on without dmlviz, but for the pictures.
net = onnxruntime.InferenceSession(folder / "digits.onnx")
index = faiss.read_index(str(folder / "digits.faiss"))
limit = json.loads((folder / FILE).read_text())["value"]  # the largest distance that counts as the same
with open(folder / "digits.csv", newline="") as file:
    classes = {int(row["item"]): row["class"] for row in csv.DictReader(file)}


def embed(pictures):
    """Return the embeddings (n × d) of pictures (n × size × size, uint8)."""
    return net.run(None, {"images": pictures[:, None]})[0]


def parts(pair):
    """Return how much farther apart two pictures (2 × size × size) are without each part of either, at each pixel.

    A window of the background moves over both: where it drives them apart, it hides what holds them together.
    """
    size = pair.shape[1]
    width, step = max(2, round(size / 5)), max(1, round(size / 14))
    starts = range(1 - width, size, step)
    changes, counts = np.zeros(pair.shape), np.zeros(pair.shape)
    first, second = embed(pair).astype(float)
    for picture, other, change, count in zip(pair, (second, first), changes, counts, strict=True):
        ground = np.median([picture[0], picture[-1], picture[:, 0], picture[:, -1]]).astype(np.uint8)
        windows = [np.s_[max(0, top) : top + width, max(0, left) : left + width] for top in starts for left in starts]
        windows = [window for window in windows if (picture[window] != ground).any()]
        hidden = np.repeat(picture[None], len(windows), axis=0)
        for one, window in zip(hidden, windows, strict=True):
            one[window] = ground
        for one, window in zip(embed(hidden).astype(float), windows, strict=True):
            change[window] += np.linalg.norm(one - other) - np.linalg.norm(first - second)
            count[window] += 1
    return changes / np.maximum(counts, 1)


if __name__ == "__main__":
    drawn = np.zeros((8, 8), np.uint8)  # a one, light on dark as the digits are
    drawn[:, 3:5] = 255
    pictures = np.stack([data.load("digits").test.images[42], drawn])  # n × 8 × 8, uint8
    squared, items = index.search(embed(pictures), 5)  # squared Euclidean distances, numbers of test images
    for name, distances, found in zip(("test image 42", "drawn one"), np.sqrt(squared.clip(0)), items, strict=True):
        neighbors = ", ".join(f"{item} ({classes[item]}) {d:.3f}" for item, d in zip(found, distances, strict=True))
        print(f"{name}: {'within' if distances[0] <= limit else 'beyond'} the threshold: {neighbors}")
    print("Beyond it is unknown; within, dmlviz ask also compares votes and shapes: known, unsure or unknown.")
    print("The drawn one, without each of its parts:", parts(pictures)[1].round(2), sep="\n")
