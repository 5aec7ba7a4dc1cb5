"""Classes and splits are found in folders as people lay them out, and what may be meant otherwise is said."""

from itertools import product

import pytest

from dmlviz.data.class_folders import read_class_folders
from dmlviz.errors import UserError

CLASSES = ("cat", "dog", "owl")
SPLITS = [
    ("train", "test"),
    ("Train", "Test"),
    ("TRAINING", "VALIDATION"),
    ("training_set", "test_set"),
    ("trainingSet", "testSet"),
    ("seg_train", "seg_test"),
    ("train2017", "val2017"),
    ("train", "test1"),
    ("train", "valid"),
    ("images_train", "images_test"),
    ("asl-alphabet-train", "asl-alphabet-test"),
    ("Training Data", "Testing Data"),
    ("traindata", "testdata"),
]
PLACES = {
    "above the classes": lambda split, name: (split, name),
    "inside each class": lambda split, name: (name, split),
    "twice above, as Kaggle packs it": lambda split, name: (split, split, name),
    "above a folder of images": lambda split, name: (split, "images", name),
    "below a folder of images": lambda split, name: ("images", split, name),
    "above a folder of its own": lambda split, name: (split, f"{split}_images", name),
}
TOPS = [(), ("archive",), ("a", "b", "data set")]


def laid_out(place, splits, top=(), classes=CLASSES):
    """The folders of 4 pictures in each part and class, with what is right for each."""
    roles = ("train", *("test" for _ in splits[1:]))
    return [
        ((*top, *place(split, name)), name, role)
        for split, role in zip(splits, roles, strict=True)
        for name in classes
        for _ in range(4)
    ]


def check(rows, level=None):
    found = read_class_folders([folder for folder, _, _ in rows], level)
    assert list(zip(found.names, found.splits, strict=True)) == [(name, role) for _, name, role in rows]
    return found


@pytest.mark.parametrize("splits", SPLITS, ids="/".join)
def test_a_split_is_found_under_every_name_and_at_every_depth(splits):
    for place, top in product(PLACES, TOPS):
        found = check(laid_out(PLACES[place], splits, top))
        assert f"cat, dog, owl; {splits[0]} to train on, {splits[1]} to test on" in found.notes[0]
        assert found.warnings == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("top", TOPS, ids="/".join)
def test_other_folders_beside_a_split_are_left_out_and_named(place, top):
    rows = laid_out(PLACES[place], ("train", "test", "val"), top)
    rows += [((*top, beside, *more), "", "train") for beside, more in product(("pred", "extra"), ((), ("deep",)))]
    found = check(rows)
    assert "train to train on, test, val to test on" in found.notes[0]
    assert any("4 images in no class folder" in warning and "pred" in warning for warning in found.warnings)


def test_a_part_without_class_folders_is_no_class():
    """The training pictures of a competition have classes, those to be predicted have none."""
    rows = [(("train", name), name, "") for name in CLASSES for _ in range(4)] + [(("test",), "", "")] * 5
    assert "5 images in no class folder: test." in check(rows).warnings[0]


@pytest.mark.parametrize("top", TOPS, ids="/".join)
@pytest.mark.parametrize(
    "names", [("car", "train", "bus"), ("train station", "test tube"), ("freight train", "crash test", "val")]
)
def test_classes_that_sound_like_a_split_are_classes(top, names):
    rows = [((*top, name), name, "") for name in names for _ in range(4)]
    found = check(rows)
    assert not any(found.splits)
    vehicles = [
        ((*top, split, name), name, role) for split, role in (("train", "train"), ("test", "test")) for name in names
    ]
    check([row for row in vehicles for _ in range(4)])


def test_classes_called_train_and_test_are_asked_about():
    rows = [((name,), name, "") for name in ("train", "test") for _ in range(4)]
    assert "Classes are called train, test, as parts of a split are" in check(rows).warnings[0]


def test_folders_deeper_than_the_classes_are_said_and_can_be_chosen():
    places = {("mammals", "cat"), ("mammals", "dog"), ("birds", "owl"), ("birds", "cat")}
    rows = [(folder, folder[0], "") for folder in sorted(places) for _ in range(3)]
    found = check(rows)
    assert found.levels == ["birds, mammals", "cat, owl, dog"]
    assert found.level == 1
    assert "cat, owl, dog" in found.warnings[0]
    chosen = check([(folder, folder[1], "") for folder, _, _ in rows], level=2)
    assert chosen.level == 2
    assert "Folders of one name are one class: cat." in chosen.notes
    assert "Folders around the classes do not count: birds, mammals." in chosen.notes
    with pytest.raises(UserError, match="2 levels of folders; got level 3"):
        check(rows, level=3)


def test_a_chosen_level_of_the_split_makes_it_the_classes():
    rows = [(folder, folder[0], "") for folder, _, _ in laid_out(PLACES["above the classes"], ("train", "test"))]
    assert "as parts of a split are" in " ".join(check(rows, level=1).warnings)


def test_a_few_pictures_beside_the_classes_do_not_become_the_classes():
    rows = [(("pets", name), name, "") for name in CLASSES for _ in range(4)] + [(("docs",), "", ""), ((), "", "")]
    check(rows)


@pytest.mark.parametrize("folders", [[], [()], [("cat",)]])
def test_hardly_any_folders_are_read(folders):
    read_class_folders(folders)


NUMBERED = {
    "cat.0, as Kaggle has it": lambda name, number: f"{name}.{number}",
    "cat_0012": lambda name, number: f"{name}_{number:04d}",
    "cat (1)": lambda name, number: f"{name} ({number})" if number else name,
    "cat12": lambda name, number: f"{name}{number}",
    "012-cat": lambda name, number: f"{number:03d}-{name}",
    "cat_12_rot90": lambda name, number: f"{name}_{number}_rot90",
    "cat 12_640x480": lambda name, number: f"{name} {number}_640x480",
}


@pytest.mark.parametrize("classes", [CLASSES, ("american_bulldog", "Persian"), ("日本", "עברית")], ids="/".join)
@pytest.mark.parametrize("form", NUMBERED)
def test_classes_are_in_the_names_of_files_where_no_folder_tells_them(form, classes):
    for folders in ([()], [("pets", "images")], [("train",), ("test",)], [("train",), ("test1",)]):
        rows = [(folder, name, number) for folder in folders for name in classes for number in range(4)]
        stems = [NUMBERED[form](name, number) for _, name, number in rows]
        found = read_class_folders([folder for folder, _, _ in rows], None, stems)
        assert found.names == [name for _, name, _ in rows]
        assert set(found.splits) == ({"train", "test"} if len(folders) > 1 else {""})
    assert found.notes[0].startswith(f"Classes are in the names of the files: {classes[0]}, ")
    assert found.warnings[0] == "If names of files are no classes, put the images of each class into a folder."


@pytest.mark.parametrize("classes", [("3", "7"), ("obj1", "obj2"), ("s01", "s02")])
def test_a_class_may_be_a_number_before_the_one_of_the_picture(classes):
    stems = [f"{name}__{number}" for name in classes for number in range(4)]
    assert read_class_folders([()] * 8, None, stems).names == [name for name in classes for _ in range(4)]


@pytest.mark.parametrize("stem", ["IMG_{:04d}", "{}", "{:032x}", "photo of day {}", "{:08x}-{:04x}-4000"])
def test_names_that_only_number_the_pictures_are_no_classes(stem):
    stems = [stem.format(number * 2654435761 % 2**32, number) for number in range(60)]
    assert read_class_folders([("a",)] * 60, None, stems).names == read_class_folders([("a",)] * 60).names


def test_names_of_files_are_one_more_level_where_they_cross_the_folders():
    folders, stems = zip(
        *(((batch,), f"{name}.{number}") for batch in ("b1", "b2") for name in CLASSES for number in range(4)),
        strict=True,
    )
    found = read_class_folders(folders, None, stems)
    assert (set(found.names), found.level) == ({"b1", "b2"}, 1)
    assert found.levels == ["b1, b2", "names of files, cat, dog, owl"]
    assert set(read_class_folders(folders, 2, stems).names) == {*CLASSES}
    inside = [(name,) for name in CLASSES for _ in range(4)]
    assert len(read_class_folders(inside, None, [f"{name}_{i}" for (name,) in inside for i in [1]]).levels) == 1
