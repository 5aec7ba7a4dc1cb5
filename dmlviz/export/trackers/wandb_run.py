"""A run in a project of Weights & Biases."""

import tempfile
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.export import save
from dmlviz.export.contents import RunExport
from dmlviz.export.trackers import settings, values_by_step


def log(export: RunExport, target: str) -> str:
    """Log settings, values by step and the map in the project `target`; return the address or folder of the run."""
    import wandb

    run = export.run
    if kept := _kept_offline(run.id):
        raise UserError(
            f"{kept} exists: this run is logged there already; delete the folder, or name another one in WANDB_DIR."
        )
    try:
        with (
            wandb.init(
                project=target,
                id=run.id,
                resume="never",
                name=run.title,
                tags=run.tags,
                config=settings(run),
                settings=wandb.Settings(silent=True, console="off"),
            ) as logged,
            tempfile.TemporaryDirectory() as folder,
        ):
            for step, values in _merged(export).items():
                logged.log(values, step=step)
            page = save("html", export, Path(folder) / "map.html")
            artifact = wandb.Artifact(f"map-{run.id}", type="map")
            artifact.add_file(str(page))
            logged.log_artifact(artifact)
            where = str(Path(logged.dir).parent) if logged.offline else str(logged.url)
    except (wandb.Error, wandb.errors.UsageError) as error:
        raise UserError(f"Weights & Biases refused the run: {str(error)[:300]}") from None
    return where


def _kept_offline(run_id: str) -> Path | None:
    """Return the folder of this run if it is kept offline and exists already: wandb would add another one."""
    import wandb

    settings = wandb.setup().settings
    if settings.mode not in ("offline", "dryrun"):
        return None
    return next(Path(settings.wandb_dir).glob(f"offline-run-*-{run_id}"), None)


def _merged(export: RunExport) -> dict[int, dict[str, float]]:
    """Merge all values of a step: a step that is logged twice would lose the second half."""
    merged: dict[int, dict[str, float]] = {}
    for point in values_by_step(export.run):
        merged.setdefault(point.step, {}).update(point.values)
    return dict(sorted(merged.items()))
