"""Use a trained net without dmlviz and without PyTorch: `python examples/use_exported_net.py`.

The first part keeps a ready-made run: its net as ONNX, its test images as an index of FAISS and as a table. The second
part is all that another program needs: onnxruntime embeds pictures, FAISS finds their nearest test images.
"""

import csv
from pathlib import Path

import faiss
import numpy as np
import onnxruntime

from dmlviz import data
from dmlviz.export import RunExport, save
from dmlviz.runs import Runs, runs_folder

folder = Path("exported-net")
folder.mkdir(exist_ok=True)
run = Runs(runs_folder(None)).get("476b1d8df4e46879")  # comes with the program: digits in the plane
for kind in ("onnx", "faiss", "csv"):
    save(kind, RunExport.from_run(run), folder / f"digits.{kind}")

# From here on without dmlviz, but for the pictures.
net = onnxruntime.InferenceSession(folder / "digits.onnx")
index = faiss.read_index(str(folder / "digits.faiss"))
with open(folder / "digits.csv", newline="") as file:
    classes = {int(row["item"]): row["class"] for row in csv.DictReader(file)}

drawn = np.zeros((8, 8), np.uint8)  # a one, light on dark as the digits are
drawn[:, 3:5] = 255
pictures = np.stack([data.load("digits").test.images[42], drawn])  # n × 8 × 8, uint8

(embeddings,) = net.run(None, {"images": pictures[:, None]})  # n × channels × 8 × 8 in, n × d out
squared, items = index.search(embeddings, 5)  # squared Euclidean distances, numbers of test images
for name, distances, found in zip(("test image 42", "drawn one"), np.sqrt(squared.clip(0)), items, strict=True):
    neighbors = ", ".join(f"{item} ({classes[item]}) {d:.3f}" for item, d in zip(found, distances, strict=True))
    print(f"{name}: {neighbors}")
