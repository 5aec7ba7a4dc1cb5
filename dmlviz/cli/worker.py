"""`dmlviz worker`: let this machine train for a server."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from dmlviz.cli import CertificatesFolder, DataFolder, single_command_app
from dmlviz.errors import UserError

app = single_command_app()


@app.command()
def worker(
    fleet: Annotated[
        str | None, typer.Argument(metavar="[FLEET]", help="address of the fleet: tls://HOST:PORT", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="folder that the fleet shares, in place of an address")
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="trainings at a time (default: one for each GPU, else the cores less one)"),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="name on the page (default: the host's)")] = None,
    data: DataFolder = None,
    certificates: CertificatesFolder = None,
) -> None:
    """Let this machine train for the servers of a fleet, until Ctrl-C. It comes back by itself after a fault."""
    if (fleet is None) == (folder is None):
        raise UserError(
            "A machine works for one fleet: give either its address, as in dmlviz worker tls://192.168.0.2:8786, "
            "or the folder that it shares, as in dmlviz worker --folder /shared/fleet."
        )
    from dmlviz.fleet.resources import default_slots

    def say(sentence: str) -> None:
        print(sentence, flush=True)

    slots = slots or default_slots()
    if folder is not None:
        from dmlviz.fleet.folder_worker import FolderWorker

        FolderWorker(folder, slots=slots, name=name, data=data, say=say).run()
    elif fleet is not None:
        from dmlviz.fleet.dask_config import check_address
        from dmlviz.fleet.dask_worker import run_worker

        address = check_address(fleet)
        asyncio.run(run_worker(address, slots=slots, name=name, data=data, certificates=certificates, say=say))
