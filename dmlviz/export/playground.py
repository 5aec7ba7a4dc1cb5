"""The playground of a site: a page that trains by itself, with images, nets, losses and miners packed beside it."""

import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz import data
from dmlviz.catalog.dataset_spec import Framing
from dmlviz.catalog.datasets import DATASETS, usual_strengths
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS, nets_for
from dmlviz.catalog.projections import layouts_in_page
from dmlviz.config import TrainConfig
from dmlviz.data import sprite_sheet
from dmlviz.errors import UserError
from dmlviz.export.packed import Parts, pack_program, pack_weights
from dmlviz.export.page import BUILT, TEMPLATES
from dmlviz.export.page_contents import own_picture
from dmlviz.export.program.training import net_programs, objective_program, training_program, update
from dmlviz.export.program.writer import Program
from dmlviz.export.site_builder import site_page
from dmlviz.training import sampling
from dmlviz.training.validation_split import split_training_images

PACKED_NETS = ("mlp", "small", "linear")
BATCH = {"embedding_dim": 16, "images_per_class": 8, "sampler": "balanced", "steps": 300}
MOST_TRAIN, MOST_TEST = 10_000, 2_000  # images of a larger data set that a page packs

SCRIPTS = ("playground.js", "playground_worker.js")


def write_playground(
    folder: Path,
    datasets: Sequence[str],
    site: str,
    tasks: Mapping[str, TrainConfig] | None = None,
    root: Path | None = None,
) -> dict[str, str]:
    """Write the page `playground/index.html` with its files into the folder of a site.

    Args:
        folder: The folder of the site, in which `playground` is made.
        datasets: Names of data sets of images in gray, with 2 to 20 classes.
        site: Title of the site.
        tasks: Further trainings by name, which the page does when its address has the name as `task`.
        root: Folder of the data sets; the default one when None.

    Returns:
        For each task why the page cannot train it; empty where it can.

    Raises:
        UserError: For a data set that a page cannot train on, or one that is not on this machine.
    """
    place = folder / "playground"
    place.mkdir()
    for name in SCRIPTS:
        (folder / name).write_bytes((BUILT / name).read_bytes())
    bases = {name: _base(name, root) for name in datasets}
    first = next(iter(bases.values()))
    (place / "losses.bin").write_bytes(pack_objectives(first, objectives(first)))
    for name, config in bases.items():
        (place / f"{name}.bin").write_bytes(pack_dataset(config, PACKED_NETS, root))
    refused = {}
    for name, config in (tasks or {}).items():
        try:
            _check_images(config, bases.get(config.dataset), root)
            (place / f"{name}.bin").write_bytes(pack_training(config))
            refused[name] = ""
        except UserError as error:
            refused[name] = f"The page of this site cannot train this net. {error}"
    known = {name: tasks[name].dataset for name, reason in refused.items() if tasks and not reason}
    kept = {"losses": "losses.bin", "tasks": known, "root": "../"}
    back = f'<nav><a href="../index.html">{html.escape(site)}</a></nav>'
    (place / "index.html").write_text(_page("Playground", datasets, kept, back), encoding="utf-8")
    return refused


def write_training(folder: Path, config: TrainConfig, root: Path | None = None) -> None:
    """Write a page that trains with one config into a folder, without the scripts and the style sheet beside it.

    Args:
        folder: The folder, which is made.
        config: The settings; of a larger data set the page trains on part of the images.
        root: Folder of the data sets; the default one when None.

    Raises:
        UserError: If a page cannot do it, with the reason.
    """
    config = _fewer_images(config, root)
    _check_images(config, config)
    files = {"training.bin": pack_training(config), f"{config.dataset}.bin": pack_dataset(config, (), root)}
    page = _page("Training in this tab", [config.dataset], {"losses": "training.bin", "root": ""}, "")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (files | {"index.html": page.encode()}).items():
        (folder / name).write_bytes(content)


def _page(title: str, datasets: Sequence[str], kept: dict[str, Any], back: str) -> str:
    titles = {name: DATASETS[name].title for name in datasets}
    kept = kept | {"datasets": titles, "layouts": layouts_in_page()}
    packed = json.dumps(kept).replace("<", "\\u003c")
    return site_page(
        title, TEMPLATES["playground"].format(title=title, back=back, kept=packed, root=kept["root"]), kept["root"]
    )


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


def pack_objectives(
    base: TrainConfig,
    programs: Iterable[tuple[TrainConfig, Program, dict[str, np.ndarray]]],
    nets: Sequence[str] = (),
) -> bytes:
    """Return a file with losses and miners for the batches of these settings, and nets that belong to them."""
    parts = Parts()
    plain = base.model_dump(mode="json")
    packed = []
    for config, program, weights in programs:
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
                "curvature": config.ball,
                "picture": own_picture(config, "plane") if config.embedding_dim == 2 else None,
                "program": pack_program(program, parts),
                "weights": pack_weights(weights, parts),
                "update": update(config),
            }
        )
    return parts.file({"config": plain, "objectives": packed, "nets": _nets(base, nets, parts)})


def pack_training(config: TrainConfig) -> bytes:
    """Return a file with one loss, miner and net; raise UserError where a page cannot train with them."""
    program = training_program(config)
    return pack_objectives(config, [(config, program.objective, program.loss_weights)], [config.net])


def pack_dataset(base: TrainConfig, nets: Sequence[str] = (), root: Path | None = None) -> bytes:
    """Return a file with the images of a data set, split as a training splits them, and nets for them."""
    parts, spec, images = Parts(), DATASETS[base.dataset], data.load(base.dataset, root)
    split = split_training_images(base, images.train.labels)
    sampling.build(base, images.train.labels[split.train], base.seed)  # raises if a class is too small for a batch
    tests = images.test.images[:MOST_TEST]
    sheets = [sprite_sheet.encode_sheet(tests, i) for i in range(sprite_sheet.sheet_count(len(tests)))]
    framing = spec.framing or Framing(box=round(0.8 * spec.size))
    labels = {"train": images.train.labels[split.train], "validation": images.train.labels[split.scored]}
    pixels = {"train": images.train.images[split.train], "validation": images.train.images[split.scored]}
    labels["test"], pixels["test"] = images.test.labels[:MOST_TEST], tests
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
        "usual_augmentation": usual_strengths(spec),
        "nets": _nets(base, nets, parts),
    }
    return parts.file(described)


def _nets(base: TrainConfig, names: Sequence[str], parts: Parts) -> dict[str, Any]:
    """Return nets for the images and batches of these settings: with embeddings of length 1 and any, or in a ball."""
    nets, shapes = {}, {"free": False} if base.ball else {"sphere": True, "free": False}
    for net in (name for name in names if name in nets_for(base.dataset_spec)):
        written = {shape: net_programs(base.replace(net=net, normalize=on)) for shape, on in shapes.items()}
        nets[net] = {
            "title": NETS[net].title,
            "weights": pack_weights(written["free"][2], parts),
            **{
                name: {"net": pack_program(programs[0], parts), "embed": pack_program(programs[1], parts)}
                for name, programs in written.items()
            },
        }
    return nets


def _base(name: str, root: Path | None) -> TrainConfig:
    """Return the default settings of a playground on a data set."""
    config = _fewer_images(TrainConfig(dataset=name, net=PACKED_NETS[0], **BATCH), root)
    _check_images(config, config)
    return config


def _fewer_images(config: TrainConfig, root: Path | None) -> TrainConfig:
    """Return the config on no more training images than a page packs."""
    few = min(config.max_train_images or MOST_TRAIN, MOST_TRAIN)
    return config.replace(max_train_images=few) if data.num_train_images(config.dataset, root) > few else config


def _check_images(config: TrainConfig, packed: TrainConfig | None, root: Path | None = None) -> None:
    """Raise UserError if a page cannot train on the images of a config, or has others, those of `packed`."""
    spec = DATASETS[config.dataset]
    if not spec.trainable or spec.channels != 1 or spec.features is not None:
        raise UserError(f"A playground trains on images in gray; {spec.title} has none: choose another data set.")
    if config.train_classes != tuple(range(len(spec.classes))):
        raise UserError("A playground trains on all classes: hold none out.")
    if config.classes_per_batch != len(spec.classes):
        raise UserError(
            f"A batch of a playground has {config.classes_per_batch} classes; {spec.title} has "
            f"{len(config.train_classes)}: choose another data set."
        )
    if packed is None:
        raise UserError(f"The playground has no images of {spec.title}: add --with-data {config.dataset}.")
    if packed is not config:
        labels = data.load(config.dataset, root).train.labels
        own, other = (split_training_images(_fewer_images(one, root), labels) for one in (config, packed))
        if not np.array_equal(own.train, other.train) or not np.array_equal(own.scored, other.scored):
            raise UserError("It trains on other images than those that the playground has.")
