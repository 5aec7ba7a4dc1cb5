"""Loading data sets from files on disk."""

import gzip
import hashlib
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import available_datasets, data_root, idx, known_content, load, stratified_subset
from dmlviz.data.import_path import import_path
from dmlviz.errors import DataUnavailableError, UserError
from dmlviz.storage.paths import kept_folder

HERE = Path(__file__).resolve()
SHARED = Path(os.environ.get("DMLVIZ_DATA") or HERE.parents[2].parent / "shared" / "data")
needs_mnist = pytest.mark.skipif(
    "mnist" not in available_datasets(SHARED), reason=f"no MNIST in {SHARED} (set DMLVIZ_DATA)"
)


def idx_bytes(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(side).to_bytes(4, "big") for side in array.shape)
    return header + array.astype(np.uint8).tobytes()


def write_mnist(root: Path, *, train: int = 20, test: int = 10, suffix: str = "") -> Path:
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part, count in (("train", train), ("t10k", test)):
        images = rng.integers(0, 256, (count, 28, 28), np.uint8)
        labels = np.arange(count) % 10
        for kind, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
            data = idx_bytes(array)
            (folder / f"{part}-{kind}{suffix}").write_bytes(gzip.compress(data) if suffix else data)
    return folder


def test_digits_are_scikit_learns_and_their_split_is_fixed_and_stratified() -> None:
    from sklearn.datasets import load_digits

    reference, ours = load_digits(), load("digits")
    levels = {
        (label, np.rint(image * (16 / 255)).astype(int).tobytes())
        for split in (ours.train, ours.test)
        for image, label in zip(split.images, split.labels, strict=True)
    }
    theirs = {
        (label, image.astype(int).tobytes()) for image, label in zip(reference.images, reference.target, strict=True)
    }
    assert levels == theirs
    assert len(ours.train) + len(ours.test) == len(reference.target) == 1797
    assert ours.train.images.max() == 255
    counts = np.bincount(ours.test.labels)
    assert counts.min() >= 58
    assert counts.max() <= 61
    again = load("digits")
    assert np.array_equal(again.test.images, ours.test.images)


def test_mean_and_std_of_the_specs_equal_those_of_the_training_pixels() -> None:
    digits = load("digits")
    assert digits.mean == pytest.approx(np.mean(digits.train.images / 255), abs=5e-5)
    assert digits.std == pytest.approx(np.std(digits.train.images / 255), abs=5e-5)


NAMES = {
    "as published": "{part}-{kind}-idx{n}-ubyte",
    "with a dot, as Kaggle has them": "{part}-{kind}.idx{n}-ubyte",
    "downloaded twice": "{part}-{kind}-idx{n}-ubyte (1)",
    "with underscores": "{part}_{kind}_idx{n}_ubyte",
    "without idx": "{part}-{kind}-ubyte",
    "in folders of their names": "{part}-{kind}-idx{n}-ubyte/{part}-{kind}-idx{n}-ubyte",
}


def renamed_mnist(folder: Path, name: str, suffix: str = "", test: str = "t10k") -> None:
    """Put files under these names into a folder."""
    published = write_mnist(folder.parent / "published", suffix=suffix)
    for part, own in (("train", "train"), ("t10k", test)):
        for kind, n in (("images", 3), ("labels", 1)):
            path = folder / (name.format(part=own, kind=kind, n=n) + suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            (published / f"{part}-{kind}-idx{n}-ubyte{suffix}").rename(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("place", ["MNIST/raw", "MNIST"])
@pytest.mark.parametrize("name", NAMES)
def test_mnist_is_found_under_every_name_that_it_is_passed_on_with(tmp_path, name, place, suffix) -> None:
    renamed_mnist(tmp_path / "data" / place, NAMES[name], suffix)
    assert "mnist" in available_datasets(tmp_path / "data")
    assert len(load("mnist", tmp_path / "data").train) == 20


@pytest.mark.parametrize("packed", ["folder", "folder around it", "zip", "one of its files"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", NAMES)
def test_files_as_those_of_mnist_are_added_however_they_are_packed(tmp_path, name, suffix, packed) -> None:
    folder = tmp_path / "letters" / "raw"
    renamed_mnist(folder, NAMES[name], suffix, test="test")
    path = {"folder": folder, "folder around it": folder.parent}.get(packed)
    if packed == "zip":
        path = Path(shutil.make_archive(str(tmp_path / "letters"), "zip", folder.parent))
    elif packed == "one of its files":
        path = next(path for path in sorted(folder.iterdir()))
        if path.is_dir():
            return
    imported = import_path(path)
    assert (len(imported.parts["train_labels"]), len(imported.parts["test_labels"])) == (20, 10)
    assert imported.declared.classes == tuple("0123456789")
    added = load(imported.save(tmp_path / "data"), tmp_path / "data")
    assert added.train.images.shape == (20, 28, 28)


@needs_mnist
@pytest.mark.slow
def test_mnist_itself_is_known_by_its_content_and_put_where_it_is_looked_for(tmp_path) -> None:
    imported = import_path(SHARED / "MNIST", follow_paths=False)
    assert imported.save(tmp_path) == "mnist"
    assert "mnist" in available_datasets(tmp_path)
    ours, theirs = load("mnist", tmp_path), load("mnist", SHARED)
    assert np.array_equal(ours.test.images, theirs.test.images)
    assert np.array_equal(ours.train.labels, theirs.train.labels)


def keras_arrays(seed):
    rng = np.random.default_rng(seed)
    images = {
        f"x_{part}": rng.integers(0, 256, (count, 28, 28), np.uint8) for part, count in (("train", 20), ("test", 10))
    }
    return images | {"y_train": np.arange(20, dtype=np.uint8) % 10, "y_test": np.arange(10, dtype=np.uint8)}


@pytest.fixture
def known(monkeypatch):
    """Small arrays that stand for MNIST and for Fashion-MNIST, and others of the same shapes."""
    of = {name: keras_arrays(seed) for seed, name in enumerate(("mnist", "fashion_mnist", "another"))}
    digests = {
        name: {key: (hashlib.md5(idx_bytes(arrays[field])).hexdigest(),) for field, key in known_content.KERAS.items()}
        for name, arrays in of.items()
        if name != "another"
    }
    monkeypatch.setattr(known_content, "CONTENT", digests)
    return of


@pytest.mark.parametrize("packed", ["file", "folder", "zip", "upload", "idx files"])
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "another"])
def test_the_file_of_keras_is_what_its_content_is_however_it_is_called_and_packed(
    tmp_path, known, name, packed
) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "mnist.npz"
    np.savez(path, **known[name])
    if packed == "folder":
        path = path.parent
    elif packed == "zip":
        path = Path(shutil.make_archive(str(tmp_path / "mnist"), "zip", path.parent))
    elif packed == "idx files":
        path = tmp_path / "unpacked"
        path.mkdir()
        for field, (part, kind) in known_content.KERAS.items():
            (path / f"{part}-{kind}-idx-ubyte").write_bytes(idx_bytes(known[name][field]))
    imported = import_path(path, follow_paths=packed != "upload")
    [note] = imported.report["notes"]
    added = imported.save(tmp_path / "data")
    if name == "another":
        assert added.startswith("custom-")
        assert "in 10 classes; they are neither MNIST nor Fashion-MNIST" in note
    else:
        assert (added, note) == (name, f"These are the files of {DATASETS[name].title}.")
    read = load(added, tmp_path / "data")
    assert np.array_equal(read.train.images, known[name]["x_train"])
    assert read.test.labels.tolist() == [*range(10)]


@pytest.mark.parametrize("place", ["", "MNIST", "MNIST/raw"])
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "another"])
def test_the_file_of_keras_in_the_data_folder_is_read_as_what_it_is(tmp_path, known, name, place) -> None:
    folder = tmp_path / place.replace("MNIST", "FashionMNIST" if name == "fashion_mnist" else "MNIST")
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "mnist.npz", **known[name])
    assert {"mnist", "fashion_mnist"} & {*available_datasets(tmp_path)} == {name} - {"another"}
    if name != "another":
        assert np.array_equal(load(name, tmp_path).test.images, known[name]["x_test"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x_train": np.zeros((20, 28, 28), np.float32)}, "float32"),
        ({"y_test": np.zeros(9, np.uint8)}, r"labels of shape \(9,\)"),
        ({"y_train": np.zeros(20)}, "whole numbers; got float64"),
    ],
)
def test_a_file_of_keras_with_other_arrays_is_refused_in_a_sentence(tmp_path, known, change, said) -> None:
    np.savez(tmp_path / "mnist.npz", **known["mnist"] | change)
    with pytest.raises(UserError, match=said):
        import_path(tmp_path / "mnist.npz")


def test_the_file_of_medmnist_tests_on_its_images_to_validate_on_too(tmp_path) -> None:
    arrays = {
        name: {"images": np.full((n, 28, 28, 3), n, np.uint8), "labels": np.arange(n)[:, None] % 3}
        for name, n in (("train", 30), ("val", 9), ("test", 12))
    }
    np.savez(tmp_path / "p.npz", **{f"{part}_{kind}": a for part, own in arrays.items() for kind, a in own.items()})
    added = import_path(tmp_path / "p.npz")
    assert "Images to validate on (val) are tested on, too, behind those of test." in added.report["notes"]
    parts = added.parts
    assert (len(parts["train_images"]), parts["test_images"][:, 0, 0, 0].tolist()) == (30, [12] * 12 + [9] * 9)
    arrays["train"]["labels"] = np.zeros((30, 14), np.uint8)
    np.savez(tmp_path / "p.npz", **{f"{part}_{kind}": a for part, own in arrays.items() for kind, a in own.items()})
    with pytest.raises(UserError, match=r"labels of shape \(30, 14\)"):
        import_path(tmp_path / "p.npz")


def test_a_file_of_keras_with_colors_and_columns_of_labels_is_read(tmp_path) -> None:
    arrays = keras_arrays(0)
    colors = {name: np.stack([array] * 3, axis=-1) for name, array in arrays.items() if name[0] == "x"}
    np.savez(tmp_path / "cifar10.npz", **colors, **{n: a[:, None] for n, a in arrays.items() if n[0] == "y"})
    added = load(import_path(tmp_path / "cifar10.npz").save(tmp_path / "data"), tmp_path / "data")
    assert added.train.images.shape == (20, 28, 28, 3)
    assert added.train.labels.tolist() == [*range(10)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("is_trusted", [True, False])
def test_relatives_are_known_by_name_only_where_names_are_trusted(tmp_path, is_trusted) -> None:
    folder = write_mnist(tmp_path / "Fashion", train=60_000, test=10_000)
    imported = import_path(folder.parents[1], follow_paths=is_trusted)
    assert (imported.declared.name == "fashion_mnist") == is_trusted
    if is_trusted:
        imported.save(tmp_path / "data")
        assert np.array_equal(load("fashion_mnist", tmp_path / "data").test.images, imported.parts["test_images"])


def test_kmnist_is_found_and_added_as_the_npz_files_of_its_authors(tmp_path) -> None:
    published, folder = write_mnist(tmp_path), tmp_path / "data" / "KMNIST" / "raw"
    folder.mkdir(parents=True)
    for part, own in (("train", "train"), ("t10k", "test")):
        for kind, n in (("imgs", 3), ("labels", 1)):
            name = f"{part}-{kind.replace('imgs', 'images')}-idx{n}-ubyte"
            np.savez(folder / f"kmnist-{own}-{kind}.npz", idx.read(published / name, n))
    assert len(load("kmnist", tmp_path / "data").train) == 20
    (folder / "kmnist_classmap.csv").write_text("index,codepoint,char\n0,U+304A,\u304a\n")
    assert len(import_path(folder).parts["test_labels"]) == 10
    np.savez(folder / "kmnist-test-labels.npz", np.zeros(10))
    with pytest.raises(UserError, match=r"kmnist-test-labels\.npz holds float64 of shape \(10,\)"):
        load("kmnist", tmp_path / "data")


def test_a_part_of_emnist_has_the_letters_of_its_mapping_as_classes(tmp_path) -> None:
    folder = write_mnist(tmp_path / "emnist")
    for path in folder.iterdir():
        path.rename(folder / f"emnist-balanced-{path.name.replace('t10k', 'test')}")
    mapping = folder / "emnist-balanced-mapping.txt"
    mapping.write_text("".join(f"{label} {65 + label}\n" for label in range(10)))
    imported = import_path(folder)
    assert imported.declared.classes == tuple("ABCDEFGHIJ")
    assert "turned" in " ".join(imported.report["notes"])
    mapping.write_text("no mapping")
    assert import_path(folder).declared.classes == tuple("0123456789")


def test_pixels_in_a_table_may_have_words_as_labels_or_none(tmp_path) -> None:
    rows = [["cat", "dog", ""][i % 3] + "," + ",".join(str((i + j) % 256) for j in range(64)) for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["label," + ",".join(f"pixel{i}" for i in range(64)), *rows]))
    imported = import_path(tmp_path / "t.csv")
    assert (imported.declared.classes, imported.declared.size, imported.report["taken"]) == (("cat", "dog"), 8, 20)
    assert "10 rows without a label: left out." in imported.report["notes"]


@pytest.mark.parametrize("head", ["label,1x1,1x2,1x3", "label,pixel0,pixel1,pixel2", ""])
def test_pictures_in_two_csv_files_become_images_to_train_on(tmp_path, head) -> None:
    rng = np.random.default_rng(0)
    for part, count in (("train", 40), ("test", 20)):
        rows = np.column_stack([np.arange(count) % 4, rng.integers(0, 256, (count, 81))])
        names = head + "".join(f",p{i}" for i in range(3, 81))
        names = {"header": names} if head else {}
        np.savetxt(tmp_path / f"mnist_{part}.csv", rows, "%d", ",", comments="", **names)
    for path in (tmp_path, tmp_path / "mnist_train.csv"):
        imported = import_path(path)
        assert imported.parts["train_images"].shape == (40, 9, 9)
        assert imported.declared.classes == tuple("0123")
    for part in ("train", "test"):
        shutil.copy(tmp_path / f"mnist_{part}.csv", tmp_path / f"other_{part}.csv")
    with pytest.raises(UserError, match="One data set is added at a time"):
        import_path(tmp_path)


def test_files_of_mnist_that_do_not_belong_together_are_one_sentence(tmp_path) -> None:
    folder = write_mnist(tmp_path / "a")
    write_mnist(tmp_path / "b")
    with pytest.raises(UserError, match="One data set is added at a time"):
        import_path(tmp_path)
    (folder / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(UserError, match="no train labels"):
        import_path(tmp_path / "a")
    (folder / "train-labels-idx1-ubyte").write_bytes(b"\0\0\x08\1\0\0")
    with pytest.raises(UserError, match="cut off"):
        import_path(tmp_path / "a")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx_files_are_read_plain_or_compressed(tmp_path: Path, suffix: str) -> None:
    write_mnist(tmp_path, suffix=suffix)
    assert "mnist" in available_datasets(tmp_path)
    mnist = load("mnist", tmp_path)
    expected = np.random.default_rng(0).integers(0, 256, (20, 28, 28), np.uint8)
    assert np.array_equal(mnist.train.images, expected)
    assert mnist.train.images.dtype == np.uint8
    assert mnist.train.labels.dtype == np.int64
    assert mnist.test.labels.tolist() == list(range(10))
    assert mnist.train.images.flags.writeable, "torch refuses read-only arrays"
    assert (mnist.size, mnist.channels) == (28, 1)


@pytest.mark.slow
@needs_mnist
def test_mnist_loads_in_its_official_order_at_once() -> None:
    load("mnist", SHARED)
    start = time.process_time()
    mnist = load("mnist", SHARED)
    assert time.process_time() - start < 0.5
    assert mnist.train.images.shape == (60000, 28, 28)
    assert mnist.test.labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert mnist.train.labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert mnist.mean == pytest.approx(np.mean(mnist.train.images) / 255, abs=5e-4)
    assert mnist.std == pytest.approx(np.std(mnist.train.images) / 255, abs=5e-4)


def _damage(folder: Path, name: str, change) -> None:
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("train-images-idx3-ubyte", lambda data: data[:-5], "is cut off"),
        ("train-images-idx3-ubyte", lambda data: data + b"x", "is too long"),
        ("train-images-idx3-ubyte", lambda data: b"", "begins with nothing"),
        ("train-images-idx3-ubyte", lambda data: data[:10], "do not hold its header"),
        ("train-images-idx3-ubyte", lambda data: b"<!DOCTYPE html>", "begins with 3c 21 44 4f"),
        ("train-images-idx3-ubyte", lambda data: data[:4] + b"\xff" * 12 + data[16:], "is cut off"),
        (
            "train-images-idx3-ubyte",
            lambda data: idx_bytes(np.zeros((20, 14, 14))),
            "have one size; .* holds 14 × 14 and 28 × 28",
        ),
        ("t10k-labels-idx1-ubyte", lambda data: idx_bytes(np.zeros(9)), "10 t10k images but 9 labels"),
        ("t10k-labels-idx1-ubyte", lambda data: idx_bytes(np.full(10, 10)), "Labels run from 0 to 9; .* holds 10"),
        ("t10k-labels-idx1-ubyte", lambda data: idx_bytes(np.zeros((10, 1, 1))), "no IDX file of labels"),
    ],
)
def test_a_damaged_file_is_one_clear_sentence(tmp_path: Path, name: str, change, says: str) -> None:
    folder = write_mnist(tmp_path)
    _damage(folder, name, change)
    with pytest.raises(DataUnavailableError, match=says) as caught:
        load("mnist", tmp_path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("change", [lambda data: data[:100], lambda data: b"no gzip at all", lambda data: b""])
def test_a_damaged_compressed_file_is_one_clear_sentence(tmp_path: Path, change) -> None:
    folder = write_mnist(tmp_path, suffix=".gz")
    _damage(folder, "train-images-idx3-ubyte.gz", change)
    with pytest.raises(DataUnavailableError, match=r"damaged or cut off|begins with nothing"):
        load("mnist", tmp_path)


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path, test=0)
    with pytest.raises(DataUnavailableError, match="t10k split holds no image"):
        load("mnist", tmp_path)


def test_an_unreadable_file_is_one_clear_sentence(tmp_path: Path) -> None:
    from dmlviz.data import idx

    with pytest.raises(DataUnavailableError, match="cannot be read"):
        idx.read(tmp_path, 3)


def test_data_sets_on_disk_are_listed_and_always_digits_and_what_is_made_from_them(tmp_path: Path) -> None:
    from_digits = [name for name in DATASETS.builtin if "digits" in getattr(DATASETS[name].recipe, "sources", ())]
    from_digits += [name for name in DATASETS.builtin if DATASETS[name].of_points]
    assert available_datasets(tmp_path) == ["digits", *from_digits]
    assert available_datasets(tmp_path / "not" / "there") == ["digits", *from_digits]
    (write_mnist(tmp_path) / "t10k-labels-idx1-ubyte").unlink()
    assert available_datasets(tmp_path) == ["digits", *from_digits]


def test_the_folder_is_the_argument_then_the_environment_then_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMLVIZ_DATA", "/from/environment")
    assert data_root("/given") == Path("/given")
    assert data_root() == Path("/from/environment")
    monkeypatch.delenv("DMLVIZ_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", "/kept")
    assert data_root() == Path("/kept/dmlviz/data")


@pytest.mark.parametrize("name", ["data", "runs"])
def test_what_lay_in_the_cache_is_moved_once_and_that_is_said(name, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    old, new = (tmp_path / folder / "dmlviz" / name for folder in ("cache", "kept"))
    assert kept_folder(name) == new
    assert capsys.readouterr().err == ""
    old.mkdir(parents=True)
    (old / "a").write_text("of mine")
    assert kept_folder(name) == kept_folder(name) == new
    assert capsys.readouterr().err == f"Moved {old} to {new}: a cache may be emptied.\n"
    assert (new / "a").read_text() == "of mine"
    assert not old.exists()


def test_what_cannot_be_moved_stays_where_it_is_and_that_is_said(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "kept").write_text("a file")
    old = tmp_path / "cache" / "dmlviz" / "runs"
    old.mkdir(parents=True)
    assert kept_folder("runs") == old
    assert "move it to" in capsys.readouterr().err


def test_an_unknown_name_suggests_a_similar_one() -> None:
    with pytest.raises(UserError, match="did you mean 'mnist'"):
        load("mnits")


def test_every_data_set_names_each_class_once() -> None:
    for declared in map(DATASETS.__getitem__, DATASETS.builtin):
        assert len(set(declared.classes)) == len(declared.classes) >= 2


def test_the_tracked_subset_is_fixed_sorted_and_proportional() -> None:
    labels = np.repeat([0, 1, 2], [1000, 600, 400])
    chosen = stratified_subset(labels, 200)
    assert chosen.dtype == np.int64
    assert np.bincount(labels[chosen]).tolist() == [100, 60, 40]
    assert (np.diff(chosen) > 0).all()
    assert np.array_equal(chosen, stratified_subset(labels, 200))
    assert not np.array_equal(chosen, stratified_subset(labels, 200, seed=1))
    assert set(stratified_subset(labels, 50)) < set(chosen), "a smaller subset is part of a larger one"
    assert np.array_equal(stratified_subset(labels, 5000), np.arange(2000))
