"""`dmlviz fleet`: the machines that train for a server."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from dmlviz.cli import CertificatesFolder, JsonFile, console_beside, single_command_app, write_results
from dmlviz.errors import UserError

app = single_command_app()


@app.callback(invoke_without_command=True)
def list_fleet(
    context: typer.Context,
    fleet: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            envvar="DMLVIZ_FLEET",
            help="address of the fleet: tls://HOST:PORT, or file:PATH of its scheduler file",
        ),
    ] = None,
    certificates: CertificatesFolder = None,
    json_file: JsonFile = None,
) -> None:
    """List the machines of a fleet: slots, GPUs, versions, and why one is not used."""
    if context.invoked_subcommand is not None:
        return
    if fleet is None:
        raise UserError("Which fleet? Give its address: dmlviz fleet --fleet tls://HOST:PORT.")
    from dmlviz.fleet.certificates import load_security
    from dmlviz.fleet.dask_client import connect, list_machines
    from dmlviz.fleet.dask_config import check_address

    client = connect(check_address(fleet), load_security(certificates))
    try:
        machines = list_machines(client)
    finally:
        client.close()
    console = console_beside(json_file, soft_wrap=True)
    write_results(json_file, [asdict(machine) for machine in machines])
    if not machines:
        console.print(f"No machine has joined the fleet at {fleet} yet: dmlviz worker {fleet}")
        return
    table = Table("machine", "busy", "slots", "GPUs", "dmlviz", "torch", "Python", "", box=None, pad_edge=False)
    for machine in machines:
        versions = [escape(str(machine.versions.get(name, "?"))) for name in ("dmlviz", "torch", "python")]
        table.add_row(
            *(escape(machine.name), str(machine.busy), str(machine.slots), str(machine.gpus), *versions),
            f"not used: {escape(machine.refused)}" if machine.refused else "",
        )
    console.print(table)


@app.command()
def certificates(
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="(default: as --certificates)")] = None,
) -> None:
    """Make the certificates of a new fleet. Copy the folder to every machine; whoever has it belongs to the fleet."""
    from dmlviz.fleet.certificates import certificates_folder, make_certificates

    for path in make_certificates(certificates_folder(folder)):
        print(path)


@app.command()
def scheduler(
    fleet: Annotated[str, typer.Argument(metavar="FLEET", help="address to listen at: tls://HOST:PORT")],
    scheduler_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write the address there, for servers and machines that share a file system"),
    ] = None,
    certificates: CertificatesFolder = None,
) -> None:
    """Run the fleet's scheduler on a machine without a server. `dmlviz serve --fleet` starts one by itself."""
    from dmlviz.fleet.dask_config import check_address
    from dmlviz.fleet.dask_scheduler import run_scheduler

    asyncio.run(run_scheduler(check_address(fleet), certificates, scheduler_file))
