"""The runs of a static site: a page for each of their maps, and the files that it loads."""

import html
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport, SpriteSheets
from dmlviz.export.packed import pack_net, pack_run
from dmlviz.export.page import TEMPLATES, page_data, quality_note
from dmlviz.export.page_contents import MapContents, RunContents, projection_contents, run_contents
from dmlviz.export.query_net import QueryNet, query_net

MOST_WHOLE_SHEETS = 2
PRELOAD = '<link rel="preload" href="{file}" as="fetch" crossorigin>'  # it comes while the script is on its way


@dataclass(frozen=True)
class RunPage:
    """A run on one of its maps.

    Attributes:
        kept: The run, the map and the test images.
        net: Data for the drawing pad; None for a page without one.
        no_net: The reason why there is no drawing pad; empty for a page that should have none.
    """

    kept: RunExport
    net: QueryNet | None = None
    no_net: str = ""

    @classmethod
    def with_pad(cls, export: RunExport) -> "RunPage":
        """Return a page with a drawing pad, where that can be; raise UserError for a run that is not finished."""
        export = replace(export, sheets=fitting(export.sheets))
        try:
            return cls(export, query_net(export))
        except UserError as error:
            _ = export.embeddings  # raises for a run that is not finished
            return cls(export, None, str(error))

    @property
    def name(self) -> str:
        """Name of the page's file, without its ending."""
        return self.records[-1]

    @property
    def title(self) -> str:
        """Title of the run, and the method of a map that is not its own view."""
        run, projection = self.kept.run, self.kept.projection
        return run.title if projection is None else f"{run.title}, {projection.config.declared.title}"

    @property
    def records(self) -> tuple[str, ...]:
        """Names of what the page loads: the run, which pages of other maps load as well, and the projection."""
        run, projection = self.kept.run.id, self.kept.projection
        return (run,) if projection is None else (run, f"{run}-{projection.id}")


def fitting(sheets: SpriteSheets | None) -> SpriteSheets | None:
    """Return sheets whose tiles have half the side where there are more than 20,000 images, which would fill a site."""
    if sheets is None or len(sheets.pngs) <= MOST_WHOLE_SHEETS:
        return sheets
    return SpriteSheets(sheets.tile // 2, tuple(map(_half, sheets.pngs)))


def _half(png: bytes) -> bytes:
    file = io.BytesIO()
    Image.open(io.BytesIO(png)).reduce(2).save(file, "PNG")
    return file.getvalue()


def write_images(folder: Path, pages: Iterable[RunPage]) -> None:
    """Write the test images of each data set once, without loss."""
    folder.mkdir()
    datasets = {page.kept.run.config.dataset: page.kept.sheets for page in pages if page.kept.sheets}
    for dataset, sheets in datasets.items():
        for number, png in enumerate(sheets.pngs):
            Image.open(io.BytesIO(png)).save(folder / f"{dataset}-{number}.webp", lossless=True)


def write_runs(folder: Path, pages: Sequence[RunPage], site: str, as_page: Callable[[str, str], str], room: int) -> int:
    """Write the pages of the runs with their files; where there is too little room, films lose frames, evenly.

    Args:
        folder: A folder that does not exist.
        pages: The pages.
        site: Title of the site.
        as_page: Makes a whole page of a title and a body.
        room: Bytes that the files may take; they take more if the last frames alone do.

    Returns:
        Number of frames that are left out for want of room.
    """
    folder.mkdir()
    for page in pages:
        if page.net is not None:
            (folder / f"{page.kept.run.id}.net.bin").write_bytes(pack_net(page.net))

    records = {page.kept.run.id: RunExport(page.kept.run) for page in pages}
    records |= {page.name: replace(page.kept, sheets=None) for page in pages if page.kept.projection}

    def write(share: float) -> tuple[int, int]:
        """Return the size of all files and the number of frames that they leave out."""
        left_out = {name: _write_record(folder / f"{name}.bin", export, share) for name, export in records.items()}
        for page in pages:
            body = _body(page, site, sum(left_out[name] for name in page.records))
            (folder / f"{page.name}.html").write_text(as_page(page.title, body), encoding="utf-8")
        return sum(file.stat().st_size for file in folder.iterdir()), sum(left_out.values())

    whole, _ = write(1.0)
    if whole <= room:
        return 0
    least, left_out = write(0.0)
    share = 1 - (whole - room) / (whole - least) if whole > least else 0.0
    while share > 0:
        size, left_out = write(share)
        if size <= room:
            break
        share -= 0.02
    return left_out


def _write_record(file: Path, export: RunExport, share: float) -> int:
    """Write a run or a projection with a share of its frames; return how many frames are left out."""
    contents_of: Callable[..., RunContents | MapContents]
    contents_of = run_contents if export.projection is None else projection_contents
    contents = contents_of(export)
    if share < 1:
        frames = sum(len(frame) for stream in contents["streams"] for frame in stream["frames"].values())
        contents = contents_of(export, int(share * frames))
    file.write_bytes(pack_run(contents))
    return contents["left_out"]


def _body(page: RunPage, site: str, left_out: int) -> str:
    run, sheets = page.kept.run, page.kept.sheets
    files = [f"{name}.bin" for name in page.records]
    images = [f"../images/{run.config.dataset}-{number}.webp" for number in range(len(sheets.pngs) if sheets else 0)]
    kept: dict[str, Any] = {"records": files, "sprites": {"urls": images, "tile": sheets.tile if sheets else 28}}
    if page.net is not None:
        kept["query"] = page.net.description | {"url": f"{run.id}.net.bin"}
    facts = [f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in page_data(page.kept)]
    return TEMPLATES["site_run"].format(
        site=html.escape(site),
        title=html.escape(run.title),
        facts="".join(facts),
        measured=html.escape(quality_note(page.kept, left_out)),
        preloads="\n".join(PRELOAD.format(file=file) for file in files),
        kept=json.dumps(kept, separators=(",", ":")).replace("<", "\\u003c"),
    )
