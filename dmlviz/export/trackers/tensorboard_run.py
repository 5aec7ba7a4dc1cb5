"""A run as event files of TensorBoard."""

import shutil
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.trackers import settings, values_by_step
from dmlviz.ops.precision import origin


def log(export: RunExport, target: str) -> str:
    """Write scalars, settings and the embeddings with their images below `target`; return the folder of the run."""
    folder = Path(target) / export.run.id
    if folder.exists():
        raise UserError(f"{folder} exists: this run is logged there already; delete the folder or name another one.")
    try:
        _write(export, folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)  # half of a run would count as logged
        reason = (error.strerror or type(error).__name__).lower()
        raise UserError(f"{folder} cannot be written ({reason}): name another folder.") from None
    return str(folder)


def _write(export: RunExport, folder: Path) -> None:
    import numpy as np
    import torch
    from torch.utils.tensorboard import SummaryWriter

    from dmlviz.data import sprite_sheet
    from dmlviz.export.tables import MAX_SIDE

    run = export.run
    with SummaryWriter(str(folder)) as writer:
        rows = "\n".join(f"| {name} | `{value}` |" for name, value in settings(run).items())
        writer.add_text("settings", f"**{run.title}**\n\n| setting | value |\n|---|---|\n{rows}")
        for point in values_by_step(run):
            for name, value in point.values.items():
                writer.add_scalar(name, value, point.step, walltime=point.time)
        pictures, sheets = None, export.sheets
        if sheets and sprite_sheet.columns_of_square(len(export.items)) * sheets.tile <= MAX_SIDE:
            tiles = sprite_sheet.tiles(sheets.pngs, sheets.tile)[export.items]
            tiles = tiles[..., None] if tiles.ndim == 3 else tiles
            pictures = torch.from_numpy(np.ascontiguousarray(tiles.transpose(0, 3, 1, 2))).float() / 255
            pictures = pictures.expand(-1, 3, -1, -1)
        writer.add_embedding(
            torch.from_numpy((export.embeddings - origin(export.embeddings)).astype(np.float32)),
            metadata=[export.classes[label] for label in export.labels],
            label_img=pictures,
            global_step=run.end_step,
            tag="test_images",
        )
