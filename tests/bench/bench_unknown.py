"""Does a net know what it does not know? Prints the share of pictures of each kind that are not sure.

`python tests/bench/bench_unknown.py [--datasets mnist fashion_mnist] [--runs FOLDER]`, with DMLVIZ_DATA set. A net with
the defaults is trained, unless the folder has one, and asked of test images that are left out of the search, and of
what is not of it: drawn large, and prepared. Letters are printed in several typefaces; those that are digits, too, are
left out.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import available_datasets, load
from dmlviz.data.query_image import prepare
from dmlviz.errors import UserError
from dmlviz.runs.embed import embed
from dmlviz.runs.query_calibration import Judge
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

ALPHABETS = {
    "letters A–Z": "ACDEFGHJKMNPRTUVWXY",
    "letters a–z": "abdefghkmnprtuwxy",
    "Greek": "ΓΔΘΛΞΠΣΦΨΩαβγδεζηθλμξπρσφχψω",
    "Cyrillic": "БГДЖИЙЛПФЦЧШЩЫЭЮЯбгджзийклмптфцчшщъыьэюя",
}
FONTS = "DejaVuSans DejaVuSans-Bold DejaVuSerif DejaVuSansMono LiberationSans-Regular LiberationSerif-Regular".split()


def letters(text, side=280):
    for name in FONTS:
        font = ImageFont.truetype(f"{name}.ttf", 200)
        for turn, letter in enumerate(text):
            page = Image.new("L", (side, side), 255)
            ImageDraw.Draw(page).text((side / 2, side / 2), letter, 0, font, "mm")
            yield np.asarray(page.rotate((turn % 2) * 10, fillcolor=255))


def scribbles(count, random, side=280):
    for _ in range(count):
        page = Image.new("L", (side, side), 255)
        knots = random.uniform(0.1, 0.9, (random.integers(4, 9), 2)) * side
        t, at = np.linspace(0, len(knots) - 1, 200), np.arange(len(knots))
        path = [tuple(np.interp(t, at, knots[:, axis]).tolist()[i] for axis in (0, 1)) for i in range(200)]
        ImageDraw.Draw(page).line(path, 0, 14, "curve")
        yield np.asarray(page)


def pictures(random):
    """Pictures by kind, as somebody may send them."""
    kinds = {name: list(letters(text)) for name, text in ALPHABETS.items()}
    kinds["noise"] = [random.integers(0, 256, (280, 280)).astype(np.uint8) for _ in range(50)] + [
        np.asarray(Image.fromarray(random.integers(0, 256, (14, 14)).astype(np.uint8)).resize((280, 280)))
        for _ in range(50)
    ]
    kinds["scribbles"] = list(scribbles(150, random))
    kinds["nothing"] = [
        np.asarray(
            Image.fromarray(random.normal(150, 40, (280, 280)).clip(0, 255).astype(np.uint8)).filter(
                ImageFilter.GaussianBlur(random.uniform(2, 30))
            )
        )
        for _ in range(100)
    ]
    return kinds


def prepared(images, dataset):
    for image in images:
        try:
            yield prepare(image, dataset).image
        except UserError:  # it is refused at once
            continue


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", nargs="*", default=["mnist", "fashion_mnist"])
    parser.add_argument("--runs", type=Path, help="folder with finished runs to ask, in place of training")
    options = parser.parse_args()
    for dataset in options.datasets:
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(options.runs or Path(folder))
            run = next((run for run in runs.list() if run.config == TrainConfig(dataset=dataset)), None)
            if run is None:
                run = runs.create(TrainConfig(dataset=dataset))
                for _ in train_and_record(run):
                    pass
            report(run, dataset)


def report(run, dataset):
    data, random = load(dataset), np.random.default_rng(3)
    left_out = np.random.default_rng(0).permutation(len(data.test.labels))[:2000]
    judge = Judge(run, items=np.setdiff1d(np.arange(len(data.test.labels)), left_out))
    print(f"sure: right in {judge.calibration.level:.0%}, {judge.calibration.needed} neighbors agree")
    kinds = {"its own test images": data.test.images[left_out]}
    for other in ("mnist", "fashion_mnist", "kmnist"):
        alike = DATASETS[dataset].takes_images_of(DATASETS[other])
        if other != dataset and alike and other in available_datasets():
            kinds[other] = load(other).test.images[:400]
    asked = {name: [*prepared(images, dataset)] for name, images in pictures(random).items()}
    kinds |= {name: np.stack(images) for name, images in asked.items() if images}  # the others are refused at once
    print(f"| {dataset}: kind | pictures | not sure | unlike anything | ms each |\n|---|---|---|---|---|")
    for name, images in kinds.items():
        begin = time.process_time()
        signals = judge.signals(images, embed(run, images))
        levels = judge.calibration.levels(signals)
        cost = 1000 * (time.process_time() - begin) / len(images)
        shares = " | ".join(
            f"{np.mean([level in of for level in levels]):.1%}" for of in (("unlike", "unsure"), ("unlike",))
        )
        print(f"| {name} | {len(images)} | {shares} | {cost:.1f} |", flush=True)
        if name == "its own test images":
            sure = np.array(levels) == "sure"
            own = f"{np.mean(signals.label[sure] == data.test.labels[left_out][sure]):.1%}" if sure.any() else "none"
            print(f"| sure ones that are right | {sure.sum()} | {own} | | |")


if __name__ == "__main__":
    main()
