"""The folders of the usual data sets, as miniatures with the files and names of the published ones."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from dmlviz import data
from dmlviz.data.import_path import import_path
from dmlviz.data.import_report import ImportedDataset
from dmlviz.errors import UserError


def put(folder, *names):
    """Write pictures that only their names decide."""
    for name in names:
        rng = np.random.default_rng(list(name.encode()))
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (20, 14, 3), np.uint8)).save(file, "JPEG")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file.getvalue())


def cub(folder):
    names = ["001.Black_footed_Albatross", "002.Laysan_Albatross", "003.Sooty_Albatross", "004.Groove_billed_Ani"]
    paths = [f"{name}/{name[4:]}_{i:04d}_{i + 18}.jpg" for name in names for i in range(3)]
    put(folder / "images", *paths)
    numbered = list(enumerate(paths, start=1))
    (folder / "images.txt").write_text("".join(f"{i} {path}\n" for i, path in numbered))
    (folder / "image_class_labels.txt").write_text("".join(f"{i} {int(path[:3])}\n" for i, path in numbered))
    (folder / "classes.txt").write_text("".join(f"{i} {name}\n" for i, name in enumerate(names, start=1)))
    (folder / "train_test_split.txt").write_text("".join(f"{i} {i % 2}\n" for i, _ in numbered))
    return {"train": 6, "test": 6, "classes": 4, "columns": ["split", "published split"]}


def cars(folder):
    paths = [f"car_ims/{i:06d}.jpg" for i in range(1, 13)]
    put(folder, *paths)
    kind = [("relative_im_path", "O"), *((f"bbox_{corner}", "O") for corner in ("x1", "y1", "x2", "y2"))]
    rows = [(path, 1, 2, 13, 18, i // 3 + 1, i % 2) for i, path in enumerate(paths)]
    annotations = np.array(rows, dtype=[*kind, ("class", "O"), ("test", "O")])
    names = np.array(["AM General Hummer SUV 2000", "Acura RL Sedan 2012", "Acura TL", "Audi S4"], dtype=object)
    savemat(folder / "cars_annos.mat", {"annotations": annotations, "class_names": names})
    return {"train": 6, "test": 6, "classes": 4, "columns": ["split", "published split"]}


def cars_devkit(folder):
    for part in ("train", "test"):
        names = [f"{i:05d}.jpg" for i in range(1, 10)]
        put(folder / f"cars_{part}" / f"cars_{part}", *names)
        rows = [(1, 2, i // 3 + 1, name) for i, name in enumerate(names)]
        kind = [("bbox_x1", "O"), ("bbox_y1", "O"), ("class", "O"), ("fname", "O")]
        (folder / "devkit").mkdir(exist_ok=True)
        labeled = "_withlabels" if part == "test" else ""
        savemat(folder / "devkit" / f"cars_{part}_annos{labeled}.mat", {"annotations": np.array(rows, dtype=kind)})
    names = np.array(["AM General Hummer SUV 2000", "Acura RL Sedan 2012", "Acura TL", "Audi S4"], dtype=object)
    savemat(folder / "devkit" / "cars_meta.mat", {"class_names": names})
    # of each part, two classes are of the first half and one is of the second
    return {"train": 12, "test": 6, "classes": 3, "columns": ["split", "published split"]}


def products(folder):
    for part, first in (("train", 1), ("test", 3)):
        lines, number = ["image_id class_id super_class_id path"], 1
        for product in (first, first + 1):
            for i in range(3):
                path = f"bicycle_final/{111085122870 + product}_{i}.JPG"
                put(folder, path)
                lines.append(f"{number} {product} 1 {path}")
                number += 1
        (folder / f"Ebay_{part}.txt").write_text("\n".join(lines) + "\n")
    return {"train": 6, "test": 6, "classes": 4, "columns": ["split", "category"]}


def in_shop(folder):
    rows = []
    for item, splits in (
        (1, ["train"] * 3),
        (2, ["train"] * 3),
        (7, ["query", "gallery"] * 2),
        (8, ["query", "gallery"]),
    ):
        for i, split in enumerate(splits):
            path = f"img/WOMEN/Blouses_Shirts/id_{item:08d}/{i + 1:02d}_1_front.jpg"
            put(folder, path)
            rows.append(f"{path:<70} id_{item:08d} {split}")
    text = "\n".join([str(len(rows)), "image_name item_id evaluation_status", *rows])
    (folder / "Eval").mkdir()
    (folder / "Eval" / "list_eval_partition.txt").write_text(text + "\n")
    return {"train": 6, "test": 6, "classes": 4, "columns": ["split", "gender", "garment"], "queries": 3}


def market(folder):
    put(folder / "bounding_box_train", *(f"{p:04d}_c{c}s1_000451_03.jpg" for p in (2, 7) for c in (1, 2, 3)))
    put(folder / "query", *(f"{p:04d}_c1s1_001051_00.jpg" for p in (1, 3)))
    put(folder / "bounding_box_test", *(f"{p:04d}_c{c}s2_016476_02.jpg" for p in (1, 3) for c in (2, 6)))
    put(folder / "bounding_box_test", "0000_c1s1_000151_01.jpg", "-1_c1s1_000401_03.jpg")
    (folder / "query" / "Thumbs.db").write_bytes(b"")
    return {"train": 6, "test": 7, "classes": 5, "columns": ["split", "camera"], "queries": 2, "camera": 6}


def veri(folder):
    items = []
    for name, vehicles in (("image_train", (1, 4)), ("image_query", (2, 5)), ("image_test", (2, 5))):
        for vehicle in vehicles:
            for camera in (1, 2, 20):
                picture = f"{vehicle:04d}_c{camera:03d}_00016450_{len(name) % 3}.jpg"
                put(folder / name, picture)
                items.append(
                    f'<Item imageName="{picture}" vehicleID="{vehicle:04d}" cameraID="c{camera:03d}" colorID="5" '
                    'typeID="4" />'
                )
    text = '<?xml version="1.0" encoding="gb2312"?>\n<TrainingImages Version="1.0"><Items number="18">{}</Items>'
    for name in ("train_label.xml", "test_label.xml"):
        (folder / name).write_text(text.format("\n".join(items)) + "</TrainingImages>", encoding="gb2312")
    return {"train": 6, "test": 12, "classes": 4, "columns": ["split", "camera", "color", "type"], "queries": 6}


@pytest.mark.parametrize("make", [cub, cars, cars_devkit, products, in_shop, market, veri])
def test_a_published_layout_becomes_a_zero_shot_data_set(tmp_path, make):
    folder = tmp_path / "download"
    folder.mkdir()
    expected = make(folder)
    imported = import_path(folder, side=16)
    assert isinstance(imported, ImportedDataset)
    parts = imported.parts
    assert (len(parts["train_labels"]), len(parts["test_labels"])) == (expected["train"], expected["test"])
    assert len(imported.declared.classes) == expected["classes"]
    assert not set(parts["train_labels"]) & set(parts["test_labels"]), "test classes are unseen"
    assert set(parts["train_labels"]) == {0, 1}
    assert imported.columns["test"].column_names == expected["columns"]
    loaded = data.load(imported.save(tmp_path / "data"), tmp_path / "data")
    assert loaded.test.roles.get("query", np.zeros(1)).sum() == expected.get("queries", 0)
    if make is market:
        assert "0000" in loaded.classes, "distractors stay in the gallery"
        assert "-1" not in loaded.classes, "junk pictures count neither as right nor as wrong"
    if make is veri:
        assert imported.columns["train"].column("color").unique().to_pylist() == ["red"]
        assert imported.columns["train"].column("type").unique().to_pylist() == ["hatchback"]


@pytest.mark.parametrize("make", [cub, cars_devkit])
@pytest.mark.parametrize("packed", ["folder in a folder", "zip", "zip of a folder"])
def test_a_layout_is_found_however_it_is_packed(tmp_path, make, packed):
    folder = tmp_path / "download" / "the_data"
    folder.mkdir(parents=True)
    expected = make(folder)
    (folder.parent / "attributes.txt").write_text("beside it")
    path = folder.parent
    if packed != "folder in a folder":
        root = folder if packed == "zip" else folder.parent
        path = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", root))
    imported = import_path(path, side=16, follow_paths=False)
    assert isinstance(imported, ImportedDataset)
    assert imported.declared.class_split is not None
    assert len(imported.parts["test_labels"]) == expected["test"]
    assert imported.report["notes"][0] == f"Read as {imported.declared.title}."


def test_cars_without_labels_of_the_test_pictures_are_read_and_counted(tmp_path):
    cars_devkit(tmp_path)
    (tmp_path / "devkit" / "cars_test_annos_withlabels.mat").unlink()
    rows = np.array([(1, "00001.jpg"), (1, "00002.jpg")], dtype=[("bbox_x1", "O"), ("fname", "O")])
    savemat(tmp_path / "devkit" / "cars_test_annos.mat", {"annotations": rows})
    imported = import_path(tmp_path, side=16)
    assert imported.report["left_out"][0]["count"] == 2
    assert imported.report["left_out"][0]["reason"] == "without a label"


def test_a_tar_is_to_be_unpacked_first(tmp_path):
    (tmp_path / "birds.tar.gz").write_bytes(b"")
    with pytest.raises(UserError, match=r"birds\.tar\.gz is a tar: unpack it first"):
        import_path(tmp_path / "birds.tar.gz")


def test_the_name_lists_of_veri_choose_its_pictures(tmp_path):
    veri(tmp_path)
    put(tmp_path / "image_test", "0777_c001_00016450_0.jpg")  # in the folder, in no list
    for part in ("train", "query", "test"):
        names = sorted(path.name for path in (tmp_path / f"image_{part}").iterdir() if "0777" not in path.name)
        (tmp_path / f"name_{part}.txt").write_text("\r\n".join(names[:5]) + "\r\n")
    imported = import_path(tmp_path, side=16)
    assert (len(imported.parts["train_labels"]), len(imported.parts["test_labels"])) == (5, 10)
    assert "0777" not in imported.declared.classes


def test_a_layout_with_a_damaged_list_is_one_sentence(tmp_path):
    products(tmp_path)
    (tmp_path / "Ebay_test.txt").write_text("image_id class_id\n1 2\n")
    with pytest.raises(UserError, match="looks like Stanford Online Products, but cannot be read"):
        import_path(tmp_path)
