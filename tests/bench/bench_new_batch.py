"""A new batch over a map: seconds for 10,000 images over 10,000 test images, and what the test says. Prints a table.

The batches: validation images, as many test images once more but shifted, rotated or darkened, Fashion-MNIST.
"""

import argparse
import tempfile
import time

import numpy as np
from PIL import Image

from dmlviz import data
from dmlviz.config import TrainConfig
from dmlviz.metrics.two_sample import pooled_neighbors, two_sample_test
from dmlviz.runs.new_batch import place
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.training.validation_split import split_training_images


def changed(images, change):
    if change == "darker":
        return (0.6 * images).astype(np.uint8)
    if change == "shifted":
        return np.roll(images, 3, axis=2)
    return np.stack([np.asarray(Image.fromarray(image).rotate(20)) for image in images])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", default="small")
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    mnist = data.load("mnist")
    with tempfile.TemporaryDirectory() as folder:
        run = Runs(folder).create(
            TrainConfig(dataset="mnist", net=arguments.net, steps=arguments.steps, num_snapshots=2)
        )
        for _ in train_and_record(run):
            pass
        rows = split_training_images(run.config, mnist.train.labels).validation
        validation, labels = mnist.train.images[rows], mnist.train.labels[rows]
        batches = {"validation images": (validation, labels)}
        for change in ("darker", "shifted", "rotated"):
            batches[f"validation images, {change}"] = changed(validation, change), labels
        batches["6s alone rotated"] = (
            np.where((labels == 6)[:, None, None], changed(validation, "rotated"), validation),
            labels,
        )
        batches["Fashion-MNIST"] = data.load("fashion_mnist").test.images, None
        print("batch | images | own side | p | first to drift | Holm p <= .05 | far, of 1% usual | s | s of processor")
        for name, (images, ids) in batches.items():
            names = () if ids is None else [str(one) for one in ids]
            began, worked = time.perf_counter(), time.process_time()
            found = place(run, images, names)
            wall, work = time.perf_counter() - began, time.process_time() - worked
            first, drifted = found.classes[0], sum(one.p <= 0.05 for one in found.classes)
            print(
                f"{name} | {len(images):,} | {found.overall.share:.1%} | {found.overall.p:.3f} | {first.label} "
                f"({first.test.share:.1%}) | {drifted} | {len(found.far) / len(images):.1%} | {wall:.2f} | {work:.2f}"
            )
        old = run.embeddings
        new = np.tile(found.embeddings, (3, 1))[: len(old)] + np.random.default_rng(0).normal(0, 0.01, old.shape)
        began, worked = time.perf_counter(), time.process_time()
        two_sample_test(pooled_neighbors(old, new.astype(np.float32)))
        wall, work = time.perf_counter() - began, time.process_time() - worked
        print(f"the test alone, {len(new):,} over {len(old):,}: {wall:.2f} s, {work:.2f} s of processor")
        images = changed(mnist.test.images, "shifted")
        began, worked = time.perf_counter(), time.process_time()
        place(run, images, [str(one) for one in mnist.test.labels])
        wall, work = time.perf_counter() - began, time.process_time() - worked
        print(f"everything, {len(images):,} over {len(old):,}: {wall:.2f} s, {work:.2f} s of processor")


if __name__ == "__main__":
    main()
