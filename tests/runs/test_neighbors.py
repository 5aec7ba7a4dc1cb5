"""Nearest neighbors in a run."""

import json
import os

import numpy as np
import pytest
from sklearn.decomposition import PCA

from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.errors import UserError
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.ops.pairwise_numpy import distances
from dmlviz.recording.inputs import recorded_dataset
from dmlviz.recording.run_writer import RunPlan, RunWriter
from dmlviz.runs import neighbor_table, per_query
from dmlviz.runs.crops import combine, embed_crops, offsets, shift
from dmlviz.runs.example_item import example_item
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.storage.files import write_array


def test_neighbors_leave_the_item_out_and_name_classes(runs, write, labels):
    run = write(runs)
    embeddings = np.asarray(run.embeddings, np.float64)
    far = np.linalg.norm(embeddings - embeddings[7], axis=1)
    far[7] = np.inf
    expected = np.argsort(far)[:5]
    found = run.neighbors(7, 5)
    assert [neighbor.item for neighbor in found] == expected.tolist()
    assert [neighbor.label for neighbor in found] == labels[expected].tolist()
    np.testing.assert_allclose([neighbor.distance for neighbor in found], far[expected], rtol=1e-4)
    json.dumps([neighbor._asdict() for neighbor in found])


def test_the_example_has_two_neighbors_of_another_class_but_not_the_nearest(runs, told, write, labels):
    run = write(runs)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=run.embeddings.shape).astype(np.float32)
    for spread in (0, 0.02, 0.05, 0.1, 0.3, 1):
        write_array(run.path / "embeddings.npy", run.embeddings + spread * noise)
        wrong = {
            item: [neighbor.label != labels[item] for neighbor in run.neighbors(item, 10)]
            for item in map(int, run.tracked_indices)
        }
        offs = {item: abs(sum(marks) - 2) for item, marks in wrong.items() if not marks[0]}
        best = next((item for item in offs if offs[item] == min(offs.values())), None)
        assert example_item(run) == best
    assert example_item(write(runs, events=list(told())[:-1])) is None


def test_neighbors_at_a_step_are_among_the_watched(runs, write, labels):
    run = write(runs)
    tracked = run.tracked_indices
    item = int(tracked[3])
    embeddings = run.snapshot(2).astype(np.float64)
    far = np.linalg.norm(embeddings - embeddings[3], axis=1)
    far[3] = np.inf
    assert [neighbor.item for neighbor in run.neighbors(item, 4, step=2)] == tracked[np.argsort(far)[:4]].tolist()
    stranger = next(i for i in range(len(labels)) if i not in tracked)
    with pytest.raises(UserError, match=f"Image {stranger} is not among the 20"):
        run.neighbors(stranger, 4, step=2)
    for nonsense in (-1, len(labels), 10**9):
        with pytest.raises(UserError, match="is not among"):
            run.neighbors(nonsense, 4)


def test_neighbors_while_training_come_from_the_newest_snapshot(runs, told, write):
    run = write(runs, events=list(told())[:-1])
    item = int(run.tracked_indices[0])
    assert run.neighbors(item, 3) == run.neighbors(item, 3, step=4)


def test_the_gallery_of_a_run_that_was_trained_again_is_not_the_old_one(runs, told, write):
    run = write(runs)
    before = run.neighbors(7, 5)
    again = write(runs, events=list(told(spread=5.0)))
    assert again.neighbors(7, 5) != before


def test_a_point_of_the_space_has_neighbors(runs, write):
    run = write(runs)
    assert run.neighbors_of_point(run.embeddings[7], 1)[0].item == 7
    assert run.neighbors_of_point(run.embeddings[7], 1)[0].distance == pytest.approx(0, abs=1e-3)


def test_the_neighbors_of_all_are_those_of_each(runs, write):
    run = write(runs)
    table = run.all_neighbors()
    assert (table.recall, table.measured) == (1.0, 0)
    for item in (0, 17, 49):
        assert table.indices[item].tolist() == [neighbor.item for neighbor in run.neighbors(item, 10)]
    assert not (run.path / neighbor_table.FILE).exists()


def test_neighbors_by_an_index_are_kept_until_the_embeddings_change(runs, write, monkeypatch):
    monkeypatch.setattr(neighbor_table, "MAX_EXACT", 40)
    run = write(runs)
    exact = [[neighbor.item for neighbor in run.neighbors(item, 10)] for item in range(50)]
    table = run.all_neighbors()
    assert table.recall >= 0.95
    assert (table.indices == exact).mean() > 0.9
    monkeypatch.setattr(neighbor_table, "index_table", None)  # not computed again
    assert (run.all_neighbors().indices == table.indices).all()
    assert len(neighbor_table.stored_map_recall(run)) == 50
    os.utime(run.path / "embeddings.npy")
    os.utime(run.path / neighbor_table.FILE, (0, 0))
    assert neighbor_table.stored_table(run) is None
    os.utime(run.path / neighbor_table.FILE)
    (run.path / neighbor_table.FILE).write_bytes(b"damaged")
    assert neighbor_table.stored_table(run) is None


def test_the_share_of_neighbors_on_the_map_is_that_of_exact_search():
    random = np.random.default_rng(0)
    space, positions = random.normal(size=(200, 5)), random.normal(size=(200, 2))
    near, on_map = (NearestNeighbors(points).others(10)[1] for points in (space, positions))
    expected = [len(set(a) & set(b)) / 10 for a, b in zip(near, on_map, strict=True)]
    np.testing.assert_allclose(neighbor_table.map_recall(near, positions), expected, rtol=1e-6)


POINTS, LABELS = np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 3
CLASSES = ("a", "b", "no label")


def imported(folder):
    return import_embeddings(Runs(folder), LabeledEmbeddings(POINTS, LABELS, CLASSES), "mine")


def recorded(folder):
    spec = recorded_dataset("mine", None, LABELS, CLASSES)
    with RunWriter(RunPlan(folder, "mine", "0" * 16, spec.to_dict()), LABELS, POINTS) as writer:
        writer.snapshot(3, POINTS)
        writer.end("", 1.0, 1.0)
    return Run(writer.run.path)


@pytest.mark.parametrize("make", [imported, recorded])
def test_the_first_click_computes_nothing_unless_the_vectors_are_newer(tmp_path, monkeypatch, make):
    run, computed = make(tmp_path), []
    monkeypatch.setattr(per_query, "_per_query", lambda *of: computed.append(of) or b"anew")
    kept = per_query.per_query_bytes(run, None)
    assert (computed, len(kept)) == ([], 40 * 28)
    assert np.frombuffer(kept, "<i4")[:40].tolist() == np.flatnonzero(LABELS < 2).tolist()
    os.utime(run.path / per_query.FILE, (0, 0))
    assert per_query.per_query_bytes(run, None) == b"anew"
    (run.path / per_query.FILE).write_bytes(kept[:-3])
    assert per_query.per_query_bytes(run, None) == b"anew"


CONFIG = TrainConfig(dataset="digits", net="mlp", embedding_dim=4, steps=5, num_snapshots=1, eval_subset_size=50)


def test_the_first_crop_is_the_image_itself_and_each_shift_comes_once() -> None:
    assert offsets(1) == [(0, 0)]
    assert sorted(offsets(9)) == [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    assert offsets(25)[0] == (0, 0)
    assert set(offsets(9)) < set(offsets(25))


@pytest.mark.parametrize("count", [0, 4, 8, 16, 49, -1])
def test_another_number_of_crops_is_refused(count: int) -> None:
    with pytest.raises(UserError, match=rf"1, 9 or 25; got {count}"):
        offsets(count)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_shift_moves_the_pixels_and_repeats_the_edge(channels: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 255, (5, 6, 7, *channels))
    moved = shift(images, 1, -2)
    assert moved.shape == images.shape
    assert np.array_equal(moved[:, 1:, :-2], images[:, :-1, 2:])
    assert np.array_equal(moved[:, 0, :-2], images[:, 0, 2:])
    assert np.array_equal(moved[:, :, -1], moved[:, :, -3])


def test_crops_are_put_together_by_mean_or_by_pca(runs) -> None:
    run = runs.create(CONFIG)
    list(train_and_record(run))
    data = load("digits")
    one = embed_crops(run, data.test.images, 1)
    np.testing.assert_allclose(one[:, 0], run.embeddings, atol=1e-5)
    nine = embed_crops(run, data.test.images, 9)
    np.testing.assert_allclose(nine[:, 0], run.embeddings, atol=1e-5)
    mean = combine(nine, "mean", run.config, nine)
    expected = sum(nine[:, i] for i in range(9))
    np.testing.assert_allclose(mean, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)
    fitted = embed_crops(run, data.train.images[:300], 9)
    reduced = combine(nine, "concatenation", run.config, fitted)
    peer = PCA(4).fit(fitted.reshape(300, -1)).transform(nine.reshape(len(nine), -1))
    np.testing.assert_allclose(distances(reduced, "euclidean"), distances(peer, "euclidean"), atol=1e-3)
