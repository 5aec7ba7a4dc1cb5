"""The playground of a site: a page that trains by itself, with images, nets, losses and miners packed beside it."""

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import numpy as np

from dmlviz import data
from dmlviz.catalog.dataset_spec import Framing
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.config import TrainConfig
from dmlviz.data import sprite_sheet
from dmlviz.errors import UserError
from dmlviz.export.packed import Parts, pack_program, pack_weights
from dmlviz.export.page import BUILT
from dmlviz.export.program.training import net_programs, objective_program, update
from dmlviz.export.program.writer import Program
from dmlviz.training.validation_split import split_training_images

PACKED_NETS = ("mlp", "small", "linear")
BATCH = {"embedding_dim": 16, "images_per_class": 8, "sampler": "balanced", "steps": 300}
MOST_TRAIN, MOST_TEST = 10_000, 2_000  # images of a larger data set that a page packs

PAGE = """<header>
<nav><a href="../index.html">{site}</a></nav>
<h1>Playground</h1>
</header>
<main id="playground"><noscript>Training needs JavaScript.</noscript></main>
<footer>This page trains on your own machine, with what came with it: it asks no server.</footer>
<script type="application/json" id="kept">{kept}</script>
<script type="module" src="../playground.js"></script>"""


def write_playground(folder: Path, datasets: Sequence[str], site: str, root: Path | None = None) -> str:
    """Write the files of a playground into the folder of a site.

    Args:
        folder: The folder of the site, in which `playground` is made.
        datasets: Names of data sets of images in gray, with 2 to 20 classes.
        site: Title of the site.
        root: Folder of the data sets; the default one when None.

    Returns:
        The body of the page `playground/index.html`.

    Raises:
        UserError: For a data set that a page cannot train on, or one that is not on this machine.
    """
    place = folder / "playground"
    place.mkdir()
    for name in ("playground.js", "playground_worker.js"):
        (folder / name).write_bytes((BUILT / name).read_bytes())
    bases = {name: _base(name) for name in datasets}
    first = next(iter(bases.values()))
    (place / "losses.bin").write_bytes(pack_objectives(first))
    for name, config in bases.items():
        (place / f"{name}.bin").write_bytes(pack_dataset(config, root))
    titles = {name: DATASETS[name].title for name in datasets}
    kept = json.dumps({"datasets": titles, "losses": "losses.bin"}).replace("<", "\\u003c")
    return PAGE.format(site=html.escape(site), kept=kept)


def write_service_worker(folder: Path) -> None:
    """Write the script that keeps all files of a site in the browser, so that it works offline after a first visit."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    version = sha256(b"".join((folder / name).read_bytes() for name in files)).hexdigest()[:16]
    script = (BUILT / "service_worker.js").read_text(encoding="utf-8")
    given = json.dumps({"version": version, "files": [name for name in files if not name.endswith(".json")]})
    (folder / "service_worker.js").write_text(f"const SITE = {given};\n{script}", encoding="utf-8")


def objectives(base: TrainConfig) -> Iterator[tuple[TrainConfig, Program, dict[str, np.ndarray]]]:
    """Yield the settings of each loss, alone and with each miner, that a page can train with, and its program."""
    for loss in LOSSES:
        kind = {"dataset": base.dataset, "net": base.net, **BATCH, "loss": loss}
        for miner in (None, *MINERS):
            try:
                config = TrainConfig(**kind, miner=miner)
                program, weights = objective_program(config)
            except UserError:
                continue
            yield config, program, weights


def pack_objectives(base: TrainConfig) -> bytes:
    """Return a file with all losses and miners that a page can train with, for the batches of these settings."""
    parts = Parts()
    plain = base.model_dump(mode="json")
    packed = []
    for config, program, weights in objectives(base):
        settings = config.model_dump(mode="json")
        recommended = TrainConfig(dataset=base.dataset, loss=config.loss, **BATCH).miner
        packed.append(
            {
                "loss": config.loss,
                "loss_title": LOSSES[config.loss].title,
                "miner": config.miner,
                "miner_title": MINERS[config.miner].title if config.miner else "All of the batch",
                "recommended": config.miner == recommended,
                "settings": {name: value for name, value in settings.items() if value != plain[name]},
                "normalize": config.normalize,
                "program": pack_program(program, parts),
                "weights": pack_weights(weights, parts),
                "update": update(config),
            }
        )
    return parts.file({"config": plain, "objectives": packed})


def pack_dataset(base: TrainConfig, root: Path | None = None) -> bytes:
    """Return a file with the images of a data set, split as a training splits them, and nets for them."""
    parts, spec, images = Parts(), DATASETS[base.dataset], data.load(base.dataset, root)
    split = split_training_images(base, images.train.labels)
    tests = images.test.images[:MOST_TEST]
    sheets = [sprite_sheet.encode_sheet(tests, i) for i in range(sprite_sheet.sheet_count(len(tests)))]
    framing = spec.framing or Framing(box=round(0.8 * spec.size))
    labels = {"train": images.train.labels[split.train], "validation": images.train.labels[split.scored]}
    pixels = {"train": images.train.images[split.train], "validation": images.train.images[split.scored]}
    labels["test"], pixels["test"] = images.test.labels[:MOST_TEST], tests
    nets = {}
    for net in PACKED_NETS:
        kind = {"dataset": base.dataset, "net": net, **BATCH}
        written = {free: net_programs(TrainConfig(**kind, normalize=not free)) for free in (False, True)}
        nets[net] = {
            "title": NETS[net].title,
            "weights": pack_weights(written[False][2], parts),
            **{
                name: {"net": pack_program(programs[0], parts), "embed": pack_program(programs[1], parts)}
                for name, programs in (("sphere", written[False]), ("free", written[True]))
            },
        }
    described = {
        "dataset": base.dataset,
        "title": spec.title,
        "classes": list(spec.classes),
        "max_train_images": base.max_train_images,
        "all_test_images": len(images.test),
        "size": spec.size,
        "mean": images.mean,
        "std": images.std,
        "framing": {"size": spec.size, "dark_on_light": spec.dark_on_light, **asdict(framing)},
        "labels": {name: parts.add(values.astype(np.uint8)) for name, values in labels.items()},
        "pixels": {name: parts.add(values.astype(np.uint8)) for name, values in pixels.items()},
        "scored": parts.add(split.scored.astype("<i4")),
        "validation_images": len(split.validation),
        "sprites": {
            "pngs": [parts.add(np.frombuffer(png, np.uint8)) for png in sheets],
            "tile": sprite_sheet.tile_side(tests),
        },
        "nets": nets,
    }
    return parts.file(described)


def _base(name: str) -> TrainConfig:
    """Return the default settings of a playground on a data set."""
    spec = DATASETS[name]
    config = TrainConfig(dataset=name, net=PACKED_NETS[0], **BATCH)
    if not spec.trainable or spec.channels != 1 or spec.features is not None:
        raise UserError(f"A playground trains on images in gray; {spec.title} has none: choose another data set.")
    if len(config.train_classes) != config.classes_per_batch:
        raise UserError(
            f"A batch of a playground has {config.classes_per_batch} classes; {spec.title} has "
            f"{len(config.train_classes)}: choose another data set."
        )
    if data.num_train_images(name) > MOST_TRAIN:
        return config.replace(max_train_images=MOST_TRAIN)
    return config
