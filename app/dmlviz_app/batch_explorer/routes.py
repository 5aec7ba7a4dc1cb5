"""The routes of "What the loss sees": recorded batches, and distances of test images."""

import asyncio
from base64 import b64decode
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.pair_thresholds import PairThresholds
from dmlviz.data.class_names import has_label
from dmlviz.ops.pairwise_numpy import distances
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.thresholds import Threshold, forget_threshold, keep_threshold, kept_threshold
from dmlviz.training.tuple_difficulty import ComparingLoss
from dmlviz_app.answers.cached_file import keep_file, kept_file
from dmlviz_app.batch_explorer import payloads as batches
from dmlviz_app.batch_explorer.payloads import encode_array
from dmlviz_app.batch_explorer.protocol import DistancesAnswer, ThresholdAnswer, ThresholdQuestion
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.headers import NO_STORE, PRIVATE_IMMUTABLE, JSONResponse, read_json_body
from dmlviz_app.server.threads import ask_worker

MAX_IMAGES = 800  # of the tracked ones: 319,600 pairs
BINS = 240
_MAX_ON_SPHERE = {"euclidean": 2.0, "sqeuclidean": 4.0, "cosine": 2.0}  # on the unit sphere


def histograms(run: Run, step: int) -> DistancesAnswer:
    """Pairs of one class and of two, counted by distance in `BINS` bins from 0 to `high`.

    Raise RunNotFoundError where the run has no embeddings of that step.
    """
    path = run.path / "snapshots" / f"{step}.npy"
    end = run.end
    at_the_end = not path.exists() and end is not None and end.get("step") == step
    if at_the_end:
        path = run.path / "embeddings.npy"
    if not path.exists():
        raise RunNotFoundError(f"Run {run.id} has no embeddings at step {step:,}.")
    thresholds = _thresholds(run, step)
    snapshot_step = None if at_the_end else step
    same, different, images, high = _histogram(run.path, snapshot_step, path.stat().st_mtime_ns, thresholds.measure)
    return {
        "step": step,
        "measure": thresholds.measure,
        "thresholds": thresholds,
        "curved": run.config.ball > 0,
        "images": images,
        "tracked": 0 if run.tracked_indices is None else len(run.tracked_indices),
        "high": high,
        "same": encode_array(same, "<u4"),
        "different": encode_array(different, "<u4"),
    }


def _thresholds(run: Run, step: int) -> PairThresholds:
    """Return the thresholds of the loss, with the weights that it had at the last batch that was kept."""
    steps = [other for other in run.recorded_batch_steps if other <= step] or run.recorded_batch_steps[:1]
    if steps:
        comparing_loss = ComparingLoss.from_config(run.config, run.batch(steps[-1]))
        return comparing_loss.thresholds
    config = run.config
    loss = LOSSES[config.loss]
    if loss.parts(config.loss_params) or not DATASETS[config.dataset].trainable:  # the loss is not known
        return PairThresholds("euclidean")
    return ComparingLoss(config.loss, config.loss_params, {}, config.ball > 0).thresholds


@lru_cache(maxsize=128)
def _histogram(path: Path, step: int | None, stamp: int, measure: Any) -> tuple[np.ndarray, np.ndarray, int, float]:
    run = Run(path)
    labels, indices = run.labels, run.tracked_indices
    x = run.embeddings if step is None else run.snapshot(step)
    if labels is None or indices is None or x is None:
        raise RunNotFoundError(f"Run {run.id} has no classes of its test images.")
    sample = np.linspace(0, len(indices) - 1, min(MAX_IMAGES, len(indices))).round().astype(int)
    x = (x[indices[sample]] if step is None else x[sample]).astype(np.float32)
    labels, sphere = labels[indices[sample]], run.config.normalize
    mask = has_label(labels, DATASETS[run.config.dataset].classes)
    finite = np.isfinite(x).all(axis=1) & (mask | ~mask.any())
    x, labels = x[finite], labels[finite]
    first, second = np.triu_indices(len(x), 1)
    d = np.maximum(distances(x, measure)[first, second], 0)
    same = labels[first] == labels[second]
    high = _MAX_ON_SPHERE[measure] if sphere or measure == "cosine" else _round_up(float(d.max(initial=0)))
    counts = [np.histogram(np.minimum(part, high), BINS, (0, high))[0] for part in (d[same], d[~same])]
    return counts[0].astype(np.uint32), counts[1].astype(np.uint32), len(x), high


def _round_up(value: float) -> float:
    """Round up to the next of 1, 1.5, 2, 3, 4, 5, 7, 10 … times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 1.5, 2, 3, 4, 5, 7, 10) if step * power >= value * (1 - 1e-9)))


routes = Routes()


@routes.get(Rule.RUN_READER, "/runs/{run}/batches/{step:int}.json")
async def batch(request: Request) -> Response:
    """Return a batch as the loss saw it; its picture changes once, when the run ends."""
    run = personal(request).runs.get(request.path_params["run"])
    payload = await asyncio.to_thread(batches.batch_payload, run, request.path_params["step"])
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE if payload["final"] else NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/batches/{step:int}/terms.json")
async def terms(request: Request) -> Response:
    """Return the terms of each comparison of a batch, as the worker computes them: they do not change."""
    run, step = personal(request).runs.get(request.path_params["run"]), request.path_params["step"]
    await asyncio.to_thread(run.batch, step)  # says what is wrong with it, if anything
    question = {"ask": "batch", "run": str(run.path.resolve()), "step": step}
    payload = await ask_worker(request, personal(request).scheduler.inference_worker.call, question)
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE)


@routes.get(Rule.RUN_READER, "/runs/{run}/batches/{step:int}.png")
async def sheet(request: Request) -> Response:
    """Return the training images of a batch."""
    run, step = personal(request).runs.get(request.path_params["run"]), request.path_params["step"]
    path = personal(request).cache / await asyncio.to_thread(batches.sheet_name, run, step)
    png = await asyncio.to_thread(kept_file, path)
    if png is None:
        question = {"ask": "batch_sheet", "run": str(run.path.resolve()), "step": step}
        reply = await ask_worker(request, personal(request).scheduler.inference_worker.call, question)
        png = b64decode(reply["png"])
        await asyncio.to_thread(keep_file, path, png)
    return Response(png, headers=PRIVATE_IMMUTABLE, media_type="image/png")


@routes.get(Rule.RUN_READER, "/runs/{run}/distances/{step:int}.json")
async def test_distances(request: Request) -> Response:
    """Return the histogram of distances between test images."""
    run = personal(request).runs.get(request.path_params["run"])
    payload = await asyncio.to_thread(histograms, run, request.path_params["step"])
    return JSONResponse(payload, headers=PRIVATE_IMMUTABLE)


@routes.get(Rule.RUN_READER, "/runs/{run}/threshold")
async def kept(request: Request) -> Response:
    """Return the threshold that this person keeps with a run, or who shares it (`ThresholdAnswer`), or null."""
    return JSONResponse(await asyncio.to_thread(_kept_answer, request), headers=NO_STORE)


@routes.post(Rule.RUN_READER, "/runs/{run}/threshold")
async def keep(request: Request) -> Response:
    """Find the threshold for a rate (`ThresholdQuestion`), and keep it with the run for this person, if they may."""
    services = personal(request)
    run = services.runs.get(request.path_params["run"])
    rate = (await read_json_body(request, _QUESTION, 100, "A rate"))["rate"]
    if rate is None:
        await asyncio.to_thread(forget_threshold, run, services.runs.removable_holders(run.id))
        return JSONResponse(await asyncio.to_thread(_kept_answer, request), headers=NO_STORE)
    question = {"ask": "threshold", "run": str(run.path.resolve()), "rate": rate}
    found = Threshold(**await ask_worker(request, services.scheduler.inference_worker.call, question))
    may_keep, holder = services.runs.may_keep(run.id), services.person.owner
    if may_keep:
        await asyncio.to_thread(lambda: keep_threshold(services.runs.writable_copy(run), found, holder))
    return JSONResponse(await asyncio.to_thread(_threshold_answer, run, found, may_keep), headers=NO_STORE)


def _kept_answer(request: Request) -> ThresholdAnswer | None:
    runs = personal(request).runs
    run = runs.get(request.path_params["run"])
    found = kept_threshold(run, runs.gallery_holders(run.id))
    return None if found is None else _threshold_answer(run, found, is_kept=True)


def _threshold_answer(run: Run, found: Threshold, is_kept: bool) -> ThresholdAnswer:
    step = run.end_step
    measure = "euclidean" if step is None else _thresholds(run, step).measure
    value, low, high = euclidean = (found.value, *found.interval)
    # On the unit sphere 1 − cosine is half of the squared distance; elsewhere it says nothing about distances.
    places = {
        "euclidean": euclidean,
        "sqeuclidean": [d**2 for d in euclidean],
        "cosine": [d**2 / 2 for d in euclidean] if run.config.normalize else None,
    }[measure]
    also = f" or 1 − cosine of {places[0]:.3g}" if measure == "cosine" and places else ""  # as in the histogram
    kind = "hyperbolic" if run.config.ball else "Euclidean"
    sentence = (
        f"{100 * found.rate:.3g}% false accepts: the same up to a {kind} distance of {value:.3g}{also} "
        f"({low:.3g} to {high:.3g} with other classes), found on {found.pairs:,} pairs of {found.basis}, where "
        f"{100 * found.false_reject_rate:.1f}% of the same-class pairs are rejected."
        f"{' It ' * bool(found.doubt)}{found.doubt}"
    )
    use = "Answers to queries rest on it." if is_kept else "It is not kept: a guest keeps one with runs of their own."
    return {
        "rate": found.rate,
        "value": None if places is None else places[0],
        "interval": None if places is None else (places[1], places[2]),
        "sentence": f"{sentence} {use}",
    }


_QUESTION = TypeAdapter(ThresholdQuestion)
