"""The routes of a run's gallery: the pictures that a person keeps under names, and other new images on its maps."""

import asyncio
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.frame import Frame
from dmlviz.errors import UserError
from dmlviz.runs.gallery import MAX_NAME, Gallery, NamedPicture, checked_name, named_picture, read_named
from dmlviz.runs.run import Run, have_same_vectors
from dmlviz.storage.text import one_line
from dmlviz_app.answers.protocol import GalleryContent
from dmlviz_app.answers.query_routes import (
    asked_frame,
    decode_in_turn,
    is_question,
    read_drawing,
    refusal_status,
    use_file,
)
from dmlviz_app.server.access import Routes, Rule, personal
from dmlviz_app.server.headers import NO_STORE, PRIVATE_IMMUTABLE, JSONResponse
from dmlviz_app.server.services import Services
from dmlviz_app.server.threads import ask_worker

MOST_SAID = 20  # sentences on what was kept
ZIP = b"PK"  # with which a zip begins, an empty one, too
routes = Routes()


@routes.get(Rule.RUN_READER, "/runs/{run}/gallery.json")
async def content(request: Request) -> Response:
    """Return the kept pictures, with their places on the maps."""
    services = personal(request)
    run = services.runs.get(request.path_params["run"])
    return JSONResponse(await ask_worker(request, _content, run, services), headers=NO_STORE)


@routes.post(Rule.RUN_READER, "/runs/{run}/gallery")
async def keep(request: Request) -> Response:
    """Keep a picture, sent as to `query_routes.ask`, under `?name=`; those of a zip under names of its folders."""
    services, name = personal(request), request.query_params.get("name", "")
    try:
        gallery = await asyncio.to_thread(services.runs.changed_gallery, request.path_params["run"])
        frame, run = asked_frame(request), gallery.run
        if is_question(request):
            sent = [named_picture(run, await read_drawing(request, run), checked_name(name), frame=frame)]
            said: list[str] = []
        else:
            sent, said = await use_file(request, "A picture", lambda file: _read(file, name, run, frame))
        answer = await ask_worker(request, _keep, gallery, sent, said, services)
    except UserError as error:
        return JSONResponse({"error": str(error)}, refusal_status(error), NO_STORE)
    return JSONResponse(answer, headers=NO_STORE)


@routes.delete(Rule.RUN_READER, "/runs/{run}/gallery/{picture}")
async def remove(request: Request) -> Response:
    """Remove a picture that this person kept."""
    services, run = personal(request), request.path_params["run"]
    holders = services.runs.removable_holders(run)
    gallery, picture = Gallery(services.runs.get(run)), request.path_params["picture"]
    if not await asyncio.to_thread(gallery.remove, [picture], holders):
        raise UserError("This picture is not in the gallery any more, or was kept by somebody else.")
    await asyncio.to_thread(services.classrooms.kept, services.person.id, gallery.run.id)
    return JSONResponse(await ask_worker(request, _content, gallery.run, services), headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/gallery/{picture}.png")
async def picture_file(request: Request) -> Response:
    """Return a kept picture."""
    services, id = personal(request), request.path_params["picture"]
    gallery = Gallery(services.runs.get(request.path_params["run"]))
    if not any(one.id == id for one in gallery.pictures(services.runs.gallery_holders(gallery.run.id))):
        raise UserError("The gallery has no such picture.")
    return Response(await asyncio.to_thread(gallery.png, id), media_type="image/png", headers=PRIVATE_IMMUTABLE)


@routes.get(Rule.RUN_READER, "/runs/{run}/gallery.zip")
async def archive(request: Request) -> Response:
    """Return the kept pictures as a zip of NAME/FILE, to be kept elsewhere."""
    services = personal(request)
    run, file = services.runs.get(request.path_params["run"]), io.BytesIO()
    await asyncio.to_thread(Gallery(run).export, file, services.runs.gallery_holders(run.id))
    headers = NO_STORE | {"Content-Disposition": f'attachment; filename="gallery-{run.id}.zip"'}
    return Response(file.getvalue(), media_type="application/zip", headers=headers)


@routes.get(Rule.RUN_READER, "/runs/{run}/batches.json")
async def batches(request: Request) -> Response:
    """Return what a run's map can show besides: {name: title} of data sets for its net, or of other runs' rows."""
    services, run = personal(request), personal(request).runs.get(request.path_params["run"])
    own = DATASETS[run.config.dataset]
    if own.trainable:
        names = await asyncio.to_thread(services.datasets.available)
        found = {
            name: DATASETS[name].title for name in names if name != own.name and own.takes_images_of(DATASETS[name])
        }
    else:
        runs = await asyncio.to_thread(services.runs.list)
        found = {one.id: one.title for one in runs if one.id != run.id and have_same_vectors(one, run)}
    return JSONResponse(found, headers=NO_STORE)


@routes.get(Rule.RUN_READER, "/runs/{run}/new_batch.json")
async def new_batch(request: Request) -> Response:
    """Place what `batches` names (`?data=`), or else the kept pictures, on a map (`?view=`): a `NewBatchContent`."""
    services, run = personal(request), personal(request).runs.get(request.path_params["run"])
    data, what = request.query_params.get("data"), "data"
    if data is not None and not DATASETS[run.config.dataset].trainable:
        other, what = services.runs.get(data), "rows"
        if not have_same_vectors(other, run):
            raise UserError(f"{other.title} has other vectors than {run.title}; choose another.")
        data = str(other.path.resolve())
    elif data is not None and data not in await asyncio.to_thread(services.datasets.available):
        raise UserError(f"There is no data set {data[:40]!r} here; choose another.")
    given = {"holders": services.runs.gallery_holders(run.id)} if data is None else {what: data}
    return await _placed(request, given)


@routes.post(Rule.RUN_READER, "/runs/{run}/new_batch.json")
async def new_batch_of_file(request: Request) -> Response:
    """Place the pictures or rows of a file, the body, called `?file=`, as `new_batch` does; it is not kept."""
    name = re.sub(r"[^\w.-]", "_", request.query_params.get("file", ""))[-MAX_NAME:].lstrip(".") or "file"
    try:
        with TemporaryDirectory(prefix="upload-", dir=personal(request).answers.folder) as folder:
            await use_file(request, "The file", Path(folder, name).write_bytes)
            return await _placed(request, {"file": str(Path(folder, name))})
    except UserError as error:
        return JSONResponse({"error": str(error)}, refusal_status(error), NO_STORE)


async def _placed(request: Request, given: dict[str, Any]) -> Response:
    services, run = personal(request), personal(request).runs.get(request.path_params["run"])
    if (view := request.query_params.get("view")) is not None:
        run.projection(view)  # raises for one that is not there
    order = services.answers.order("new_batch", run.id, run=str(run.path.resolve()), view=view, given=given)
    async with services.answers.open(request, services.person.id, order) as record:
        content = await asyncio.to_thread(record.result.read_bytes)
    return Response(content, media_type="application/json", headers=NO_STORE)


def _content(run: Run, services: Services, said: list[str] | None = None) -> GalleryContent:
    pictures = Gallery(run).pictures(services.runs.gallery_holders(run.id))
    is_placed = bool(pictures) and (run.path / "weights.safetensors").exists() and run.net_step is None
    places = services.jobs.place_gallery(run.id)["places"] if is_placed else {}
    mine = services.runs.removable_holders(run.id)
    return {
        "pictures": [(one.id, one.name, mine is None or one.holder in mine) for one in pictures],
        "places": {view: [[float(f"{x:.4g}") for x in at] for at in all_at] for view, all_at in places.items()},
        "said": said or [],
        "shared": services.runs.keeper != services.person.owner,
    }


def _keep(gallery: Gallery, sent: list[NamedPicture], said: list[str], services: Services) -> GalleryContent:
    pictures, twins = gallery.add([one.image for one in sent], [one.name for one in sent], services.runs.keeper)
    services.classrooms.kept(services.person.id, gallery.run.id)
    said = [*said, *(sentence for one in sent for sentence in one.hints), *([twins] if twins else [])]
    new = [picture.id for picture in pictures]
    said += services.jobs.place_gallery(gallery.run.id, False, new)["hints"]
    if len(said) > MOST_SAID:
        said = [*said[:MOST_SAID], f"And {len(said) - MOST_SAID:,} more."]
    return _content(gallery.run, services, said)


def _read(file: bytes, name: str, run: Run, frame: Frame | None) -> tuple[list[NamedPicture], list[str]]:
    """Return the pictures of a file, or of a zip, and sentences on those of a zip that cannot be read."""
    if not file.startswith(ZIP):
        return [named_picture(run, decode_in_turn(file, run.config.dataset), checked_name(name), frame=frame)], []
    sent, said = [], []
    for one in read_named(run, io.BytesIO(file), name, checked_name):
        path = one_line(one.path, 60)
        if one.refused:
            said.append(f"{path}: {one.refused}")
        else:
            sent.append(one._replace(hints=[f"{path}: {hint}" for hint in one.hints]))
    if not sent:
        raise UserError(said[0] if said else "The zip holds no picture; send one of NAME/FILE.")
    return sent, said
