"""A run on a tracking server of MLflow, or in a database of its."""

import logging
import os
import tempfile
import textwrap
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.export import save
from dmlviz.export.contents import RunExport
from dmlviz.export.trackers import settings, values_by_step

EXPERIMENT = "dmlviz"
RUN_TAG = "dmlviz.run"
MAX_METRICS, MAX_PARAMS = 1000, 100  # of one request
TIMEOUT_S = 5
_SERVER = ("http://", "https://")
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")  # as MLflow names them; a driver may follow a +


def log(export: RunExport, target: str) -> str:
    """Log settings, values by step, the map and the table of images; return the address of the run.

    `target` is the address of a server, or of a database as MLflow writes it (sqlite:///mlflow.db). A run in a database
    has no address: the command that shows it is returned.
    """
    _check_target(target)
    import mlflow
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with _without_notes():
            experiment, logged = _log(mlflow.MlflowClient(tracking_uri=target), export, target)
    except (mlflow.MlflowException, SQLAlchemyError, ImportError, OSError) as error:
        reason = textwrap.shorten(str(error).partition("\n")[0], 300, placeholder=" …")
        raise UserError(f"MLflow at {target} refused the run: {reason}") from None
    if target.startswith(_SERVER):
        return f"{target.rstrip('/')}/#/experiments/{experiment}/runs/{logged}"  # as its pages are addressed
    place = target.partition(":///")[2] or target
    return f"{place}; to see it: pip install mlflow, mlflow ui --backend-store-uri {target}"


def _log(client: Any, export: RunExport, target: str) -> tuple[str, str]:
    """Log a run; return the IDs of its experiment and of the run there."""
    from mlflow.entities import Metric, Param

    run = export.run
    experiment = _experiment(client)
    if client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{run.id}'", max_results=1):
        raise UserError(f"{run.title} is logged at {target} already; delete it there to log it again.")
    started = round(run.created.timestamp() * 1000)
    tags = {RUN_TAG: run.id, **{f"dmlviz.{tag}": "tag" for tag in run.tags}}
    logged = client.create_run(experiment, start_time=started, tags=tags, run_name=run.title).info.run_id
    params = [Param(name, str(value)) for name, value in settings(run).items()]
    metrics = [
        Metric(name, value, round(point.time * 1000), point.step)
        for point in values_by_step(run)
        for name, value in point.values.items()
    ]
    for start in range(0, len(params), MAX_PARAMS):
        client.log_batch(logged, params=params[start : start + MAX_PARAMS])
    for start in range(0, len(metrics), MAX_METRICS):
        client.log_batch(logged, metrics=metrics[start : start + MAX_METRICS])
    with tempfile.TemporaryDirectory() as folder:
        for format, name in (("html", "map.html"), ("csv", "images.csv")):
            client.log_artifact(logged, str(save(format, export, Path(folder) / name)))
    end = run.end
    client.set_terminated(logged, end_time=round(end["time"] * 1000) if end else None)
    return experiment, str(logged)


def _experiment(client: Any) -> str:
    known = client.get_experiment_by_name(EXPERIMENT)
    return str(client.create_experiment(EXPERIMENT) if known is None else known.experiment_id)


def _check_target(target: str) -> None:
    """Raise UserError for what is no server or database, and for a server that does not answer."""
    if target.startswith(_SERVER):
        _check_answers(target)
        return
    kind, _, place = target.partition("://")
    database = kind.partition("+")[0] in _DATABASES and place.strip("/")
    folder = kind == "file" and os.environ.get("MLFLOW_ALLOW_FILE_STORE")  # MLflow has given up folders
    if not (database or folder or kind == "databricks"):
        raise UserError(
            "MLflow takes the address of a server (http://127.0.0.1:5000) or of a database (sqlite:///mlflow.db); "
            f"got {target[:80]}."
        )


def _check_answers(target: str) -> None:
    """Raise UserError for a server that does not answer: MLflow itself would ask for minutes."""
    try:
        with urllib.request.urlopen(f"{target.rstrip('/')}/health", timeout=TIMEOUT_S):
            pass
    except urllib.error.HTTPError:
        pass  # it answers; what it refuses is said later
    except (OSError, ValueError):
        raise UserError(
            f"No MLflow server answers at {target}; start one (pip install mlflow, mlflow server --port 5000), or log "
            "into a file: sqlite:///mlflow.db."
        ) from None


@contextmanager
def _without_notes() -> Iterator[None]:
    """Keep MLflow's notes on its tables off the terminal; warnings stay."""
    logger = logging.getLogger("mlflow")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
