"""Embeds new images with a run's net and projects them onto the run's maps."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import MISSING, DamagedFileError, UserError
from dmlviz.nets import build
from dmlviz.nets.features import check_weights, features_of
from dmlviz.nets.fine_tuned import FineTunedNet, fine_tuned
from dmlviz.ops.ball import in_ball
from dmlviz.ops.torch_state import default_device
from dmlviz.projection import place_on
from dmlviz.projection.out_of_sample import Placement
from dmlviz.runs.answers import EmbeddedImages, Trajectory
from dmlviz.runs.projection_run import projected_embeddings, projected_items
from dmlviz.runs.run import LIVE, Run
from dmlviz.storage.file_cache import stamp
from dmlviz.storage.regular_file import regular_path

if TYPE_CHECKING:
    from dmlviz.nets.models import EmbeddingNet

CHUNK = 100  # images per forward pass: their feature maps fit into the processor's cache


def embed_and_place(
    run: Run,
    images: np.ndarray,
    views: list[str] | None = None,
    trajectory: bool | Literal["places"] = False,
) -> EmbeddedImages:
    """Embed images with a run's final net, or while it trains with its newest one, and place them on its maps.

    Args:
        run: The run.
        images: uint8 images (n × h × w or n × h × w × 3), prepared as those of its data set.
        views: The maps to place them on, as `project_onto_maps` takes them.
        trajectory: Embed them by every checkpoint too; "places" for their places alone.

    Raises:
        UserError: If the images do not fit the net, or the run has no net yet.
    """
    step = run.net_step
    embeddings = embed(run, images, step, keep=step is None)
    if step is not None:
        places, at = _on_newest_maps(run, step, embeddings)
        return EmbeddedImages(embeddings=embeddings.tolist(), places=places, step=step, at=at)
    places = project_onto_maps(run, embeddings, views)
    reply = EmbeddedImages(embeddings=embeddings.tolist(), places=places)
    if trajectory:
        reply["trajectory"] = trajectory_of(run, images)
        if trajectory == "places":  # of many images
            reply["trajectory"]["embeddings"] = []
            return reply
        reply["ways"] = _ways(run, reply["trajectory"], places)
    return reply


def _on_newest_maps(run: Run, step: int, embeddings: np.ndarray) -> tuple[dict[str, list[list[float]]], dict[str, int]]:
    """Place embeddings (n × d) of a step among the tracked images, where these stand now on each map; and its step."""
    places, at = {}, {LIVE: step}
    frame = next(one["frame"] for one in run.events() if one["event"] == "snapshot" and one["step"] == step)
    linear = ProjectionConfig(method="pca")
    places[LIVE] = place_on(linear, run.snapshot(step), run.positions(frame), embeddings).tolist()
    for projection in run.projections():
        with suppress(DamagedFileError):  # which the run's card says
            layouts = projection.layouts if projection.config.follow else {}
            if layouts:
                shown = max(layouts)
                layout = _layout(run.path, projection.id, step, shown, layouts[shown]["id"])
                places[projection.id] = layout.place(projection.config.cut(embeddings)).tolist()
                at[projection.id] = shown
    return places, at


@lru_cache(maxsize=16)  # the checkpoints of a map
def _layout(path: Path, view: str, step: int, shown: int, _frame: str) -> Placement:
    """Return the embeddings of a step on a followed map, where they lie as in its layout of step `shown`."""
    run = Run(path)
    projection = run.projection(view)
    inputs, _ = projected_embeddings(run, projection.config.replace(follow=False), step)
    return Placement(projection.config, inputs, projection.positions(projection.layouts[shown]))


def _ways(
    run: Run, nets: Trajectory, places: dict[str, list[list[float]]]
) -> dict[str, list[tuple[int, list[list[float]]]]]:
    """Place what the checkpoints embedded between its neighbors in the layouts of the same steps, on each such map."""
    ways = {}
    for projection in run.projections():
        if projection.id in places and projection.config.follow:
            layouts, cut = projection.layouts, projection.config.cut
            pairs = zip(nets["steps"], nets["embeddings"], strict=False)
            ways[projection.id] = [
                (step, layout.place(cut(np.asarray(one, np.float32)), quick=True).tolist())
                for step, one in pairs
                if step in layouts
                for layout in [_layout(run.path, projection.id, step, step, layouts[step]["id"])]
            ]
    return ways


def trajectory_of(run: Run, images: np.ndarray) -> Trajectory:
    """Embed images with every checkpoint and project them on the final basis; empty without one or the other."""
    steps, basis = run.checkpoint_steps, run.linear_projection
    if basis is None:  # before the end, or basis.npz is gone, which the run's card says
        return Trajectory(steps=[], embeddings=[], places=[])
    by_step = [embed(run, images, step) for step in steps]
    positions = [basis.project(embeddings).tolist() for embeddings in by_step]
    return Trajectory(steps=steps, embeddings=[embeddings.tolist() for embeddings in by_step], places=positions)


def embed(run: Run, images: np.ndarray, step: int | None = None, keep: bool = True) -> np.ndarray:
    """Embed images with a run's net.

    Args:
        run: A run with weights.
        images: uint8 images (n × h × w or n × h × w × 3), prepared as the run's data set.
        step: Use the checkpoint of this step instead of the final net.
        keep: Whether the net is kept in memory for the next question.

    Returns:
        Embeddings (n × d, float32).

    Raises:
        UserError: If the image size is wrong, or the run has no such weights yet.
    """
    spec = DATASETS[run.config.dataset]
    size = f"{spec.size} × {spec.size}"
    if images.shape[1:3] != (spec.size, spec.size):
        got = " × ".join(map(str, images.shape[1:3]))
        raise UserError(f"Expected images of {size} pixels; got {got}.")
    net = trained_net(run, step, keep)
    if isinstance(net, FineTunedNet):
        embeddings = net.embed(images)
    else:
        with torch.inference_mode():
            embeddings = net(net_input(spec, images)).numpy()
    return in_ball(embeddings, run.config.ball)


def load_for_pictures(run: Run) -> None:
    """Load what `embed` needs for new pictures, so that what is missing is known before the first of them.

    Raises:
        UserError: If the run has no weights yet, or those of its backbone are not on this machine.
    """
    trained_net(run)
    check_weights(run.config.dataset, "A new picture")


def net_input(spec: DatasetSpec, images: np.ndarray) -> Tensor:
    """Return images (uint8, n × h × w or n × h × w × 3) as a net takes them; n × d × 1 × 1 for features."""
    if spec.features is not None:
        features = (features_of(spec.name, images) - spec.features.mean) / spec.features.std
        return torch.from_numpy(features.astype(np.float32))[:, :, None, None]
    x = torch.from_numpy(images.astype(np.float32)).reshape(len(images), *images.shape[1:3], -1).permute(0, 3, 1, 2)
    return (x / 255 - spec.mean) / spec.std


def trained_net(run: Run, step: int | None = None, keep: bool = True) -> "EmbeddingNet | FineTunedNet":
    """Return a run's net with its final weights or those of a checkpoint, in evaluation mode; it may be shared.

    Raises:
        UserError: If there are no such weights, or those of the backbone are not on this machine.
    """
    path = run.path / ("weights.safetensors" if step is None else f"nets/{step}.safetensors")
    if not path.exists() and step is not None:
        text = ", ".join(map(str, run.checkpoint_steps))
        has = f"it keeps those of the steps {text} and of the end" if text else "of a large net only the last are kept"
        raise UserError(f"{run.title} keeps no weights of step {step:,}: {has}.")
    if not path.exists():
        raise run.lacks("model")
    load = _fine_tuned_net if run.config.unfrozen_blocks else _net if keep else _net.__wrapped__
    return load(run.path, path, path.stat().st_mtime_ns)


def embed_untrained(run: Run, images: np.ndarray) -> np.ndarray:
    """Embed images (uint8, n × h × w or n × h × w × 3) with the net that the training began with, made from its seed.

    With unfrozen blocks, too, that is a head on the features of the pretrained backbone.

    Returns:
        Embeddings (n × d, float32).
    """
    spec = DATASETS[run.config.dataset]
    net = _new_net(run.config, seed=run.config.seed).eval()
    parts = []
    with torch.inference_mode():
        for at in range(0, len(images), CHUNK):
            parts.append(net(net_input(spec, images[at : at + CHUNK])).float())
    embeddings: np.ndarray = torch.cat(parts).numpy()
    return embeddings


def project_onto_maps(run: Run, embeddings: np.ndarray, views: list[str] | None = None) -> dict[str, list[list[float]]]:
    """Project embeddings (n × d) onto a run's own view ("live") and its projections (those in `views`, or all).

    Without projections of earlier steps: the embeddings are by the final net.
    """
    positions, basis = {}, run.linear_projection
    if basis is not None:
        positions["live"] = basis.project(embeddings).tolist()
    for projection in run.projections():
        if projection.config.whole and projection.state == "finished" and (views is None or projection.id in views):
            state = stamp(projection.path / "coordinates.npy"), stamp(run.path / "embeddings.npy")
            placement = _placement(run.path, projection.id, state)
            positions[projection.id] = placement.place(projection.config.cut(embeddings)).tolist()
    return positions


@lru_cache(maxsize=4)  # some 10 MB each
def _placement(path: Path, view: str, _state: object) -> Placement:
    run = Run(path)
    projection, vectors = run.projection(view), run.embeddings
    assert vectors is not None  # it has been projected
    config = projection.config
    return Placement(config, config.cut(vectors[projected_items(run, config)]), projection.coordinates)


@lru_cache(maxsize=40)  # checkpoints of a few runs included
def _net(run: Path, weights: Path, stamp: int) -> "EmbeddingNet":
    net = _new_net(Run(run).config)
    with _reading_weights(weights) as name:
        net.load_state_dict(load_file(name))
    return net.eval()


@lru_cache(maxsize=2)  # each holds a whole backbone
def _fine_tuned_net(run: Path, weights: Path, stamp: int) -> FineTunedNet:
    net = fine_tuned(Run(run).config)
    with _reading_weights(weights) as name:
        net.load_trained(load_file(name))
    return net.to(default_device())


@contextmanager
def _reading_weights(path: Path) -> Iterator[str]:
    try:
        with regular_path(path) as name:
            yield name
    except FileNotFoundError:  # removed since the caller looked
        raise DamagedFileError(path, MISSING) from None
    except (SafetensorError, RuntimeError, OSError):  # truncated, changed, or of another net
        raise DamagedFileError(path, "it does not hold the weights of this run's net") from None


def _new_net(config: TrainConfig, seed: int | None = None) -> "EmbeddingNet":
    spec = DATASETS[config.dataset]
    return build(
        config.net,
        **config.embedding,
        channels=spec.channels,
        size=spec.size,
        of_points=spec.of_points,
        features=None if spec.features is None else spec.features.dimensions,
        seed=seed,
    )
