"""Download sources of the data sets: mirrors, files, checksums."""

from collections.abc import Mapping
from dataclasses import dataclass


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


SOURCES = {
    "mnist": DatasetSource(
        folder="MNIST/raw",
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        files={
            "train-images-idx3-ubyte": RemoteFile("f68b3c2dcbeaaa9fbdd348bbdeb94873", 9_912_422),
            "train-labels-idx1-ubyte": RemoteFile("d53e105ee54ea40749a09fcbcd1e9432", 28_881),
            "t10k-images-idx3-ubyte": RemoteFile("9fb629c4189551a2d022fa330f9573f3", 1_648_877),
            "t10k-labels-idx1-ubyte": RemoteFile("ec29112dd5afa0611ce80d1b7f02629c", 4_542),
        },
    ),
    "fashion_mnist": DatasetSource(
        folder="FashionMNIST/raw",
        mirrors=(
            "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        ),
        files={
            "train-images-idx3-ubyte": RemoteFile("8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26_421_880),
            "train-labels-idx1-ubyte": RemoteFile("25c81989df183df01b3e8a0aad5dffbe", 29_515),
            "t10k-images-idx3-ubyte": RemoteFile("bef4ecab320f06d8554ea6380940ec79", 4_422_102),
            "t10k-labels-idx1-ubyte": RemoteFile("bb300cfdad3c16e7a12a480ee83cd310", 5_148),
        },
    ),
    "kmnist": DatasetSource(
        folder="KMNIST/raw",
        mirrors=("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
        files={
            "train-images-idx3-ubyte": RemoteFile("bdb82020997e1d708af4cf47b453dcf7", 18_200_000, is_approximate=True),
            "train-labels-idx1-ubyte": RemoteFile("e144d726b3acfaa3e44228e80efcd344", 30_000, is_approximate=True),
            "t10k-images-idx3-ubyte": RemoteFile("5c965bf0a639b31b8f53240b1b52f4d7", 3_050_000, is_approximate=True),
            "t10k-labels-idx1-ubyte": RemoteFile("7320c461ea6c1c855c0b718fb2a4b134", 5_200, is_approximate=True),
        },
    ),
    "emnist_letters": DatasetSource(
        folder="EMNIST/raw",
        mirrors=("https://biometrics.nist.gov/cs_links/EMNIST/",),
        files={
            f"emnist-letters-{part}-{kind}": RemoteFile("", 0)
            for part in ("train", "test")
            for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
        },
        archive=("gzip.zip", RemoteFile("58c8d27c78d21e728a6bc7b3cc06412e", 562_000_000, is_approximate=True)),
        parts=("emnist-letters-train", "emnist-letters-test"),
    ),
}

# MD5 of the four IDX files, unpacked, as published; of MNIST also those whose pixels of value 1 read 0.
CONTENT: Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]] = {
    "mnist": {
        ("train", "images"): ("6bbc9ace898e44ae57da46a324031adb", "2120c626b3f721358a650005d9261aaf"),
        ("train", "labels"): ("a25bea736e30d166cdddb491f175f624",),
        ("test", "images"): ("2646ac647ad5339dbf082846283269ea",),
        ("test", "labels"): ("27ae3e4e09519cfbb04c329615203637",),
    },
    "fashion_mnist": {
        ("train", "images"): ("f4a8712d7a061bf5bd6d2ca38dc4d50a",),
        ("train", "labels"): ("9018921c3c673c538a1fc5bad174d6f9",),
        ("test", "images"): ("8181f5470baa50b63fa0f6fddb340f0a",),
        ("test", "labels"): ("15d484375f8d13e6eb1aabb0c3f46965",),
    },
}
