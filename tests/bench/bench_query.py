"""Does a picture become what the net was trained on? Test images, enlarged and prepared, beside the images themselves.

`python tests/bench/bench_query.py [--images 2000] [--datasets digits]`, with DMLVIZ_DATA set. A prepared image should
be nearest, pixel by pixel, to the test image that it was made of ("own"), and in the embedding to one of its class:
P@1, its own image left out, beside that of the images as they are ("raw"), by a net trained here for 400 steps.

Enlarged tenfold in two ways: blocks, every pixel a square of 10 × 10 (box and nearest are the same there), for which
the shares are promised; and bicubic, which spreads every edge over a neighbor's width, so that the outline is no longer
that of the image. Digits are also asked as drawings: MNIST's own test images as black shapes of 280 × 280, as thick as
they are and with thin strokes. Drawn is P@1 of these, among the digits; no promise, it must not fall.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from dmlviz.config import TrainConfig
from dmlviz.data import Split, available_datasets, load
from dmlviz.data.query_image import prepare
from dmlviz.runs.embed import embed
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record, warm_up

TIMES = 10
WAYS = {"blocks": Image.Resampling.BOX, "bicubic": Image.Resampling.BICUBIC}
AT_LEAST = {"mnist": 0.97, "fashion_mnist": 0.9, "digits": 0.8}  # shares of own images, enlarged in blocks


def a_run(dataset: str, folder: Path) -> Run:
    """Trained for a few seconds."""
    run = Runs(folder).create(TrainConfig(dataset=dataset, steps=400, num_snapshots=1))
    for _event in train_and_record(run, data_root=Path(os.environ["DMLVIZ_DATA"])):
        pass
    assert run.state == "finished", run.state
    return run


def enlarged(image: np.ndarray, way: Image.Resampling, times: int = TIMES) -> np.ndarray:
    """An image (s × s) as a picture (times·s × times·s)."""
    side = times * len(image)
    return np.asarray(Image.fromarray(image).resize((side, side), way))


def own_nearest(prepared: np.ndarray, images: np.ndarray, chosen: np.ndarray) -> float:
    """The share of prepared images (n × s × s) whose nearest of all `images` is the one that they were made of."""
    base, asked = (some.reshape(len(some), -1).astype(np.float32) for some in (images, prepared))
    return float(np.mean(((base**2).sum(axis=1) - 2 * asked @ base.T).argmin(axis=1) == chosen))


def precision_at_1(run: Run, images: np.ndarray, labels: np.ndarray, left_out: np.ndarray | None = None) -> float:
    """The share of images whose nearest test image in the embedding, `left_out` (n) apart, is of their class."""
    asked, known = embed(run, images), run.embeddings
    distances = (known**2).sum(axis=1) - 2 * asked @ known.T
    if left_out is not None:
        distances[np.arange(len(asked)), left_out] = np.inf
    return float(np.mean(run.labels[distances.argmin(axis=1)] == labels))


def drawings(test: Split) -> dict[str, list[np.ndarray]]:
    """MNIST's test images as shapes of one color, and those with 8 pixels less of every stroke."""
    thick = [(enlarged(image, Image.Resampling.BICUBIC) > 127) * np.uint8(255) for image in test.images]
    thin = [np.asarray(Image.fromarray(drawing).filter(ImageFilter.MinFilter(9))) for drawing in thick]
    return {"drawn": thick, "drawn thin": thin}


def main() -> None:
    """Print the table; fail where a share is less than was promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--datasets", nargs="+", default=["mnist", "fashion_mnist", "digits"])
    chosen = parser.parse_args()
    warm_up()
    print(f"{'data set':14s} {'enlarged':>11s} {'images':>7s} {'own':>7s} {'P@1':>7s} {'raw':>7s}")
    for dataset in chosen.datasets:
        test = load(dataset).test
        which = np.linspace(0, len(test.labels) - 1, min(chosen.images, len(test.labels))).astype(int)
        labels = test.labels[which]
        with tempfile.TemporaryDirectory() as folder:
            run = a_run(dataset, Path(folder))
            raw = precision_at_1(run, test.images[which], labels, which)
            for name, way in WAYS.items():
                prepared = np.stack([prepare(enlarged(test.images[item], way), dataset).image for item in which])
                own = own_nearest(prepared, test.images, which)
                found = precision_at_1(run, prepared, labels, which)
                print(f"{dataset:14s} {name:>11s} {len(which):7,} {own:7.3f} {found:7.4f} {raw:7.4f}", flush=True)
                assert name != "blocks" or own >= AT_LEAST.get(dataset, 0), f"{dataset}: {own} of {AT_LEAST[dataset]}"
            if dataset == "digits" and "mnist" in available_datasets():
                asked = load("mnist").test.first(chosen.images)
                for name, pictures in drawings(asked).items():
                    kept = [index for index, picture in enumerate(pictures) if (picture > 0).sum() > 50]
                    prepared = np.stack([prepare(pictures[index], dataset).image for index in kept])
                    found = precision_at_1(run, prepared, asked.labels[kept])
                    print(f"{dataset:14s} {name:>11s} {len(kept):7,} {'–':>7s} {found:7.4f} {'–':>7s}", flush=True)


if __name__ == "__main__":
    main()
