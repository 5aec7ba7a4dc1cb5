"""Places pictures that no run has seen: through the run's net into its embedding, and from there onto its maps."""

from base64 import b64decode
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.nets import build
from dmlviz.projection import place_on
from dmlviz.runs.run import Run

MAX_IMAGES = 1000


def handle_request(question: dict[str, Any]) -> dict[str, Any]:
    """What the serving worker says to {"run": folder, "images": base64 of uint8 n × h × w, "shape": [n, h, w]}.

    {"embeddings": n lists of d numbers, "places": {view: n positions}}; with "way" also {"way": {"steps": […],
    "embeddings": [steps × n × d], "places": [steps × n × 2]}}, as the nets kept on the way saw the pictures. Raise
    UserError when the run's net cannot take the pictures, or the run has not come to its end.
    """
    run, shape = Run(question["run"]), tuple(question["shape"])
    pixels = b64decode(question["images"])
    if len(shape) not in (3, 4) or len(pixels) != np.prod(shape) or not 1 <= shape[0] <= MAX_IMAGES:
        raise UserError(f"Pictures come as n × height × width bytes; got {len(pixels)} bytes for {shape}.")
    images = np.frombuffer(pixels, np.uint8).reshape(shape)
    embeddings = embed(run, images)
    said = {"embeddings": embeddings.tolist(), "places": project_onto_maps(run, embeddings, question.get("views"))}
    return said | ({"way": trajectory(run, images)} if question.get("way") else {})


def trajectory(run: Run, images: np.ndarray) -> dict[str, Any]:
    """The pictures as the nets kept on the way embed them, drawn on the end's basis; nothing where none was kept."""
    steps, basis = run.checkpoint_steps, run.linear_projection
    seen = [embed(run, images, step) for step in steps]
    drawn = [basis.project(embeddings).tolist() for embeddings in seen] if basis is not None else []
    return {"steps": steps, "embeddings": [embeddings.tolist() for embeddings in seen], "places": drawn}


def embed(run: Run, images: np.ndarray, step: int | None = None) -> np.ndarray:
    """Embeddings (n × d, float32) of pictures (uint8, n × h × w (× 3)) by the net of a run that has ended.

    With a `step`, by the net that was kept then.
    """
    declared = DATASETS[run.config.dataset]
    size = f"{declared.size} × {declared.size}"
    if images.shape[1:3] != (declared.size, declared.size):
        got = " × ".join(map(str, images.shape[1:3]))
        raise UserError(f"The net of this run was trained on pictures of {size}; got {got}: prepare them alike.")
    path = run.path / ("weights.safetensors" if step is None else f"nets/{step}.safetensors")
    if not path.exists():
        raise UserError(f"{run.title} has no net to embed with yet; wait for the end of its training.")
    net = _net(run.path, path, path.stat().st_mtime_ns)
    with torch.inference_mode():
        x = torch.from_numpy(images.astype(np.float32)).reshape(len(images), *images.shape[1:3], -1).permute(0, 3, 1, 2)
        return net((x / 255 - declared.mean) / declared.std).numpy()


def project_onto_maps(run: Run, embeddings: np.ndarray, views: list[str] | None = None) -> dict[str, list[list[float]]]:
    """Where embeddings (n × d) lie on its run's picture ("live") and on its projections: those in `views`, or all.

    Projections of earlier epochs have no place for them: the net that embedded the pictures is that of the end.
    """
    found, basis, known = {}, run.linear_projection, run.embeddings
    if basis is not None:
        found["live"] = basis.project(embeddings).tolist()
    for drawing in run.projections():
        ours = drawing.config.step is None and not drawing.config.all_epochs
        if ours and drawing.state == "finished" and (views is None or drawing.id in views):
            found[drawing.id] = place_on(drawing.config, known, drawing.coordinates, embeddings).tolist()
    return found


@lru_cache(maxsize=40)  # those on the way of a few runs, too
def _net(run: Path, weights: Path, stamp: int) -> torch.nn.Module:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    config = Run(run).config
    declared = DATASETS[config.dataset]
    net = build(
        config.net,
        embedding_dim=config.embedding_dim,
        normalize=config.normalize,
        channels=declared.channels,
        size=declared.size,
    )
    try:
        net.load_state_dict(load_file(weights))
    except (SafetensorError, RuntimeError, OSError):  # cut off, changed, or those of another net
        raise DamagedFileError(weights, "it does not hold the weights of this run's net") from None
    return net.eval()
