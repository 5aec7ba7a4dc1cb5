"""A run on a tracking server of MLflow."""

import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from dmlviz.errors import UserError
from dmlviz.export import save
from dmlviz.export.contents import RunExport
from dmlviz.export.trackers.content import settings, values_by_step

EXPERIMENT = "dmlviz"
RUN_TAG = "dmlviz.run"
MAX_METRICS, MAX_PARAMS = 1000, 100  # of one request
TIMEOUT_S = 5


def log(export: RunExport, target: str) -> str:
    """Log settings, values by step, the map and the table of images; return the address of the run.

    `target` is the address of a server, or of a database as MLflow writes it (sqlite:///mlflow.db).
    """
    if target.startswith(("http://", "https://")):
        _check_answers(target)
    import mlflow
    from mlflow.entities import Metric, Param

    run = export.run
    try:
        client = mlflow.MlflowClient(tracking_uri=target)
        experiment = _experiment(client)
        if client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{run.id}'", max_results=1):
            raise UserError(f"{run.title} is logged at {target} already; delete it there to log it again.")
        started = round(run.created.timestamp() * 1000)
        tags = {RUN_TAG: run.id, **{f"dmlviz.{tag}": "tag" for tag in run.tags}}
        logged = client.create_run(experiment, start_time=started, tags=tags, run_name=run.title)
        params = [Param(name, str(value)) for name, value in settings(run).items()]
        metrics = [
            Metric(name, value, round(point.time * 1000), point.step)
            for point in values_by_step(run)
            for name, value in point.values.items()
        ]
        for start in range(0, len(params), MAX_PARAMS):
            client.log_batch(logged.info.run_id, params=params[start : start + MAX_PARAMS])
        for start in range(0, len(metrics), MAX_METRICS):
            client.log_batch(logged.info.run_id, metrics=metrics[start : start + MAX_METRICS])
        with tempfile.TemporaryDirectory() as folder:
            for format, name in (("html", "map.html"), ("csv", "images.csv")):
                client.log_artifact(logged.info.run_id, str(save(format, export, Path(folder) / name)))
        client.set_terminated(logged.info.run_id, end_time=round((run.end or {})["time"] * 1000))
    except mlflow.MlflowException as error:
        raise UserError(f"MLflow at {target} refused the run: {str(error)[:300]}") from None
    return f"{target.rstrip('/')}/#/experiments/{experiment}/runs/{logged.info.run_id}"  # as its pages are addressed


def _experiment(client: Any) -> str:
    known = client.get_experiment_by_name(EXPERIMENT)
    return str(client.create_experiment(EXPERIMENT) if known is None else known.experiment_id)


def _check_answers(target: str) -> None:
    """Raise UserError for a server that does not answer: MLflow itself would ask for minutes."""
    try:
        with urllib.request.urlopen(f"{target.rstrip('/')}/health", timeout=TIMEOUT_S):
            pass
    except urllib.error.HTTPError:
        pass  # it answers; what it refuses is said later
    except (OSError, ValueError):
        raise UserError(f"No MLflow server answers at {target}; start one: mlflow server --port 5000.") from None
