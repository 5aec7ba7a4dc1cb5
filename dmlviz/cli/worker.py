"""`dmlviz worker`: let this machine train for a server."""

import asyncio
from typing import Annotated

import typer

from dmlviz.cli import CertificatesFolder, DataFolder, single_command_app

app = single_command_app()


@app.command()
def worker(
    fleet: Annotated[
        str,
        typer.Argument(
            metavar="FLEET", help="address of the fleet: tls://HOST:PORT, or file:PATH of its scheduler file"
        ),
    ],
    slots: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="trainings at a time (default: one for each GPU, else the cores less one)"),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="name on the page (default: the host's)")] = None,
    data: DataFolder = None,
    certificates: CertificatesFolder = None,
) -> None:
    """Let this machine train for the servers of a fleet, until Ctrl-C. It comes back by itself after a fault."""
    from dmlviz.fleet.dask_config import check_address
    from dmlviz.fleet.dask_worker import run_worker
    from dmlviz.fleet.versions import default_slots

    def say(sentence: str) -> None:
        print(sentence, flush=True)

    address, slots = check_address(fleet), slots or default_slots()
    asyncio.run(run_worker(address, slots=slots, name=name, data=data, certificates=certificates, say=say))
