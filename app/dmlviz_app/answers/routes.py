"""The routes of test images: sprites and labels; a run's neighbors, scores, values to color by, agreement of two."""

import asyncio
import re
from base64 import b64decode
from typing import cast

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.figures.palette import PALETTE
from dmlviz.runs.example_item import example_item
from dmlviz.runs.neighbor_table import by_index
from dmlviz.runs.per_query import is_at_hand, per_query_bytes
from dmlviz.runs.point_values import point_measures
from dmlviz.runs.run import LIVE, Run
from dmlviz.storage.files import is_run_id, read_json
from dmlviz_app.answers import downloads, event_routes, gallery_routes, query_routes, sprites, thumbnails
from dmlviz_app.answers.baseline_curves import (
    keep_pixel_baseline,
    pixel_baseline_order,
    pixel_baseline_path,
)
from dmlviz_app.answers.cached_file import CHEAP, computed_file
from dmlviz_app.answers.columns import column_bytes, column_infos
from dmlviz_app.answers.image_pair import image_pair
from dmlviz_app.answers.item_neighbors import NEIGHBORS, item_neighbors, neighbor_history
from dmlviz_app.answers.mixture import mixture
from dmlviz_app.answers.nearest_neighbors import asked_agreement, asked_nearest, computed_name
from dmlviz_app.answers.point_values import moved_embeddings, point_value_bytes, train_points
from dmlviz_app.answers.protocol import Logits, TrackedItems
from dmlviz_app.answers.table_rows import selected_rows_as_csv
from dmlviz_app.server.access import Routes, Rule, data_not_found, personal
from dmlviz_app.server.headers import NO_STORE, PRIVATE_IMMUTABLE, UNCOMPRESSED, JSONResponse
from dmlviz_app.server.services import services
from dmlviz_app.server.threads import ask_worker

routes = Routes(downloads.routes, event_routes.routes, gallery_routes.routes, query_routes.routes)


@routes.get(Rule.RUN_READER, "/runs/{run}/tracked_items.json")
async def tracked_items(request: Request) -> Response:
    """Which test images of a run are tracked."""
    indices = _run(request).tracked_indices
    return JSONResponse(TrackedItems(tracked=None if indices is None else indices.tolist()), headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/nearest.bin")
async def nearest(request: Request) -> Response:
    """Return each image's nearest test image: n int32 indices, then n float32 distances; no content before the end."""
    run = _run(request)
    if run.embeddings is None:  # begun again since the page asked
        return Response(status_code=204, headers=NO_STORE)
    return _binary(await asked_nearest(request, run))


@routes.get(Rule.RUN_READER, "/runs/{run}/per_query.bin")
async def per_query(request: Request) -> Response:
    """Return each image's contribution to the scores after `step` batches; without a step, at the end.

    With `near=1`, of very many images, only what their nearest neighbors tell.
    """
    run, step, services = _run(request), _step(request), personal(request)
    if await asyncio.to_thread(is_at_hand, run, step):
        return _binary(await asyncio.to_thread(per_query_bytes, run, step))
    created = {"created": run.info["created"], "step": step, "near": request.query_params.get("near") == "1"}
    order = services.answers.order("per_query", run.id, run=str(run.path.resolve()), **created)
    async with services.answers.open(request, services.person.id, order) as record:
        return _binary(await asyncio.to_thread(record.result.read_bytes))


@routes.get(Rule.RUN_READER, "/runs/{run}/baseline.json")
async def baseline(request: Request) -> Response:
    """Return the scores of the tracked images without a net, computed on their pixels; null without pictures."""
    run, services = _run(request), personal(request)
    try:
        tiles = await asyncio.to_thread(sprites.image_tiles, run.config.dataset, services.data)
    except UserError:
        return JSONResponse(None, headers=NO_STORE)
    path = pixel_baseline_path(run, tiles.folder(services.cache))
    scores: dict[str, float | None] | None = await asyncio.to_thread(read_json, path)
    if scores is None:
        async with services.answers.open(request, services.person.id, pixel_baseline_order(run, services)) as record:
            scores = await asyncio.to_thread(keep_pixel_baseline, record, path)
    return JSONResponse(scores, headers=PRIVATE_IMMUTABLE)


@routes.get(Rule.RUN_READER, "/runs/{run}/neighbors/{item:int}.json")
async def neighbors(request: Request) -> Response:
    """Return a test image and its nearest neighbors, at `step` or at present; `metric` is euclidean or cosine."""
    run, item = _run(request), request.path_params["item"]
    metric = request.query_params.get("metric", "euclidean")
    answer = await asyncio.to_thread(item_neighbors, run, item, metric, personal(request).data, _step(request))
    return JSONResponse(answer, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/example.json")
async def example(request: Request) -> Response:
    """Return the test image that is shown before a person has clicked one; null before the end."""
    return JSONResponse({"item": await asyncio.to_thread(example_item, _run(request))}, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/neighbor-history/{item:int}.json")
async def history(request: Request) -> Response:
    """Return the neighbors of a test image at every snapshot; `metric` is euclidean or cosine."""
    run, item = _run(request), request.path_params["item"]
    metric = request.query_params.get("metric", "euclidean")
    payload = await ask_worker(request, neighbor_history, run, item, NEIGHBORS, metric, personal(request))
    return JSONResponse(payload, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/logits/{item:int}.json")
async def logits(request: Request) -> Response:
    """Return the scores of a test image with each class, before and after the margin of the loss."""
    question = {"ask": "logits", "run": str(_run(request).path), "item": request.path_params["item"]}
    answer = cast(Logits, await ask_worker(request, services().scheduler.inference_worker.call, question))
    return JSONResponse(answer, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/pair/{first:int}/{second:int}.json")
async def pair(request: Request) -> Response:
    """Compare two test images: distances of pixels and embeddings, each with a decision by threshold."""
    run, (first, second) = _run(request), (request.path_params[side] for side in ("first", "second"))
    try:
        tiles = await asyncio.to_thread(sprites.image_tiles, run.config.dataset, personal(request).data)
    except UserError:  # the pictures are not on disk
        tiles = None
    return JSONResponse(await asyncio.to_thread(image_pair, run, tiles, first, second), headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/occlusion/{first:int}/{second:int}.json")
async def occlusion(request: Request) -> Response:
    """Return which parts of two test images hold them together."""
    run, items = _run(request), [request.path_params[side] for side in ("first", "second")]
    await asyncio.to_thread(image_pair, run, None, *items)  # refuses what is no pair
    return await query_routes.occlusion_answer(request, run, items)


@routes.get(Rule.RUN_READER, "/runs/{run}/mixture/{view}.json")
async def mixed(request: Request) -> Response:
    """Mix the test images of `?near=` (ITEM:WEIGHT,…), as those nearest to a place of a map, and place the mixture."""
    near, view = request.query_params.get("near", ""), request.path_params["view"]
    answer = await ask_worker(request, mixture, _run(request), view, near, personal(request))
    return JSONResponse(answer, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/thumbnail-{theme}.png")
async def thumbnail(request: Request) -> Response:
    """Return a run's map as a small picture; its address has the stamp of the drawn events."""
    run, theme = _run(request), request.path_params["theme"]
    if theme not in PALETTE:
        raise UserError(f"A theme is {' or '.join(PALETTE)}; got {theme[:40]!r}.")
    png = await asyncio.to_thread(thumbnails.thumbnail, run, theme, personal(request).cache)
    return Response(png, headers=PRIVATE_IMMUTABLE, media_type="image/png")


@routes.get(Rule.RUN_READER, "/runs/{run}/values/{view}/{measure}.f32")
async def values(request: Request) -> Response:
    """Return a number for every test image to color the map by: n float32."""
    run, view = _run(request), request.path_params["view"]
    projection = None if view == LIVE else run.projection(view)
    measure = request.path_params["measure"]
    many = run.labels is not None and len(run.labels) > CHEAP
    if measure == "faithfulness" and projection is None and many and not by_index(run) and point_measures(run, None):
        name, path = computed_name(run, measure), str(run.path.resolve())
        return _binary(await computed_file(request, name, measure, run.id, run=path))
    return _binary(await asyncio.to_thread(point_value_bytes, run, projection, measure))


@routes.get(Rule.RUN_READER, "/runs/{run}/moved/{view}.bin")
async def moved(request: Request) -> Response:
    """Return embeddings for the page to lay out: their number n, n items (int32), n × d numbers (float32)."""
    run = _run(request)
    config = run.projection(request.path_params["view"]).config
    step = _step(request) if config.follow else config.step
    return _binary(await asyncio.to_thread(moved_embeddings, run, step))


@routes.get(Rule.RUN_READER, "/runs/{run}/labels.u16")
async def labels(request: Request) -> Response:
    """Return the class IDs of a run's test images, 16 bits each (little-endian), if its data set is not on disk."""
    array = _run(request).labels
    return _binary(b"" if array is None else array.astype("<u2").tobytes())


@routes.get(Rule.RUN_READER, "/runs/{run}/columns.json")
async def columns(request: Request) -> Response:
    """Return the further columns of the test images that a map can be colored by."""
    infos = await asyncio.to_thread(column_infos, _run(request), personal(request).data)
    return JSONResponse(infos, headers=PRIVATE_IMMUTABLE)


@routes.get(Rule.RUN_READER, "/runs/{run}/columns/{name:path}.f32")
async def column(request: Request) -> Response:
    """Return a number for every test image from a column: n float32."""
    run, name = _run(request), request.path_params["name"]
    return _binary(await asyncio.to_thread(column_bytes, run, personal(request).data, name))


@routes.post(Rule.RUN_READER, "/runs/{run}/rows.csv")
async def rows(request: Request) -> Response:
    """Test images with every column as CSV; the body has a bit for each image, as in frontend/src/lib/base64.ts."""
    run, length = _run(request), request.headers.get("content-length", "")
    most = 0 if run.labels is None else len(run.labels) // 6 + 8  # base64
    if not length.isdigit() or int(length) > most:
        raise UserError(f"A selection of {run.title} takes at most {most:,} bytes; got {length[:10] or 'unknown'}.")
    try:
        bits = np.frombuffer(b64decode(await request.body(), validate=True), np.uint8)
    except ValueError:
        raise UserError("A selection is a bit for each image in base64; got something else.") from None
    content = await asyncio.to_thread(selected_rows_as_csv, run, personal(request).data, bits)
    return Response(content, headers=NO_STORE, media_type="text/csv")


@routes.get(Rule.RUN_READER, "/runs/{run}/train-points/{view}.json")
async def trained_on(request: Request) -> Response:
    """Images that a run has trained on, with their positions on a map."""
    run, view = _run(request), request.path_params["view"]
    if view != LIVE:
        run.projection(view)  # raises for a view that is not there
    points = await ask_worker(request, train_points, run, view, personal(request))
    return JSONResponse(points, headers=PRIVATE_IMMUTABLE)


@routes.get(Rule.RUN_READER, "/agreement/{a}/{b}.json")
async def agreement(request: Request) -> Response:
    """Return the test images that two runs get right and wrong."""
    a, b = (personal(request).runs.get(request.path_params[side]) for side in ("a", "b"))
    return JSONResponse(await asked_agreement(request, a, b), headers=PRIVATE_IMMUTABLE)


def _run(request: Request) -> Run:
    return personal(request).runs.get(request.path_params["run"])


def _step(request: Request) -> int | None:
    text = request.query_params.get("step")
    if text is not None and not re.fullmatch("[0-9]{1,9}", text):
        raise UserError(f"A step is a whole number; got {text[:40]!r}.")
    return None if text is None else int(text)


def _binary(content: bytes) -> Response:
    return Response(content, headers=PRIVATE_IMMUTABLE | UNCOMPRESSED, media_type="application/octet-stream")


@routes.get(Rule.DATA_READER, "/data/{dataset}/{hash}/labels.u16")
async def dataset_labels(request: Request) -> Response:
    """Return the class IDs of a data set's test images, 16 bits each (little-endian)."""
    tiles = await asyncio.to_thread(_tiles, request)
    return Response(tiles.labels.tobytes(), headers=PRIVATE_IMMUTABLE, media_type="application/octet-stream")


@routes.get(Rule.DATA_READER, "/data/{dataset}/{hash}/sprite-{sheet:int}.png")
async def sheet(request: Request) -> Response:
    """Return a sprite sheet of a data set's test images."""
    tiles = await asyncio.to_thread(_tiles, request)
    number = request.path_params["sheet"]
    if len(tiles) <= CHEAP or number >= tiles.sheets:
        png = await asyncio.to_thread(tiles.sheet, number, personal(request).cache)
    else:
        name = f"{tiles.dataset}-{tiles.hash}/sprite-{number}.png"
        png = await computed_file(request, name, "sheet", dataset=tiles.dataset, number=number)
    return Response(png, headers=PRIVATE_IMMUTABLE, media_type="image/png")


def _tiles(request: Request) -> sprites.ImageTiles:
    dataset, content_hash = request.path_params["dataset"], request.path_params["hash"]
    if dataset not in DATASETS or not is_run_id(content_hash):
        raise data_not_found(dataset)
    tiles = sprites.image_tiles(dataset, personal(request).data)
    if tiles.hash != content_hash:
        raise UserError(f"{dataset} has changed on disk: reload the page.")
    return tiles
