"""`dmlviz show`: open the app with a map of a table or of embeddings, without training."""

from pathlib import Path
from typing import Annotated

import typer

from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.cli.data import (
    ImageColumn,
    LabelColumn,
    MissingLabels,
    VectorColumns,
    WithImages,
    add_data,
    split_names,
)
from dmlviz.data.table_file import Choice
from dmlviz.network import check_port_free

app = single_command_app()
# Without the server's settings: a run of the command line has no owner, so that no other person may see it.
ONE_PERSON = {"shared": False, "people": None, "user_header": "", "forwarded_allow_ips": ""}


@app.command()
def show(
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="embeddings (npy, npz) or a table (csv, json, parquet) with vectors"),
    ],
    title: Annotated[str, typer.Option(metavar="TEXT", help="title (default: file name)")] = "",
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="separate label file")] = None,
    label: LabelColumn = None,
    image: ImageColumn = None,
    vector: VectorColumns = "",
    missing: MissingLabels = "",
    images: WithImages = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 = any free port")] = 8501,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open a browser")] = True,
    data: DataFolder = None,
    runs: RunsFolder = None,
) -> None:
    """Open the app with a map of a table's vectors: PCA at once, t-SNE and UMAP on request. Press Ctrl-C to stop.

    A table of images without vectors becomes a data set, chosen to train on.
    """
    check_port_free("127.0.0.1", port)  # before the import, which may take a while
    choice = Choice(split_names(vector), label, image, split_names(missing), images)
    result = add_data(path, title, choice, labels, None, "auto", data, runs)
    page = f"?dataset={result}" if isinstance(result, str) else f"?run={result.id}"
    from dmlviz.cli import serve

    options = {"port": port, "browser": browser, "data": data, "runs": runs}
    serve.serve({name: value for name, value in options.items() if value is not None} | ONE_PERSON, page)
