"""Download sources of the data sets: mirrors, files, checksums."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from dmlviz.catalog.parameters import TABLES


@dataclass(frozen=True)
class RemoteFile:
    """A compressed file on the mirrors: its checksum, and its size in bytes, which may be approximate."""

    md5: str
    size: int
    is_approximate: bool = False

    @property
    def max_bytes(self) -> int:
        """The largest size at which it can still be this file."""
        return self.size + self.size // 4 if self.is_approximate else self.size


@dataclass(frozen=True)
class DatasetSource:
    """The download source of a data set.

    Attributes:
        folder: Target folder below the data root, laid out as torchvision does.
        mirrors: Base URLs, tried in order.
        files: Files, downloaded one by one as `<name>.gz`.
        archive: A zip with all files as `gzip/<name>.gz`, downloaded instead; its checksum covers them.
        parts: Prefixes of the names of training and test files.
    """

    folder: str
    mirrors: tuple[str, ...]
    files: Mapping[str, RemoteFile]
    archive: tuple[str, RemoteFile] | None = None
    parts: tuple[str, str] = ("train", "t10k")


SOURCES = TypeAdapter(dict[str, DatasetSource]).validate_python(TABLES["source"])
CONTENT: Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]] = {
    name: {(part, kind): tuple(sums) for part, kinds in parts.items() for kind, sums in kinds.items()}
    for name, parts in TABLES["content"].items()
}
