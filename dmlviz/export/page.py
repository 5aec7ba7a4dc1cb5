"""Export of a run as one interactive HTML file: map, images, neighbors, scores. Needs no server or network."""

import html
import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import IO

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Fields, Spec
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config.fields import shape_of
from dmlviz.export.contents import RunExport
from dmlviz.export.page_contents import page_contents
from dmlviz.storage.text import counted

BUILT = files("dmlviz") / "_frontend"
TEMPLATES: dict[str, str] = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))


def write_html(export: RunExport, file: IO[bytes]) -> None:
    """Write the page; raise UserError if the run or its projection is not finished."""
    contents = page_contents(export)
    text = TEMPLATES["run"].format(
        title=html.escape(export.run.title),
        style=(BUILT / "standalone.css").read_text(encoding="utf-8"),
        script=(BUILT / "standalone.js").read_text(encoding="utf-8"),
        facts="".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in page_data(export)),
        measured=html.escape(quality_note(export, contents["left_out"])),
        kept=json.dumps(contents, separators=(",", ":")).replace("<", "\\u003c"),
    )
    file.write(text.encode())


def page_data(export: RunExport) -> list[tuple[str, str]]:
    """Return the settings as (name, text)."""
    config = export.run.config
    shape = f"{config.embedding_dim}-d, {shape_of(config)}"
    steps = config.steps if export.run.end_step is None else export.run.end_step
    if not DATASETS[config.dataset].trainable:
        length = [("Training", f"{counted(steps, 'step')} of another program")] if export.run.recorded else []
        return [("Data", DATASETS[config.dataset].summary), *length, ("Map", _map_title(export))]
    batch = counted(config.effective_batch_size, config.dataset_spec.noun)
    rows = [
        ("Data", DATASETS[config.dataset].title),
        ("Net", f"{NETS[config.net].title}, {shape}"),
        ("Loss", _with_params(LOSSES[config.loss], config.loss_params)),
        ("Miner", _with_params(MINERS[config.miner], config.miner_params) if config.miner else ""),
        ("Training", f"{counted(steps, 'step')} of {batch}, seed {config.seed}"),
        ("Views", config.views_note),
        ("Map", _map_title(export)),
    ]
    return [(name, text) for name, text in rows if text]


def _map_title(export: RunExport) -> str:
    return PROJECTIONS[export.view].title if export.projection is None else export.projection.config.declared.title


def quality_note(export: RunExport, left_out: int) -> str:
    """Return the footer: what the points are, and what neighbors mean."""
    (n, d), config = RunExport(export.run).embeddings.shape, export.run.config
    data, by = DATASETS[config.dataset], "hyperbolic" if config.ball else "Euclidean"
    parts = [
        f"The points are all {n:,} embeddings."
        if not data.trainable
        else data.said(f"The points are all {n:,} test images; none was used for training."),
        f"Neighbors are the nearest by {by} distance in the {d}-dimensional embedding at the end of the run, not on "
        "the map.",
    ]
    if left_out:
        parts.append(f"To keep the file small, {left_out} intermediate frames are left out.")
    kept = {"the gallery": "gallery/index.json", "the kept threshold": "thresholds.json"}
    if away := [what for what, file in kept.items() if (export.run.path / file).exists()]:
        parts.append(f"Not on this page: {' and '.join(away)} of the run.")
    return " ".join([*parts, f"Run {export.run.id} of dmlviz, {export.run.created:%Y-%m-%d}."])


def _with_params(choice: Spec, params: Fields) -> str:
    """Return the title with all parameters that differ from their defaults."""
    defaults = choice.with_defaults({})
    changed = [f"{name.replace('_', ' ')} {value}" for name, value in params.items() if value != defaults.get(name)]
    return f"{choice.title} ({', '.join(changed)})" if changed else choice.title
