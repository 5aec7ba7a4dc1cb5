"""Numbers of any type, offset, unit and place in memory give what float64 gives, or are refused in a sentence."""

import decimal
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
import torch
from scipy import sparse

import dmlviz
from dmlviz import UserError, metrics
from dmlviz.config import ProjectionConfig
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.ops.precision import narrowed, to_numbers
from dmlviz.projection import project
from dmlviz.recording.inputs import read_embeddings

N = 60
LABELS = np.arange(N) % 3
_RNG = np.random.default_rng(0)
POINTS = _RNG.normal(size=(3, 6))[LABELS] * 6 + _RNG.normal(size=(N, 6))


def _memory_map(folder: Any) -> np.ndarray:
    np.save(folder / "points.npy", POINTS)
    return np.load(folder / "points.npy", mmap_mode="r")


def _read_only() -> np.ndarray:
    points = POINTS.copy()
    points.setflags(write=False)
    return points


KINDS = {
    **{kind: lambda kind=kind: POINTS.astype(kind) for kind in ("f2", "f4", "f8", "longdouble", ">f4", ">f8", "<f8")},
    **{kind: lambda kind=kind: (20 * POINTS).astype(kind) for kind in ("i1", "i2", ">i4", "i8")},
    **{kind: lambda kind=kind: (20 * POINTS + 500).astype(kind) for kind in ("u2", "u4", "u8")},
    "u8 beyond i8": lambda: (20 * POINTS + 500).astype("u8") + np.uint64(2**63),
    "i8 beyond f4": lambda: (20 * POINTS).astype("i8") + 10**12,
    "bool": lambda: POINTS.mean(axis=0) < POINTS,
    "columns first": lambda: np.asfortranarray(POINTS),
    "every second column": lambda: np.repeat(POINTS, 2, axis=1)[:, ::2],
    "backwards": lambda: POINTS[::-1][::-1, ::-1],
    "read-only": _read_only,
    "objects": lambda: POINTS.astype(object),
    "decimals": lambda: np.array([[decimal.Decimal(repr(float(x))) for x in row] for row in POINTS]),
    "lists": lambda: POINTS.tolist(),
    "frame": lambda: pd.DataFrame(POINTS, index=range(100, 100 + N)),
    "nullable": lambda: pd.DataFrame(POINTS).convert_dtypes(),
    "nullable whole": lambda: pd.DataFrame((20 * POINTS).astype(int)).astype("Int64"),
    "bfloat16": lambda: torch.tensor(POINTS, dtype=torch.bfloat16, requires_grad=True),
    "float64 tensor": lambda: torch.tensor(POINTS).T.contiguous().T,
    **{f"+ {offset:g}": lambda offset=offset: POINTS + offset for offset in (1e3, 1e6, -1e8, 1e9, 1e12)},
    **{f"float32 + {offset:g}": lambda offset=offset: (POINTS + offset).astype("f4") for offset in (1e3, 1e5)},
    **{f"× {unit:g}": lambda unit=unit: POINTS * unit for unit in (1e-25, 1e-12, 1e-6, 1e6, 1e15)},
    **{f"float32 × {unit:g}": lambda unit=unit: (POINTS * unit).astype("f4") for unit in (1e-25, 1e-18, 1e15)},
    "one far row": lambda: np.where(np.arange(N)[:, None] == 7, 1e12, POINTS),
    "groups far apart": lambda: POINTS + 1e9 * (np.arange(N) % 4)[:, None],
    "times and small numbers": lambda: POINTS + np.array([1.7e9, 0, 0, 4e6, 5e5, 0]),
}


def _float64(values: Any) -> np.ndarray:
    return np.asarray(values.detach().double() if hasattr(values, "detach") else values).astype(np.float64)


@pytest.fixture(params=[*KINDS, "memory map"])
def values(request, tmp_path):
    return _memory_map(tmp_path) if request.param == "memory map" else KINDS[request.param]()


def test_scores_neighbors_and_a_run_are_those_of_float64(values):
    right = _float64(values)
    expected = metrics.evaluate(right, LABELS, clustering=False)
    got = metrics.evaluate(values, LABELS, clustering=False)
    assert got["precision_at_1"] == expected["precision_at_1"]
    assert got["mean_positive_distance"] == pytest.approx(expected["mean_positive_distance"], rel=1e-3)
    distances, near = NearestNeighbors(right).others(3)
    for kept in (values, read_embeddings(values, 0, N, None)):
        found, indices = NearestNeighbors(kept).others(3)
        assert np.allclose(found, distances, rtol=1e-3)
        assert (indices == near).mean() > 0.98


@pytest.mark.sample(60)  # numbers are read before any method draws them
@pytest.mark.parametrize("method", ["pca", "tsne", "umap"])
def test_a_map_is_that_of_float64(values, method):
    right = _float64(values)
    if right.max() > 1e18:
        with pytest.raises(UserError, match="beyond 1e18"):
            project(values)
        return
    centered = right - right.mean(axis=0)
    right = centered / np.abs(centered).max()
    params = {"iterations": 40} if method != "pca" else {}
    if method == "tsne":
        params["perplexity"] = 8
    config = ProjectionConfig(method=method, params=params)
    drawn, expected = project(values, config), project(right, config)
    size = np.ptp(expected.coordinates, axis=0).max() / np.ptp(drawn.coordinates, axis=0).max()
    if method == "pca":
        assert np.allclose(drawn.coordinates * size, expected.coordinates, atol=2e-3 * np.ptp(expected.coordinates))
        return
    _, near = NearestNeighbors(drawn.coordinates).others(5)
    _, expected_near = NearestNeighbors(expected.coordinates).others(5)
    kept, expected_kept = ((LABELS[each] == LABELS[:, None]).mean() for each in (near, expected_near))
    assert kept == pytest.approx(expected_kept, abs=0.06)
    for name in ("trustworthiness", "neighbors_kept"):
        assert drawn.quality.overall[name] == pytest.approx(expected.quality.overall[name], abs=0.1)


@pytest.mark.parametrize("unit", [1e-60, 1e25])
def test_numbers_that_a_map_cannot_hold_are_refused(unit):
    with pytest.raises(UserError, match=r"1e-30|1e18"):
        project(POINTS * unit)


@pytest.mark.filterwarnings("ignore:Sparse CSR", "ignore:torch.quantize")
@pytest.mark.parametrize(
    "held",
    [
        sparse.csr_matrix,
        sparse.coo_array,
        lambda x: torch.tensor(x).to_sparse(),
        lambda x: torch.tensor(x).to_sparse_csr(),
        lambda x: torch.quantize_per_tensor(torch.tensor(x), 1.0, 0, torch.qint8),
        lambda x: torch.tensor(-x * 1j).conj().imag,
        lambda x: torch.nn.Parameter(torch.tensor(x)),
    ],
)
def test_numbers_are_read_however_a_library_holds_them(held):
    values = np.arange(24, dtype=np.float32).reshape(8, 3) ** 2 % 11
    np.testing.assert_array_equal(to_numbers(held(values)), values)


@pytest.mark.slow
@pytest.mark.parametrize("held", [sparse.csr_matrix, lambda x: torch.tensor(x).to_sparse()])
def test_a_recording_reads_what_numbers_are_read_from(held, tmp_path):
    values, labels = np.arange(24, dtype=np.float32).reshape(8, 3) ** 2 % 11, np.arange(8) % 2
    with dmlviz.record("held", labels=labels, runs=tmp_path) as recording:
        recording.snapshot(0, held(values))
    np.testing.assert_array_equal(recording.run.embeddings, values)


def test_what_is_masked_is_missing():
    values = np.ma.masked_array(np.arange(6.0).reshape(3, 2), mask=[[0, 0], [0, 1], [0, 0]])
    assert np.isnan(to_numbers(values)).tolist() == values.mask.tolist()
    with pytest.raises(UserError, match="1 rows"):
        NearestNeighbors(values)


@pytest.mark.parametrize(
    "values",
    [
        np.array([["a", "b"]] * 3),
        np.ones((3, 2)) * 1j,
        np.zeros((3, 2), "M8[s]"),
        [[1], [1, 2]],
        torch.empty(3, 2, device="meta"),
    ],
)
def test_what_is_no_number_is_refused(values):
    for read in (project, lambda x: metrics.evaluate(x, [0, 1, 0]), NearestNeighbors):
        with pytest.raises(UserError):
            read(values)


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "bits"), [(100, 32), (1e9, 64)])
def test_a_run_keeps_as_many_bits_as_its_distances_need(offset, bits, tmp_path):
    with dmlviz.record("offset", labels=LABELS, runs=tmp_path) as recording:
        recording.snapshot(0, POINTS + offset)
        recording.snapshot(1, POINTS + offset)
    run = recording.run
    assert run.embeddings.dtype.itemsize * 8 == run.snapshot(0).dtype.itemsize * 8 == bits
    assert run.metrics["precision_at_1"] == 1
    table = pyarrow.table({f"d{i}": column for i, column in enumerate((POINTS + offset).T)} | {"label": LABELS})
    run = dmlviz.add_data(table, runs=tmp_path, report=lambda line: None)
    assert run.metrics["precision_at_1"] == 1
    places = run.linear_projection.project(run.embeddings)
    assert (LABELS[NearestNeighbors(places).others(1)[1][:, 0]] == LABELS).mean() > 0.9
    assert narrowed(POINTS).dtype == np.float32


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("share", [0.1, 1])
def test_rows_that_are_not_finite_are_not_warned_about_by_numpy(odd, share):
    rows = POINTS.astype(np.float64)
    rows[: int(share * len(rows))] = odd
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(narrowed(rows), rows)
