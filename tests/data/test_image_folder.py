"""Import of image folders and zips, with odd and hostile files among them."""

import io
import os
import shutil
import stat
import struct
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from dmlviz import data
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import file_source
from dmlviz.data.file_source import count_entries
from dmlviz.data.image_folder import import_image_folder
from dmlviz.data.image_ops import decode_square
from dmlviz.data.import_path import import_path
from dmlviz.data.table_file import Choice
from dmlviz.errors import DataUnavailableError, UnknownNameError, UserError


def picture(number, size=(40, 30), color=False, kind="PNG", **how):
    """The bytes of a picture that only `number` decides."""
    rng = np.random.default_rng(number)
    gray = rng.integers(0, 256, size[::-1], np.uint8)
    image = Image.fromarray(np.stack([gray, gray // 2, 255 - gray], -1) if color else gray)
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def folder(path, files):
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def classes(**counts):
    """{"cat/0.png": …} with so many different pictures of each class."""
    numbers = iter(range(10_000))
    return {f"{name}/{i}.png": picture(next(numbers)) for name, count in counts.items() for i in range(count)}


def pictures(*names):
    return {name: picture(number) for number, name in enumerate(names)}


PETS, TEN = ["cat", "dog", "ünk"], range(10)
BOTH = [f"{part}/x/{i}.png" for part in ("train", "valid") for i in TEN]
LISTED = {  # the table and its rows, the pictures, how many are in each part, what is said
    "by id, beside those to submit": (
        {"trainLabels.csv": [("id", "label"), *((i, PETS[i % 3]) for i in TEN)]},
        pictures(*(f"{part}/{i}.png" for part in ("train", "test") for i in TEN)),
        (6, 4, "column id names the images. Images that no row names are left out: 10."),
    ),
    "a table in each part": (
        {f"{part}/metadata.csv": [("file", "label"), *((f"x/{i}.png", PETS[i % 3]) for i in TEN)]
         for part in ("train", "valid")},
        pictures(*BOTH),
        (10, 10, "column label of train/metadata.csv, valid/metadata.csv"),
    ),
    "a table for each part": (
        {f"{part}.csv": [("file", "label"), *((f"{i}.png", PETS[i % 3]) for i in rows)]
         for part, rows in (("train", range(9)), ("test", range(9, 15)))},
        pictures(*(f"images/{i}.png" for i in range(15))),
        (9, 6, "column label of test.csv, train.csv"),
    ),
    "parts in the paths": (
        {"a.csv": [("Path", "breed"), *((name, PETS[i % 3]) for i, name in enumerate(BOTH))]},
        pictures(*BOTH),
        (10, 10, "Classes are column breed of a.csv"),
    ),
    "paths of another machine, some gone": (
        {"a.csv": [("img", "label"), *((f"C:\\x\\{i}.PNG", PETS[i % 3]) for i in range(15))]},
        pictures(*(f"pics/{i}.PNG" for i in TEN)),
        (6, 4, "column img names the images"),
    ),
    "a label to choose": (
        {"a.csv": [("img", "sex", "age"), *((f"{i}.png", "mf"[i % 2], "yo"[i % 2]) for i in TEN)]},
        pictures(*(f"{'ab'[i % 2]}/{i}.png" for i in TEN)),
        (6, 4, "choose which column is their class with --label (sex, age)"),
    ),
    "a table of something else": (
        {"a.csv": [("label", "n"), *((i % 8, i) for i in range(60))]},
        pictures(*(f"{'ab'[i % 2]}/{i}.png" for i in TEN)),
        (6, 4, "Classes are the folders a, b."),
    ),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", LISTED)
def test_a_table_that_names_the_pictures_of_its_folder_says_their_classes(tmp_path, case, packed):
    tables, files, (train, test, said) = LISTED[case]
    files |= {name: "\n".join(",".join(map(str, row)) for row in rows).encode() for name, rows in tables.items()}
    path = zipped(tmp_path / "z.zip", files) if packed else folder(tmp_path / "in", files)
    found = import_path(path, title="\u202ea\nb", follow_paths=not packed)
    assert found.declared.title == "a b"
    assert (len(found.parts["train_images"]), len(found.parts["test_images"])) == (train, test)
    assert said in " ".join((*found.report["notes"], *found.report["warnings"]))
    if case == "a label to choose":
        assert [one["name"] for one in import_path(path, choice=Choice(label="sex")).report["classes"]] == ["f", "m"]


def reasons(found):
    return {left["reason"]: left["count"] for left in found.report["left_out"]}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A data folder of its own."""
    monkeypatch.setenv("DMLVIZ_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_folder_with_class_folders_becomes_a_data_set(tmp_path, root):
    found = import_image_folder(folder(tmp_path / "my_pets", classes(cat=20, dog=15)))
    name = found.save(root)
    assert custom_datasets.is_custom(name)
    assert name in DATASETS
    assert name in data.available_datasets()
    loaded = data.load(name)
    assert DATASETS[name].title == "my pets"
    assert loaded.classes == DATASETS[name].classes == ("cat", "dog")
    assert (loaded.size, loaded.channels) == (32, 1)
    assert [len(loaded.train), len(loaded.test)] == [28, 7]
    assert np.bincount(loaded.test.labels).tolist() == [4, 3]
    assert loaded.mean == pytest.approx(loaded.train.images.mean() / 255, abs=1e-4)
    assert found.report["classes"] == [{"name": "cat", "train": 16, "test": 4}, {"name": "dog", "train": 12, "test": 3}]
    custom_datasets.remove(root, name)
    assert name not in data.available_datasets()
    with pytest.raises(DataUnavailableError, match="dmlviz data add"):
        data.load(name)


def test_a_zip_and_a_folder_of_the_same_pictures_are_the_same_data_set(tmp_path):
    files = classes(cat=6, dog=7)
    a = import_image_folder(folder(tmp_path / "one", files))
    wrapped = {f"a wrapper/{name}": content for name, content in files.items()}
    beside = {"a wrapper/.DS_Store": b"x", "__MACOSX/a/._b.png": b"y", "read me": b""}
    b = import_image_folder(zipped(tmp_path / "two.zip", wrapped | beside))
    assert a.declared.name == b.declared.name
    assert all(np.array_equal(a.parts[part], b.parts[part]) for part in a.parts)
    assert b.report["files"] == 14, "hidden files and those of the system do not count"


def zipped_as(path, files, encode, extra=lambda raw, name: b""):
    """A zip without the flag for UTF-8, whose names are these bytes."""
    raws = {}
    with zipfile.ZipFile(path, "w") as archive:
        for number, (name, content) in enumerate(files.items()):
            raw = encode(name)
            placeholder = f"{number:05d}".ljust(len(raw), "~")
            raws[placeholder.encode()] = raw
            member = zipfile.ZipInfo(placeholder)
            member.extra = extra(raw, name)
            archive.writestr(member, content)
    data = path.read_bytes()
    for placeholder, raw in raws.items():
        data = data.replace(placeholder, raw)
    path.write_bytes(data)
    return path


def unicode_path(raw, name):
    body = b"\1" + struct.pack("<L", zlib.crc32(raw)) + name.encode()
    return struct.pack("<HH", 0x7075, len(body)) + body


ZIP_MAKERS = {
    "7-Zip, with the flag for UTF-8": zipped,
    "macOS, without the flag": lambda path, files: zipped_as(path, files, str.encode),
    "Info-ZIP, with a field for the name": lambda path, files: zipped_as(
        path, files, lambda name: name.encode("ascii", "replace"), unicode_path
    ),
    ".NET, with backslashes": lambda path, files: zipped_as(path, files, lambda name: name.replace("/", "\\").encode()),
}


@pytest.mark.parametrize("top", ["", "Archiv/", "Über alles/日本/"])
@pytest.mark.parametrize("maker", ZIP_MAKERS)
def test_names_in_a_zip_are_read_whoever_made_it(tmp_path, maker, top):
    names = ("Bäume", "日本語", "кошка", "قطة", "🦊", "plain", "Ω²")
    numbers = iter(range(1000))
    files = {f"{top}{name}/{i}.png": picture(next(numbers)) for name in names for i in range(3)}
    found = import_image_folder(ZIP_MAKERS[maker](tmp_path / "made.zip", files))
    assert set(found.declared.classes) == set(names)
    assert not found.report["left_out"]


@pytest.mark.parametrize(("encoding", "names"), [("cp437", ("Bäume", "café")), ("cp932", ("日本語", "東京"))])
def test_names_of_windows_in_a_zip_are_a_guess_that_is_said(tmp_path, encoding, names):
    files = classes(**dict.fromkeys(names, 4))
    found = import_image_folder(zipped_as(tmp_path / "old.zip", files, lambda name: name.encode(encoding)))
    assert len(found.declared.classes) == 2
    assert encoding != "cp437" or found.declared.classes == names
    assert any("does not say how its names are written" in note for note in found.report["notes"])


SYSTEM_FILES = [
    ".DS_Store", "._0.png", "Thumbs.db", "ehthumbs_vista.db", "desktop.ini", "Icon\r", ".thumbnails/0.png",
    "@eaDir/0.png/SYNOFILE_THUMB_M.jpg", ".@__thumb/0.png", "#recycle/0.png", "@Recycle/0.png", "$RECYCLE.BIN/0.png",
    ".Trash-1000/0.png", ".ipynb_checkpoints/0-checkpoint.png", "__MACOSX/0.png", "System Volume Information/0.png",
    "lost+found/0.png",
]  # fmt: skip


@pytest.mark.parametrize("make", [folder, zipped])
def test_thumbnails_and_files_of_a_system_are_no_pictures_and_are_said(tmp_path, make):
    files = classes(cat=4, dog=4)
    for number, name in enumerate(SYSTEM_FILES):
        files |= {name: picture(800 + number), f"cat/{name}": picture(900 + number)}
    found = import_image_folder(make(tmp_path / "nas.zip", files))
    assert found.report["taken"] == found.report["files"] == 8
    assert any(note.startswith("Hidden files and those of a system were not read: ") for note in found.report["notes"])


@pytest.mark.parametrize("is_zip", [False, True])
def test_an_empty_folder_is_said(tmp_path, is_zip):
    path = folder(tmp_path / "pets", classes(cat=4, dog=4))
    (path / "bird" / "small").mkdir(parents=True)
    if is_zip:
        path = Path(shutil.make_archive(str(path), "zip", path))
    assert "Folders with nothing in them: bird/small." in import_image_folder(path).report["notes"]


def test_the_split_is_decided_by_content_and_not_by_names_or_order(tmp_path):
    files = classes(cat=10, dog=10)
    renamed = {f"{name.split('/')[0]}/{i:03}.png": files[name] for i, name in enumerate(reversed(files))}
    a, b = import_image_folder(folder(tmp_path / "a", files)), import_image_folder(folder(tmp_path / "b", renamed))
    assert a.declared.name == b.declared.name


def test_folders_named_train_and_test_keep_their_split(tmp_path):
    files = {f"train/{name}": content for name, content in classes(cat=9, dog=8).items()}
    files |= {f"val/{name}": picture(900 + i) for i, name in enumerate(classes(cat=3, dog=2))}
    found = import_image_folder(folder(tmp_path / "split", files))
    assert [(one["train"], one["test"]) for one in found.report["classes"]] == [(9, 3), (8, 2)]
    assert found.report["notes"][0] == "Classes are the folders cat, dog; train to train on, val to test on."


def test_pictures_of_every_kind_are_read(tmp_path):
    files = {}
    pillow_heif.register_heif_opener()
    for kind in ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "HEIF", "AVIF"):
        for i in range(3):
            files[f"{kind}/{i}"] = picture(len(files), kind=kind)
    found = import_image_folder(folder(tmp_path / "kinds", files))
    assert found.report["taken"] == 24
    assert DatasetSpec.from_dict(found.declared.to_dict()) == found.declared


def test_gray_pictures_stay_gray_and_one_in_color_makes_all_color(tmp_path):
    files = classes(cat=5, dog=5)
    assert import_image_folder(folder(tmp_path / "gray", files)).declared.channels == 1
    files["cat/red.png"] = picture(99, color=True)
    mixed = import_image_folder(folder(tmp_path / "mixed", files))
    assert mixed.declared.channels == 3
    assert mixed.parts["train_images"].shape[1:] == (32, 32, 3)
    assert "Gray are 10 of 11 images; all are kept as color." in mixed.report["notes"]
    grayed = import_image_folder(tmp_path / "mixed", color="gray")
    assert grayed.declared.channels == 1
    assert "Made gray: 1 in color." in grayed.report["notes"]


def test_small_squares_stay_as_they_are(tmp_path):
    files = {f"{name}/{i}.png": picture(10 * j + i, (20, 20)) for j, name in enumerate("ab") for i in range(5)}
    found = import_image_folder(folder(tmp_path / "small", files))
    assert found.declared.size == 20
    stored = np.concatenate([found.parts["train_images"], found.parts["test_images"]])
    originals = {np.asarray(Image.open(io.BytesIO(content))).tobytes() for content in files.values()}
    assert {image.tobytes() for image in stored} == originals
    assert import_image_folder(tmp_path / "small", side=28).declared.size == 28


def test_a_long_picture_is_fitted_whole_on_the_color_of_its_border():
    image = np.full((10, 40, 3), 200, np.uint8)
    image[4:6, 10:30] = 0
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    made = decode_square(file.getvalue(), 20)
    assert (made[0] == 200).all()
    assert made.shape == (20, 20, 3)
    assert made.min() < 60, "the middle is still there"


def test_transparent_parts_are_white_and_pictures_stand_upright():
    clear = Image.new("RGBA", (10, 10), (0, 0, 0, 0))
    file = io.BytesIO()
    clear.save(file, "PNG")
    assert (decode_square(file.getvalue(), 8) == 255).all()
    lying = Image.new("L", (20, 10), 0)
    lying.paste(255, (0, 0, 10, 10))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90° clockwise
    file = io.BytesIO()
    lying.save(file, "JPEG", exif=exif, quality=95)
    made = decode_square(file.getvalue(), 20)
    assert made[:8, 10].mean() > 200
    assert made[12:, 10].mean() < 50


def test_sixteen_bits_are_scaled_and_not_clipped():
    deep = (np.arange(100, dtype=np.uint16).reshape(10, 10)) * 600
    file = io.BytesIO()
    Image.fromarray(deep).save(file, "PNG")
    made = decode_square(file.getvalue(), 10)
    assert (made.min(), made.max()) == (0, 255)


def test_copies_are_left_out_so_that_no_test_image_was_trained_on(tmp_path):
    files = classes(cat=6, dog=6)
    files["cat/again.png"] = files["cat/0.png"]
    files["dog/a cat.png"] = files["cat/1.png"]
    found = import_image_folder(folder(tmp_path / "copies", files))
    assert found.report["taken"] == 12
    assert reasons(found) == {"a copy of another": 1, "a copy of one in another class": 1}


def test_classes_with_few_pictures_are_one_line_of_the_report(tmp_path):
    few = {f"person {i}": 1 + i % 2 for i in range(30)}
    found = import_image_folder(folder(tmp_path / "faces", classes(cat=6, dog=6, **few)))
    assert found.declared.classes == ("cat", "dog")
    assert reasons(found) == {"of 30 classes with fewer than 3 images": 45}


def test_every_class_of_four_pictures_or_more_has_two_to_test_on_and_where_none_has_it_is_said(tmp_path):
    found = import_image_folder(folder(tmp_path / "few", classes(cat=4, dog=5, elk=9, fox=3, gnu=20)))
    assert [(one["train"], one["test"]) for one in found.report["classes"]] == [(2, 2), (3, 2), (7, 2), (2, 1), (16, 4)]
    found = import_image_folder(folder(tmp_path / "fewer", classes(cat=3, dog=3)))
    assert "No class has two images to test on, so there will be no scores" in found.report["warnings"][0]


def test_files_that_are_no_images_are_counted_by_reason(tmp_path):
    good = picture(1)
    files = classes(cat=5, dog=5) | {
        "cat/notes.txt": b"hello",
        "cat/empty.png": b"",
        "dog/cut.png": picture(77, (400, 300))[:2000],
        "dog/half.jpg": picture(78, (400, 300), kind="JPEG")[:3000],
        "stray.png": good,
    }
    found = import_image_folder(folder(tmp_path / "odd", files))
    assert found.report["taken"] == 10
    told = reasons(found)
    assert told.pop("in no class folder") == 1
    assert sum(told.values()) == 4
    assert all("damaged" in reason or "not a PNG" in reason for reason in told)


def announcing(width, height):
    """A PNG of a few bytes that announces so many pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    )
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.parametrize("size", [(9000, 9000), (13000, 13000), (60000, 60000), (2**31 - 1, 2)])
def test_a_picture_with_too_many_pixels_is_never_decoded(tmp_path, size):
    files = classes(cat=4, dog=4) | {"cat/bomb.png": announcing(*size)}
    found = import_image_folder(folder(tmp_path / "bomb", files))
    assert found.report["taken"] == 8
    assert reasons(found) == {"larger than 50 million pixels": 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../evil/{}.png", "/etc/evil/{}.png", "cat/../../evil/{}.png", "..\\evil\\{}.png"])
def test_a_zip_with_paths_outside_writes_nothing_outside(tmp_path, name):
    files = classes(cat=4, dog=4) | {name.format(i): picture(500 + i) for i in range(4)}
    before = set(tmp_path.parent.rglob("*"))
    found = import_image_folder(zipped(tmp_path / "evil.zip", files))
    assert found.declared.classes == ("cat", "dog")
    assert reasons(found) == {"a name that leads out of the zip": 4}
    assert set(tmp_path.parent.rglob("*")) - before == {tmp_path / "evil.zip"}


def test_links_are_not_followed(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture(1000))
    here = folder(tmp_path / "links", classes(cat=4, dog=4))
    os.symlink(secret, here / "cat" / "link.png")
    os.symlink(tmp_path / "nowhere", here / "cat" / "nowhere.png")
    os.symlink(tmp_path, here / "more")
    link = "a link to a folder, out of this one or nowhere: cp -rL copies what it leads to"
    assert reasons(import_image_folder(here)) == {link: 3}
    path = zipped(tmp_path / "links.zip", classes(cat=4, dog=4))
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("cat/link.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, str(secret))
    assert reasons(import_image_folder(path)) == {"a link instead of a file": 1}


def test_a_zip_that_unpacks_to_far_too_much_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("dmlviz.data.file_source.MAX_UNPACKED", 1_000_000)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(8):
            archive.writestr(f"cat/{i}.png", bytes(200_000))
    assert path.stat().st_size < 10_000
    with pytest.raises(UserError, match="unpacks to"):
        import_image_folder(path)


def test_a_file_that_is_too_large_is_left_out_unread(tmp_path, monkeypatch):
    monkeypatch.setattr("dmlviz.data.file_source.MAX_BYTES", 100_000)
    files = classes(cat=4, dog=4) | {"cat/large.png": bytes(200_000)}
    assert reasons(import_image_folder(zipped(tmp_path / "large.zip", files))) == {"larger than 0 MB": 1}


def test_a_zip_member_with_a_wrong_size_is_skipped(tmp_path):
    path = zipped(tmp_path / "liar.zip", classes(cat=4, dog=4) | {"dog/liar.png": picture(99)})
    content = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.rfind(signature)
        assert place >= 0
        content[place + at : place + at + 4] = struct.pack("<I", 10)
    path.write_bytes(content)
    found = import_image_folder(path)
    assert found.report["taken"] == 8
    assert sum(reasons(found).values()) == 1


def test_a_file_that_is_no_zip_is_one_sentence(tmp_path):
    (tmp_path / "no.zip").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(UserError, match=r"no\.zip is not a zip, or it is damaged"):
        import_image_folder(tmp_path / "no.zip")
    with pytest.raises(UserError, match="There is no folder or zip"):
        import_image_folder(tmp_path / "absent")


@pytest.mark.parametrize("files", [{}, {"a.png": b""}, classes(cat=9), classes(cat=9, dog=2)])
def test_fewer_than_two_classes_are_one_sentence(tmp_path, files):
    (tmp_path / "few").mkdir()
    with pytest.raises(UserError, match="2 classes or more"):
        import_image_folder(folder(tmp_path / "few", files))


def test_classes_are_sorted_naturally_and_names_are_cleaned(tmp_path):
    names = ["10", "9", "²", "b\x1b[31mad", "x" * 300]
    files = {f"{name[:200]}/{i}.png": picture(10 * j + i) for j, name in enumerate(names) for i in range(3)}
    found = import_image_folder(zipped(tmp_path / "names.zip", files))
    assert found.declared.classes[:2] == ("9", "10")
    assert "b[31mad" in found.declared.classes
    assert "x" * 200 in found.declared.classes


def test_progress_is_reported_to_the_end(tmp_path):
    told = []
    import_image_folder(
        folder(tmp_path / "p", classes(cat=4, dog=4)), progress=lambda done, of: told.append((done, of))
    )
    assert told[0] == (0, 16)
    assert all(a <= b for (a, _), (b, _) in pairwise(told))
    assert all(done < of == 16 for done, of in told)


def test_few_classes_reduce_the_default_batch(tmp_path, root):
    name = import_image_folder(folder(tmp_path / "pets", classes(cat=9, dog=8, cow=6))).save(root)
    config = TrainConfig(dataset=name)
    assert (config.classes_per_batch, config.images_per_class) == (3, 4)
    assert TrainConfig(dataset=name, sampler="shuffled").batch_size == 17
    assert config.replace(dataset="digits") == TrainConfig(dataset="digits"), "what the few pictures asked for is gone"
    assert TrainConfig(dataset="digits", images_per_class=16).replace(dataset=name) == config
    with pytest.raises(UserError, match="pets has 3"):
        TrainConfig(dataset=name, classes_per_batch=5)


def test_a_data_set_of_ones_own_is_found_by_its_title(tmp_path, root):
    first = import_image_folder(folder(tmp_path / "birds", classes(cat=9, dog=8))).save(root)
    assert DATASETS.find("birds") == DATASETS.find(first) == first
    assert DATASETS.find("mnist") == "mnist"
    with pytest.raises(UnknownNameError, match="did you mean 'birds'"):
        DATASETS["Bird"]
    assert DATASETS.find("fish") == "fish"
    second = import_image_folder(folder(tmp_path / "more" / "birds", classes(cat=7, cow=5))).save(root)
    with pytest.raises(UserError, match=rf"2 data sets are called 'birds': give the name of one: .*{second}"):
        DATASETS.find("birds")
    damaged = root / "own" / "custom-00000000deadbeef" / "dataset.json"
    damaged.parent.mkdir()
    damaged.write_text("{")
    assert [name for name in DATASETS if name in (second, damaged.parent.name)] == [second], "one spoils no list"


def test_a_missing_custom_data_set_is_one_sentence():
    with pytest.raises(UserError, match="not on this machine"):
        TrainConfig(dataset="custom-00000000deadbeef")
    with pytest.raises(UnknownNameError):
        DATASETS["custom-00000000deadbeef"]
    with pytest.raises(UserError):
        custom_datasets.remove(data.data_root(), "../../etc")


UNSEEN = ("\u202e", "\x1b[2J", "\n", "\u2028", "\u200b", "\u2066", "\x07")


@pytest.mark.parametrize("sign", UNSEEN, ids=ascii)
@pytest.mark.parametrize("make", [folder, zipped])
def test_names_of_files_in_sentences_hold_nothing_that_is_not_seen(tmp_path, sign, make):
    files = classes(cat=9, **{f"do{sign}g": 9}, **{f"few{sign}": 1})
    others = {
        f".hid{sign}den": b"x",
        f"cat/no{sign}te.txt": b"x",
        f"lo{sign}ne.png": picture(99),
        f"t{sign}.csv": b"a,b\n1,2",
    }
    found = import_path(make(tmp_path / f"a{sign}b.zip", files | others))
    said = [*found.report_lines, found.declared.title]
    assert [line for line in said if not line.isprintable()] == []
    assert len(found.report["left_out"]) >= 3


@pytest.mark.parametrize("ending", [".csv", ".npy", ".npz", ".json", ".parquet", ".zip", ".tar", ".pt", ".mat", ""])
@pytest.mark.parametrize("content", [b"\0no\n1,2\n", None])
def test_refusals_of_such_files_are_one_line(tmp_path, ending, content):
    for sign in UNSEEN:
        path = tmp_path / f"a{sign}b{ending}"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            import_path(path)
        said = str(caught.value)
        assert said.isprintable()
        assert "ab" in said or "a b" in said or "a[2Jb" in said


def test_an_invalid_data_set_description_is_rejected():
    for told in ({}, {"name": "custom-00000000deadbeef", "classes": 3}, {"name": "mnist", "title": "x"}, {"name": 7}):
        DATASETS.register(told)
    assert "custom-00000000deadbeef" not in DATASETS
    assert DATASETS["mnist"].title == "MNIST"


def test_a_zip_of_too_many_files_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(300):
            archive.writestr(f"cat/{number}.png", b"")
    assert count_entries(path, 1000) == 300
    assert count_entries(path, 100) == 101
    lying = bytearray(path.read_bytes())
    lying[-14:-10] = (1).to_bytes(2, "little") * 2  # the end says: one file
    path.write_bytes(lying)
    assert count_entries(path, 1000) == 300
    path.write_bytes(b"#! some program\n" + lying)
    assert count_entries(path, 1000) == 300
    monkeypatch.setattr(file_source, "MAX_FILES", 100)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(UserError, match=r"up to 100 files; many.zip holds more"), file_source.iter_files(path):
        pass


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\5\6" + bytes(18), b"PK\5\6" + b"\xff" * 18, bytes(100_000)])
def test_what_is_no_zip_has_no_entries(tmp_path, content):
    path = tmp_path / "none.zip"
    path.write_bytes(content)
    assert count_entries(path, 10) == 0


@pytest.mark.slow
def test_a_zip_of_more_than_65535_files_is_counted(tmp_path):
    path = tmp_path / "large.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(66_000):
            archive.writestr(zipfile.ZipInfo(str(number)), b"")
    assert count_entries(path, 100_000) == 66_000
