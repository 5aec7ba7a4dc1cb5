"""Does a mixture of the nearest images land where one clicked? Prints the shares of clicks by data set and map.

Clicks are places within the outline of the map (at most a 20th of its width from a point, none within 1% of it, which
would pin the point). The five nearest test images count by the inverse of their distance, as on the page; the net
embeds their mixture, and the map places it. Back is who lands within 5% of the map's width from the click.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from dmlviz_app.answers.mixture import MOST, mix

from dmlviz import data
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.projection import place_on, project
from dmlviz.runs.embed import embed
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

MAPS = {"plane": 2, "pca": 64, "tsne": 64, "umap": 64}  # and the dimensions of the embedding


def clicks(places, count, random):
    """Empty places of a map, and its width."""
    low, high = np.quantile(places, (0.001, 0.999), axis=0)
    width, search = float((high - low)[0]), NearestNeighbors(places.astype(np.float32))
    tried = random.uniform(low, high, (200 * count, 2)).astype(np.float32)
    nearest = search.search(tried, 1)[0][:, 0] / width
    return tried[(nearest > 0.01) & (nearest < 0.05)][:count], width, search


def report(name, method, run, images, options):
    vectors = np.asarray(run.embeddings)
    config = ProjectionConfig(method="pca" if method == "plane" else method)
    places = vectors if method == "plane" else project(vectors, config).coordinates
    asked, width, search = clicks(np.asarray(places), options.clicks, np.random.default_rng(0))
    distances, near = search.search(asked, MOST)
    shares = distances**-options.power
    shares /= shares.sum(axis=1, keepdims=True)
    mixed = np.stack([mix(images, items, share) for items, share in zip(near, shares, strict=True)])
    points = embed(run, mixed)
    landed = points if method == "plane" else place_on(config, vectors, places, points)
    one = np.median([timed(lambda i=i: place_on(config, vectors, places, embed(run, mixed[[i]]))) for i in range(20)])
    away = np.linalg.norm(landed - asked, axis=1) / width
    print(
        f"| {name} | {method} | {len(asked)} | {(away <= 0.05).mean():.0%} | {np.median(away):.1%} | {one:.0f} |",
        flush=True,
    )


def timed(call):
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", nargs="*", default=["mnist", "fashion_mnist"])
    parser.add_argument("--maps", nargs="*", default=[*MAPS])
    parser.add_argument("--clicks", type=int, default=500)
    parser.add_argument("--power", type=float, default=1)
    parser.add_argument("--loss", default="contrastive", help="of the plane")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| data | map | clicks | back | median, of the width | ms |\n|---|---|---|---|---|---|")
    for dataset in options.datasets:
        images, runs = data.load(dataset).test.images, {}
        for method in options.maps:
            size = MAPS[method]
            with tempfile.TemporaryDirectory() as folder:
                loss = {"loss": options.loss, "normalize": False} if size == 2 else {}
                if size not in runs:
                    run = Runs(Path(folder)).create(TrainConfig(dataset=dataset, embedding_dim=size, **loss))
                    for _ in train_and_record(run):
                        pass
                report(dataset, method, run, images, options)


if __name__ == "__main__":
    main()
