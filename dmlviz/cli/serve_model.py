"""`dmlviz serve-model`: a run's net and test images as a small web service."""

import secrets
from typing import Annotated

import typer

from dmlviz.cli import DataFolder, RunId, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def serve_model(
    run: RunId,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on")] = 8600,
    token: Annotated[
        str | None,
        typer.Option(metavar="TEXT", envvar="DMLVIZ_TOKEN", help="what callers send; a random one by default"),
    ] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Answer with the nearest test images of a picture that is sent: a small REST service with a token."""
    import uvicorn

    from dmlviz.search_api.service import SearchService

    token = token or secrets.token_urlsafe(16)
    service = SearchService(Runs(runs_folder(runs)).find(run), token, data_root(data))
    print(f"http://{host}:{port}/ answers; callers send the header Authorization: Bearer {token}", flush=True)
    uvicorn.run(service.app, host=host, port=port, log_level="warning")
