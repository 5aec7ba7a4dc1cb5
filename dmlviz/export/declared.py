"""The ways to keep a run, as they are offered."""

from dataclasses import dataclass

from dmlviz.declarations import Catalogue, Declaration


@dataclass(frozen=True, kw_only=True)
class FormatDeclaration(Declaration):
    """A kind of file: how its name ends and what it is called on the web (RFC 6838)."""

    suffix: str
    media_type: str


FORMATS = Catalogue(
    "format",
    [
        FormatDeclaration(
            name="html",
            title="Page to pass on",
            summary="The map that plays, in one file; needs no server.",
            suffix=".html",
            media_type="text/html",
        ),
        FormatDeclaration(
            name="csv",
            title="Table, CSV",
            summary="Class, place on the map and ten neighbours of each image.",
            suffix=".csv",
            media_type="text/csv",
        ),
        FormatDeclaration(
            name="parquet",
            title="Table, Parquet",
            summary="The same table, and the embeddings.",
            suffix=".parquet",
            media_type="application/vnd.apache.parquet",
        ),
        FormatDeclaration(
            name="projector",
            title="TensorFlow Projector",
            summary="Vectors, metadata and sprite, zipped.",
            suffix=".zip",
            media_type="application/zip",
        ),
        FormatDeclaration(
            name="figures",
            title="Figures",
            summary="Recall@k, ROC, distances, confusion, training, map: pages for any browser, with tables, zipped.",
            suffix=".zip",
            media_type="application/zip",
        ),
        FormatDeclaration(
            name="weights",
            title="Weights",
            summary="The trained net as safetensors.",
            suffix=".safetensors",
            media_type="application/octet-stream",
        ),
        FormatDeclaration(
            name="python",
            title="Python",
            summary="The script that gives the same numbers.",
            suffix=".py",
            media_type="text/x-python",
        ),
        FormatDeclaration(
            name="command",
            title="Command",
            summary="The commands that give the same numbers.",
            suffix=".sh",
            media_type="text/x-shellscript",
        ),
    ],
)
