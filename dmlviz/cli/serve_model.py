"""`dmlviz serve-model`: a run's net and test images as a small web service."""

import secrets
from contextlib import suppress
from typing import Annotated

import typer

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli import DataFolder, RunId, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.network import bound_socket, network_address
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
_ANY_ADDRESS = ("0.0.0.0", "::")


@app.command()
def serve_model(
    run: RunId,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on (0 = any)")] = 8600,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="DMLVIZ_TOKEN",
            help="what callers send, at least 16 characters (default: a random one)",
        ),
    ] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Answer with the nearest test images of a picture that is sent: a small REST service with a token."""
    import uvicorn

    from dmlviz.search_api.service import SearchService

    token = secrets.token_urlsafe(16) if token is None else token
    DATASETS.add_search_path(data_root(data))
    service = SearchService(Runs(runs_folder(runs)).find(run), token, data_root(data))
    if service.whose:
        print(service.whose)
    with bound_socket(host, port) as server:
        server.listen()  # from here on a caller waits instead of being refused
        address, port = server.getsockname()[:2]
        anywhere = address in _ANY_ADDRESS
        name = "127.0.0.1" if anywhere else f"[{address}]" if ":" in address else address
        print(f"http://{name}:{port}/ answers; callers send the header Authorization: Bearer {token}", flush=True)
        if anywhere and (network_name := network_address()) is not None:
            print(f"In this network: http://{network_name}:{port}/", flush=True)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(uvicorn.Config(service.app, log_level="warning")).run(sockets=[server])
