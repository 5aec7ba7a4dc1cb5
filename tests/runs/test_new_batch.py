"""A new batch over a map: the test holds its rate, finds what changed, and says what it cannot tell."""

import gzip
import json
import zipfile

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from dmlviz.cli.main import main
from dmlviz.cli.project import compute
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import load
from dmlviz.data.known_content import idx_bytes
from dmlviz.errors import UserError
from dmlviz.metrics.two_sample import holm, pooled_neighbors, two_sample_test
from dmlviz.projection import place_on, project
from dmlviz.projection.out_of_sample import Placement
from dmlviz.runs.new_batch import of_file, place, sentences
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.training.validation_split import split_training_images


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def run(folder):
    config = TrainConfig(dataset="digits", net="mlp", steps=120, num_snapshots=2, validation_fraction=0.4)
    run = Runs(folder).create(config)
    list(train_and_record(run))
    return run


@pytest.fixture(scope="module")
def fresh(run):
    """Images that the net was not trained on, and their class names."""
    train = load("digits").train
    rows = split_training_images(run.config, train.labels).validation
    return train.images[rows], [str(label) for label in train.labels[rows]]


def command(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


@pytest.mark.parametrize("sizes", [(60, 60), (90, 12)])
def test_samples_of_one_cloud_are_called_different_as_often_as_the_level_says(sizes):
    rng = np.random.default_rng(0)
    tests = [
        two_sample_test(pooled_neighbors(*(rng.normal(size=(n, 4)).astype(np.float32) for n in sizes)), 99)
        for _ in range(300)
    ]
    assert 0.02 <= np.mean([test.p <= 0.05 for test in tests]) <= 0.09
    assert np.mean([test.share for test in tests]) == pytest.approx(0.5, abs=0.02)


def test_neighbors_and_share_are_those_of_all_distances():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(40, 3)), rng.normal(size=(23, 3)) + 0.5
    pooled = np.concatenate([first, second])
    distances = np.linalg.norm(pooled[:, None] - pooled, axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :5]
    found = pooled_neighbors(first, second)
    np.testing.assert_array_equal(found.neighbors, near)
    np.testing.assert_allclose(found.within, distances[:40, :40].min(axis=1))
    np.testing.assert_allclose(found.distances[:, 0], distances[40:, :40].min(axis=1))
    own = (near >= 40) == (np.arange(63) >= 40)[:, None]
    assert two_sample_test(found).share == pytest.approx((own[:40].mean() + own[40:].mean()) / 2)


def test_too_few_points_are_refused_and_few_are_not_an_error():
    points = np.eye(4, dtype=np.float32)
    assert pooled_neighbors(points, points[:1]).neighbors.shape == (5, 4)
    with pytest.raises(UserError, match="needs 5 images on each side; got 4 and 1"):
        two_sample_test(pooled_neighbors(points, points[:1]))


def test_p_values_are_corrected_for_their_number():
    rng = np.random.default_rng(2)
    assert np.mean([min(holm(rng.random(20))) <= 0.05 for _ in range(500)]) <= 0.08
    assert holm([]) == []


@pytest.mark.slow
def test_the_class_that_changed_is_the_first_to_drift(run, fresh):
    images, names = fresh
    usual = place(run, images, names)
    changed = np.stack([image.T if name == "6" else image for image, name in zip(images, names, strict=True)])
    found = place(run, changed, names)
    assert found.classes[0].label == 6
    assert found.classes[0].p <= 0.05
    assert found.classes[0].test.share > usual.overall.share + 0.1
    assert len(found.classes) == len(usual.classes) == 10
    assert [one.p for one in found.classes] == sorted(one.p for one in found.classes)
    assert np.array_equal(found.places, run.linear_projection.project(found.embeddings))
    assert np.mean([str(label) == name for label, name in zip(place(run, images).labels, names, strict=True)]) > 0.9


@pytest.mark.slow
def test_images_that_nothing_is_near_to_come_first(run, fresh):
    images, names = fresh
    strange = np.random.default_rng(0).integers(0, 255, (3, 8, 8), dtype=np.uint8)
    found = place(run, np.concatenate([images, strange]), [*names, "", "no digit", ""])
    nearest = np.linalg.norm(found.embeddings[:, None] - run.embeddings, axis=2).min(axis=1)
    np.testing.assert_allclose(found.distances, nearest, atol=1e-4)
    assert (np.diff(nearest[found.far]) <= 1e-6).all()
    assert nearest[found.far].min(initial=np.inf) > found.limit
    assert len(found.far) < 0.1 * len(images)
    assert (found.labels[-3:] == -1).all()
    assert found.unknown == 3


def test_many_points_lie_between_their_neighbors_on_a_map_without_a_formula():
    rng = np.random.default_rng(3)
    points, flat = rng.normal(size=(60, 5)).astype(np.float32), rng.normal(size=(60, 2)).astype(np.float32)
    config = ProjectionConfig(method="tsne")
    found = place_on(config, points, flat, points[:9] + 0.01, quick=True)
    assert np.linalg.norm(found - flat[:9], axis=1).max() < np.ptp(flat) / 4
    np.testing.assert_array_equal(place_on(config, points, flat, points[:9], quick=True), flat[:9])
    known = pooled_neighbors(points, points[:9] + 0.01, across=20)
    known = np.square(known.distances), known.nearest
    np.testing.assert_allclose(Placement(config, points, flat).place(points[:9] + 0.01, True, known), found, rtol=1e-5)


@pytest.mark.slow
def test_the_command_takes_folders_and_data_sets_and_says_what_it_cannot_read(run, folder, fresh, tmp_path, capsys):
    images, names = fresh
    out = tmp_path / "out.json"
    for row in range(60):
        (tmp_path / "new" / names[row]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[row]).save(tmp_path / "new" / names[row] / f"{row}.png")
    (tmp_path / "new" / "<b>x").mkdir()
    (tmp_path / "new" / "<b>x" / "text.png").write_text("text")
    here = "--runs", folder
    files = [tmp_path / name for name in ("new", "none.png")]
    assert command("place", run.id, *files, "--json", out, *here) == 1
    said = capsys.readouterr()
    assert "60 new images over the 596 test images" in said.out
    assert "by very little" not in said.out
    assert "none.png: There is no such file, and no data set of this name." in said.err
    assert "text.png: A picture is a PNG" in said.err
    written = json.loads(out.read_text())
    assert len(written["images"]) == 60
    assert written["labels"] == "given"
    assert written["overall"]["sizes"] == [596, 60]
    assert command("place", run.id, "digits", *here) == 2
    assert "is what the map shows" in capsys.readouterr().err
    assert command("place", run.id, "mnist", *here) == 2
    assert "takes images of 8 × 8 pixels in gray; those of MNIST have 28 × 28" in capsys.readouterr().err
    assert command("place", run.id, tmp_path / "none.png", *here) == 2


def test_arrays_and_tables_of_pixels_give_the_images_that_they_hold(folder, tmp_path):
    test, run = load("digits").test, Runs(folder).create(TrainConfig(dataset="digits"))
    images, labels = test.images[:9], test.labels[:9]
    shaped = {"a.npy": images, "b.npy": images[..., None], "c.npy": images / 255, "d.npy": images.reshape(9, -1)}
    for kind, array in shaped.items():
        np.save(tmp_path / kind, array)
    np.savez(tmp_path / "a.npz", images=images, labels=labels)
    head = ",".join(["label", *map("px{}".format, range(64))])
    np.savetxt(tmp_path / "a.csv", np.c_[labels, shaped["d.npy"]], "%g", ",", header=head, comments="")
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for name, array in {"t10k-images-idx3-ubyte.gz": images, "t10k-labels-idx1-ubyte.gz": labels}.items():
            (tmp_path / name).write_bytes(gzip.compress(idx_bytes(array)))
            archive.write(tmp_path / name, f"mnist/{name}")
    for kind in (*shaped, "a.npz", "a.csv", "t10k-images-idx3-ubyte.gz", "both.zip"):
        found, names, _, _, failures = of_file(run, tmp_path / kind)
        np.testing.assert_array_equal(found, images, kind)
        assert (names, failures) == ([""] * 9 if kind in shaped else labels.astype(str).tolist(), []), kind
    for array, words in [
        (images[:, 1:], "n × 8 × 8, with a label of each or none; bad.npy has 9 × 7 × 8"),
        (images[:0], "has 0 × 8 × 8"),
        (images / 127.5 - 1, "bad.npy has -1 to 1: undo"),
        (np.where(images, np.nan, images), "has NaN"),
        (images.astype(object), "pickled Python objects"),
        (images.astype(complex), "should hold numbers"),
    ]:
        np.save(tmp_path / "bad.npy", array)
        assert words in of_file(run, tmp_path / "bad.npy")[4][0]
    (cut := tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(images)[:99])
    assert of_file(run, cut)[4][0].startswith("t10k-images-idx3-ubyte is cut off: its header promises 9 × 8 × 8 values")


@pytest.mark.slow
def test_the_test_images_once_more_are_recognized_and_lie_where_they_are_on_a_map(run, folder, tmp_path, capsys):
    for row, image in enumerate(load("digits").test.images[:200]):
        Image.fromarray(image).save(tmp_path / f"{row}.png")
    command("place", run.id, tmp_path, "--view", "pca", "--json", tmp_path / "out.json", "--runs", folder)
    assert "nearer to the test images than chance allows" in capsys.readouterr().out
    there = {
        int(one["image"].split("/")[-1][:-4]): one["place"]
        for one in json.loads((tmp_path / "out.json").read_text())["images"]
    }
    exact = project(run.embeddings, ProjectionConfig(method="pca")).coordinates
    np.testing.assert_allclose([there[row] for row in range(200)], exact[:200], atol=1e-4)


@pytest.mark.slow
def test_images_lie_on_a_map_of_a_few_dimensions_by_these_alone(run, folder):
    projection = compute(Runs(folder).create_projection(run, ProjectionConfig(method="pca", prefix=3)), Console())
    found = place(run, load("digits").test.images[:20], projection=projection)
    np.testing.assert_allclose(found.places, projection.coordinates[:20], atol=1e-4)


@pytest.mark.slow
def test_rows_lie_over_the_map_of_a_table_by_the_names_of_their_columns(folder, tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3)).round(3)
    text = [f"{a},{b},{c},{'no' if a < 0 else 'yes'}" for a, b, c in rows]
    (tmp_path / "old.csv").write_text("\n".join(["height,weight,age,kind", *text]))
    (tmp_path / "new.csv").write_text(
        "\n".join(["age,id,kind,height,weight", *[f"{c},x{a},,{a},{b}" for a, b, c in rows]])
    )
    (tmp_path / "one.csv").write_text("weight,height,age,kind\n1,2,3,yes\n")
    (tmp_path / "other.csv").write_text("height,weight,kind\n1,2,yes\n3,4,no\n")
    (tmp_path / "bare.csv").write_text("\n".join(text))
    np.save(tmp_path / "short.npy", rows[:, :2])
    assert command("data", "add", tmp_path / "old.csv", "--runs", folder) == 0
    old = Runs(folder).find("old")
    files = [tmp_path / name for name in ("new.csv", "one.csv", "other.csv", "short.npy", "bare.csv")]
    assert command("place", old.id, *files, "--runs", folder, "--json", tmp_path / "placed.json") == 1
    said = capsys.readouterr()
    assert "121 new rows over the 60 rows of old" in said.out
    assert "its columns are taken in the order of the map: height, weight, age." in said.err
    assert "other.csv has no column 'age'" in said.err
    assert "of height, weight, age" in said.err
    assert "of 3-d vectors; short.npy holds 2-d ones" in said.err
    placed = json.loads((tmp_path / "placed.json").read_text())["images"]
    assert [one["nearest"] for one in placed[:60] + placed[61:]] == [*range(60)] * 2
    assert max(one["distance"] for one in placed[:60]) < 1e-6
    np.testing.assert_allclose(
        placed[60]["place"], old.linear_projection.project(np.array([[2.0, 1, 3]]))[0], rtol=1e-4
    )
    assert {one["class"] for one in placed[:60]} == {None}
    assert placed[60]["class"] == "yes"


@pytest.mark.slow
def test_images_given_twice_are_said_as_they_look_like_another_cloud(run, fresh):
    once, twice = (place(run, np.repeat(fresh[0][:30], times, axis=0)) for times in (1, 2))
    assert (once.repeated, twice.repeated) == (0, 30)
    assert any(said.startswith("30 images are there again") for said in sentences(run, twice))


@pytest.mark.slow
def test_few_images_are_placed_without_a_test(run, fresh):
    found = place(run, fresh[0][:3])
    assert found.overall is None
    assert found.classes == []
    assert found.places.shape == (3, 2) or found.places.shape == (3, 3)
    with pytest.raises(UserError, match="at least one image"):
        place(run, fresh[0][:0])
    begun = Runs(run.path.parent).create(run.config.replace(seed=44))
    with pytest.raises(UserError, match="has no"):
        place(begun, fresh[0])
    Runs(run.path.parent).delete(begun.id)
