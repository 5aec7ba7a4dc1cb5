"""Arrays are read as NumPy wrote them, and a damaged file is one error that names it."""

import io
import json
import struct

import numpy as np
import pytest

from dmlviz.arrays import read_array, read_arrays, shape_of
from dmlviz.errors import DamagedFileError
from dmlviz.runs import BUNDLED, Runs

ARRAYS = [
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
    np.arange(3, dtype=">i2"),
    np.array([True, False]),
    np.array(5, np.uint8),
    np.zeros((0, 3), np.float16),
    np.array("fan"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_what_numpy_wrote_comes_back(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", one=array, two=array)
    stored = read_arrays(tmp_path / "a.npz")
    assert list(stored) == ["one", "two"]
    for found in (read_array(tmp_path / "a.npy", "fiubU"), stored["one"]):
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert np.array_equal(found, array)
    assert shape_of(tmp_path / "a.npy") == array.shape


def test_an_array_stays_on_disk_and_cannot_be_written(tmp_path):
    np.save(tmp_path / "a.npy", ARRAYS[0])
    found = read_array(tmp_path / "a.npy")
    assert isinstance(found, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_no_file_is_no_array(tmp_path):
    assert read_array(tmp_path / "a.npy") is None
    assert shape_of(tmp_path / "a.npy") is None


def npy(header):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b"\x93NUM", "it is cut off"),
        (b"no array at all", "it is no npy file"),
        (npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }\n"), "it is cut off"),
        (npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999), }\n"), "more numbers"),
        (npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (5,), }\n"), "its header"),
        (npy(b"{'descr': '<q9', 'fortran_order': False, 'shape': (5,), }\n"), "no kind of number"),
        (npy(b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (5,), }\n"), "its header"),
        (npy(b"__import__('os').system('touch PWNED')\n"), "its header"),
        (npy(b"x" * 60_000), "too long"),
    ],
)
def test_a_damaged_file_is_one_error_that_names_it(tmp_path, content, why):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DamagedFileError, match=rf"^a\.npy cannot be read: .*{why}"):
        read_array(tmp_path / "a.npy")


@pytest.mark.parametrize(("kinds", "shape"), [("iu", None), ("f", (3, 5)), ("f", (3,)), ("f", (None, None, None))])
def test_an_array_of_another_kind_or_shape_is_damaged(tmp_path, kinds, shape):
    np.save(tmp_path / "a.npy", ARRAYS[0])
    with pytest.raises(DamagedFileError, match=r"it holds float32|it should be"):
        read_array(tmp_path / "a.npy", kinds, shape)


def test_an_npz_cut_at_any_place_is_one_error(tmp_path):
    target = io.BytesIO()
    np.savez_compressed(target, a=ARRAYS[0])
    whole = target.getvalue()
    for cut in range(len(whole)):
        (tmp_path / "a.npz").write_bytes(whole[:cut])
        with pytest.raises(DamagedFileError, match=r"a\.npz"):
            read_arrays(tmp_path / "a.npz")


def test_the_schema_knows_all_that_is_written(tmp_path):
    """A field that an event gains has to be declared in run_schema, or readers would never see it."""
    runs = Runs(tmp_path).list()
    assert len(runs) == len(list(BUNDLED.glob("*/run.json")))
    for run in runs:
        assert run.info == json.loads((run.path / "run.json").read_bytes())
        assert run.events() == [json.loads(line) for line in run.log.path.read_bytes().splitlines()]
