"""Occlusion maps checked by deletion and insertion: near pairs of test images, against random maps. Prints a table.

Deletion hides pixels of one image of a pair, first those that hold it to the other: the sooner the distance grows, the
better the map. Insertion shows them on an empty ground in the same order: the sooner it falls, the better. A random map
is a field of the same smoothness. Areas under the curves, in shares of the largest distance; means over both images.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from scipy.ndimage import uniform_filter
from scipy.stats import wilcoxon

from dmlviz import data
from dmlviz.config import TrainConfig
from dmlviz.runs.embed import embed
from dmlviz.runs.explanations import WINDOW, occlusion_maps
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

STEPS = 15


def areas(run, pair, maps):
    """The mean distance while pixels of one image are hidden, and while they are shown, in the order of its map."""
    images = [*pair]
    for image, heat in zip(pair, maps, strict=True):
        ground = np.median(np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]]), axis=0).astype(np.uint8)
        ranks = np.empty(heat.size, int)
        ranks[np.argsort(-heat.ravel(), kind="stable")] = np.arange(heat.size)
        ranks = ranks.reshape(heat.shape + (1,) * (image.ndim - 2))
        for shown in (False, True):
            images += [np.where((ranks < count) == shown, image, ground) for count in counts(heat.size)]
    points = embed(run, np.stack(images).astype(np.uint8))
    others = np.repeat(points[[1, 0]], 2 * STEPS, axis=0)
    distances = np.linalg.norm(points[2:] - others, axis=1).reshape(2, 2, STEPS)
    return (distances / distances.max(axis=(1, 2), keepdims=True)).mean(axis=(0, 2))


def counts(pixels):
    return np.linspace(0, pixels, STEPS + 2)[1:-1].astype(int)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", nargs="*", default=["mnist", "fashion_mnist"])
    parser.add_argument("--nets", nargs="*", default=["small", "lenet"])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| data | net | ms a pair | deletion | random | better in | insertion | random | better in | p |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for dataset in options.datasets:
        for net in options.nets:
            with tempfile.TemporaryDirectory() as folder:
                config = TrainConfig(dataset=dataset, net=net, steps=options.steps, num_snapshots=2)
                run = Runs(Path(folder)).create(config)
                for _ in train_and_record(run):
                    pass
                report(run, data.load(dataset).test.images, options.pairs)


def report(run, images, pairs):
    random, rows, times = np.random.default_rng(0), [], []
    for first in random.choice(len(images), pairs, replace=False):
        second = run.neighbors_of_point(run.embeddings[first], 2)[1].item
        pair = images[[first, second]]
        begin = time.perf_counter()
        maps = occlusion_maps(lambda batch: embed(run, batch), pair)
        times.append(1000 * (time.perf_counter() - begin))
        noise = [uniform_filter(random.normal(size=maps.shape[1:]), round(WINDOW * maps.shape[1])) for _ in range(2)]
        noise = [field + (heat != 0) for field, heat in zip(noise, maps, strict=True)]
        rows.append([*areas(run, pair, maps), *areas(run, pair, noise)])
    deletion, insertion, random_deletion, random_insertion = np.array(rows).T
    p = max(
        wilcoxon(deletion, random_deletion, alternative="greater").pvalue,
        wilcoxon(insertion, random_insertion, alternative="less").pvalue,
    )
    print(
        f"| {run.config.dataset} | {run.config.net} | {np.median(times):.0f} | {deletion.mean():.3f} "
        f"| {random_deletion.mean():.3f} | {(deletion > random_deletion).mean():.0%} | {insertion.mean():.3f} "
        f"| {random_insertion.mean():.3f} | {(insertion < random_insertion).mean():.0%} | {p:.1g} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
