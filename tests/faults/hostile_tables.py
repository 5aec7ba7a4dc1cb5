"""Hostile files of vectors and labels (npy, npz, csv, tsv, parquet): the same for the same seed."""

import io
import random
import struct
import zipfile

import numpy as np
import pyarrow as pa
from hostile_pictures import NAMES, TEXTS
from pyarrow import parquet

Files = dict[str, bytes]


class _Code:
    """What a pickle in an array would run."""

    def __reduce__(self):
        import os

        return os.system, ("touch PWNED",)


def hostile_table(draw: random.Random) -> tuple[str, Files]:
    """The files of one upload, and a word for what is wrong with them."""
    make = draw.choice(
        [_array, _array, _header, _bundle, _bundle_bomb, _text_table, _text_table, _long_table, _columns]
    )
    make = draw.choice([make, make, make, _columns_bomb, _labels, _damaged])
    return make(draw)


def _npy(values: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.save(target, values, allow_pickle=values.dtype == object)
    return target.getvalue()


def _vectors(draw: random.Random, n: int = 30, d: int = 4) -> np.ndarray:
    return np.random.default_rng(draw.randrange(10**6)).standard_normal((n, d)).astype(np.float32)


def _values(draw: random.Random) -> tuple[str, np.ndarray]:
    vectors = _vectors(draw)
    made = {
        "objects": np.array([[_Code()] * 2] * 30, object),
        "text": vectors.astype(str),
        "complex": vectors.astype(np.complex64),
        "structured": np.zeros(30, [("a", "<f4")]),
        "dates": np.zeros((30, 2), "M8[s]"),
        "NaN": np.full((30, 4), np.nan, np.float32),
        "infinity": np.full((30, 4), np.inf),
        "huge": np.full((30, 4), 1e300),
        "deep": np.zeros((3, 5, 2, 1)),
        "scalar": np.array(5.0),
        "empty": np.zeros((0, 4)),
        "no dimensions": np.zeros((30, 0)),
        "wide": np.zeros((3, 5000), np.float32),
        "long": np.zeros((200_000, 2), np.float16),
        "equal": np.ones((30, 4)),
        "column-major": np.asfortranarray(vectors),
        "big-endian": vectors.astype(">f8"),
        "whole": (vectors * 9).astype(np.int8),
        "booleans": vectors > 0,
    }
    return draw.choice([*made.items()])


def _label_array(draw: random.Random, n: int = 30) -> np.ndarray:
    names = draw.sample(NAMES, 3)
    return draw.choice([np.arange(n) % 3, np.array([names[i % 3] for i in range(n)]), np.zeros(n), np.arange(n + 1)])


def _array(draw: random.Random) -> tuple[str, Files]:
    what, values = _values(draw)
    return f"npy of {what}", {"vectors.npy": _npy(values), "labels.npy": _npy(_label_array(draw))}


def _header(draw: random.Random) -> tuple[str, Files]:
    header = draw.choice(
        [
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 4), }\n",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }\n",
            b"{'descr': '|O', 'fortran_order': False, 'shape': (30, 4), }\n",
            b"{'descr': '<f4', 'fortran_order': __import__('os').system('touch PWNED'), 'shape': (30, 4), }\n",
            b"(" * 4000,
            b"x" * 60_000,
        ]
    )
    version = draw.choice([1, 2, 3, 9])
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    content = b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes(480)
    return "npy header", {"vectors.npy": content, "labels.npy": _npy(np.arange(30) % 3)}


def _bundle(draw: random.Random) -> tuple[str, Files]:
    what, values = _values(draw)
    names = draw.choice([("vectors", "labels"), ("x", "y"), ("a", "b"), ("../vectors", "labels"), (NAMES[0], "y")])
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, array in zip(names, (values, _label_array(draw)), strict=True):
            archive.writestr(f"{name}.npy", _npy(array))
    return f"npz of {what}", {"vectors.npz": target.getvalue()}


def _bundle_bomb(draw: random.Random) -> tuple[str, Files]:
    """Few bytes that unpack to many: more vectors than a file may have."""
    shape = draw.choice([(60_000_000,), (60_000, 1000), (20_000, 4097), (10, 6_000_000)])
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("vectors.npy", "w", force_zip64=True) as file:
            file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header)
            for _ in range(int(np.prod(shape)) // 1_000_000):
                file.write(bytes(4_000_000))
        archive.writestr("labels.npy", _npy(np.arange(30) % 3))
    return "npz bomb", {"vectors.npz": target.getvalue()}


def _text_table(draw: random.Random) -> tuple[str, Files]:
    cells = ["1", "1.5", "-2e3", "NaN", "inf", "", "x", "=1+1", "1e999", "٣", *NAMES[:6], "a,b", '"', "9" * 5000]
    rows = [[draw.choice(cells[:3]) for _ in range(3)] + [draw.choice("abc")] for _ in range(30)]
    for _ in range(draw.choice([0, 1, 20])):
        rows[draw.randrange(30)][draw.randrange(4)] = draw.choice(cells)
    if draw.random() < 0.2:
        rows[5] = rows[5] * draw.choice([2, 50])
    header = draw.choice([["a", "b", "c", "label"], ["x", "x", "x", "x"], [*NAMES[:3], "label"], []])
    ending, mark = draw.choice([(".csv", ","), (".tsv", "\t"), (".csv", ";")])
    content = "\n".join(mark.join(row) for row in [header, *rows] if row).encode(
        draw.choice(["utf-8", "utf-16"]), "replace"
    )
    return f"{ending[1:]} of odd cells", {f"{draw.choice(['vectors', 'a b', '=1+1'])}{ending}": content}


def _long_table(draw: random.Random) -> tuple[str, Files]:
    """More rows or columns than a file may have, or one endless line."""
    what, content = draw.choice(
        [
            ("rows", b"x,y,label\n" + b"1,2,a\n3,4,b\n" * 1_000_000),
            ("labels", b"x,y,label\n" + b"1,2," + b"a" * 200 + b"\n3,4,b\n" * 500_000),
            ("columns", b",".join(b"%d" % number for number in range(60_000)) + b"\n" + b"1," * 59_999 + b"1\n"),
            ("one line", b"1" * 20_000_000),
            ("quotes", b'x,label\n"' + b"a" * 10_000_000),
            ("line ends", b"\n" * 10_000_000),
        ]
    )
    return f"csv of too many {what}", {"vectors.csv": content}


def _parquet(table: pa.Table, **options: object) -> bytes:
    target = io.BytesIO()
    parquet.write_table(table, target, **options)
    return target.getvalue()


def _columns(draw: random.Random) -> tuple[str, Files]:
    vectors = _vectors(draw)
    kinds = {
        "lists": pa.array(vectors.tolist()),
        "ragged lists": pa.array([[1.0] * (number % 5) for number in range(30)]),
        "nulls": pa.array([None] * 30, pa.list_(pa.float32())),
        "lists of text": pa.array([["x"]] * 30),
        "nested": pa.array([[[1.0]]] * 30),
        "maps": pa.array([{"a": 1}] * 30),
        "bytes": pa.array([b"\xff" * 9] * 30),
        "numbers": pa.array([1.0, None] * 15),
        "decimals": pa.array([10**30] * 30, pa.decimal128(38)),
    }
    what = draw.choice([*kinds])
    labels = pa.array([draw.choice(NAMES[:8]).replace("\ud7ff", "") for _ in range(30)])
    return f"parquet of {what}", {"vectors.parquet": _parquet(pa.table({"vector": kinds[what], "label": labels}))}


def _columns_bomb(draw: random.Random) -> tuple[str, Files]:
    """Few bytes that a dictionary or run lengths blow up."""
    rows = 20_000
    what, column = draw.choice(
        [
            ("text", pa.array(["x" * 20_000] * rows)),
            ("very long lists", pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * 4200, np.int8)), 4200)),
        ]
    )
    names = pa.array([f"{number % 3}" for number in range(rows)])
    table = pa.table(
        {"vector": pa.array(np.zeros(rows)), "label": column} if what == "text" else {"vector": column, "label": names}
    )
    return f"parquet bomb of {what}", {"vectors.parquet": _parquet(table, compression="zstd")}


def _labels(draw: random.Random) -> tuple[str, Files]:
    texts = [
        "\n".join(draw.choice(NAMES) for _ in range(30)).encode("utf-8", "replace"),
        b"\xff\xfe" * 30,
        b"a\n" * 3_000_000,
    ]
    ending = draw.choice([".txt", ".csv", ".tsv", ".TXT"])
    return "labels of odd names", {"vectors.npy": _npy(_vectors(draw)), f"labels{ending}": draw.choice(texts)}


def _damaged(draw: random.Random) -> tuple[str, Files]:
    what, files = draw.choice([_array, _bundle, _text_table, _columns])(draw)
    name = draw.choice([*files])
    content = files[name]
    cut = content[: draw.randrange(len(content))]
    noise = bytes(byte ^ (draw.randrange(256) if draw.random() < 0.02 else 0) for byte in content[:20_000])
    return f"{what}, damaged", files | {name: draw.choice([cut, noise, *TEXTS.values()])}
