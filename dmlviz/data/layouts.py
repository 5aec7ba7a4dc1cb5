"""Readers for the folders, or zips of them, in which the usual data sets of metric learning are published."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from dmlviz.data.file_source import Folder, exists, read_file, subfolders
from dmlviz.data.table_file import FoundColumns
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

JUNK = "-1"  # identity of Market-1501 and its kin that counts neither as right nor as wrong
MAX_DEPTH = 4  # folders that hold one folder
MAX_BESIDE = 8  # folders beside each other, such as CUB_200_2011 and its segmentations
_PERSON = re.compile(r"(-?\d+)_c(\d+)s(\d+)_(\d+)_(\d+)\.jpe?g", re.IGNORECASE)
_VEHICLE = re.compile(r"(\d+)_c(\d+)_(\d+)_(\d+)\.jpe?g", re.IGNORECASE)

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Layout:
    """A data set's layout on disk.

    Attributes:
        title: Name of the data set.
        files: Files and folders by which it is recognized, each a choice of alternatives.
        rows: Reads the rows: path, label, split and more.
    """

    title: str
    files: tuple[tuple[str, ...], ...]
    rows: Callable[[Folder], Rows]

    def matches(self, folder: Folder) -> bool:
        """Return whether a folder has this layout."""
        return all(any(exists(folder / name) for name in names) for names in self.files)

    def read(self, folder: Folder) -> "pyarrow.Table":
        """Return one row for each picture; raise UserError for a file that cannot be read."""
        import pyarrow

        try:
            rows = self.rows(folder)
        except (OSError, ValueError, KeyError, IndexError, ElementTree.ParseError) as error:
            reason = str(error) or type(error).__name__
            raise UserError(
                f"{folder.name} looks like {self.title}, but cannot be read ({reason}): unpack it again."
            ) from None
        if not rows:
            raise UserError(f"{folder.name} looks like {self.title}, but lists no pictures: unpack it again.")
        return pyarrow.Table.from_pylist(rows)


def find_layout(folder: Folder) -> tuple[Layout, Folder] | None:
    """Return the layout of a folder, and where it begins: there, or in a folder in it; None if none is known."""
    for _ in range(MAX_DEPTH):
        inside = subfolders(folder)
        for place in (folder, *inside[:MAX_BESIDE]):
            layout = next((layout for layout in LAYOUTS if layout.matches(place)), None)
            if layout is not None:
                return layout, place
        if len(inside) != 1:
            return None
        folder = inside[0]
    return None


def found_columns(table: "pyarrow.Table") -> FoundColumns:
    """Return which columns of a layout's table are what."""
    others = tuple(name for name in table.column_names if name not in ("path", "label"))
    return FoundColumns(vector=(), label="label", image="path", others=others)


def cub(folder: Folder) -> Rows:
    """CUB-200-2011: the first half of the classes is for training, as in Oh Song et al. 2016."""
    images, labels = _pairs(folder / "images.txt"), _pairs(folder / "image_class_labels.txt")
    names = _pairs(folder / "classes.txt")
    parts = _pairs(folder / "train_test_split.txt")
    half = len(names) // 2
    return [
        {
            "path": f"images/{path}",
            "label": names[labels[image]],
            "split": "train" if int(labels[image]) <= half else "test",
            "published split": "train" if parts[image] == "1" else "test",
        }
        for image, path in images.items()
    ]


def cars(folder: Folder) -> Rows:
    """Cars196: the first half of the classes is for training, as in Oh Song et al. 2016."""
    from scipy.io import loadmat

    annotations = loadmat(BytesIO(read_file(folder / "cars_annos.mat")), squeeze_me=True)
    names = [str(name) for name in annotations["class_names"]]
    half = len(names) // 2
    return [
        {
            "path": str(row["relative_im_path"]),
            "label": names[int(row["class"]) - 1],
            "split": "train" if int(row["class"]) <= half else "test",
            "published split": "test" if int(row["test"]) else "train",
        }
        for row in annotations["annotations"]
    ]


def cars_devkit(folder: Folder) -> Rows:
    """Cars196 with its devkit: as `cars`; test pictures have a class where the file of their labels is there."""
    from scipy.io import loadmat

    def read(name: str) -> Any:
        places = (folder / "devkit" / name, folder / name)
        path = next((place for place in places if exists(place)), None)
        return None if path is None else loadmat(BytesIO(read_file(path)), squeeze_me=True)

    names = [str(name) for name in read("cars_meta.mat")["class_names"]]
    half, rows = len(names) // 2, []
    for part, lists in (
        ("train", ("cars_train_annos.mat",)),
        ("test", ("cars_test_annos_withlabels.mat", "cars_test_annos.mat")),
    ):
        annotations = next((annotation for annotation in map(read, lists) if annotation is not None), None)
        inner = f"cars_{part}/cars_{part}"  # as Kaggle packs it
        images = inner if exists(folder / inner) else f"cars_{part}"
        for row in annotations["annotations"] if annotations is not None else ():
            number = int(row["class"]) if "class" in row.dtype.names else None
            rows.append(
                {
                    "path": f"{images}/{row['fname']}",
                    "label": None if number is None else names[number - 1],
                    "split": "train" if number is not None and number <= half else "test",
                    "published split": part,
                }
            )
    return rows


def online_products(folder: Folder) -> Rows:
    """Stanford Online Products: two lists, of other classes each."""
    rows: Rows = []
    for split in ("train", "test"):
        lines = _text(folder / f"Ebay_{split}.txt").splitlines()
        for line in filter(None, lines[1:]):
            _, product, _, path = line.split()
            rows.append({"path": path, "label": product, "split": split, "category": path.split("_final")[0]})
    return rows


def in_shop(folder: Folder) -> Rows:
    """Read In-Shop Clothes Retrieval: training items, and queries and a gallery of other items."""
    partition = next(path for path in (folder / "Eval" / PARTITION, folder / PARTITION) if exists(path))
    images = next((path for path in ("Img", "") if (folder / path / "img").is_dir()), "")
    rows = []
    for line in filter(None, _text(partition).splitlines()[2:]):
        path, item, split = line.split()
        _, gender, garment, *_ = path.split("/")
        rows.append(
            {
                "path": f"{images}/{path}" if images else path,
                "label": item,
                "split": split,
                "gender": gender,
                "garment": garment,
            }
        )
    return rows


def market(folder: Folder) -> Rows:
    """Market-1501: persons by camera; junk pictures are left out, distractors stay in the gallery as one class."""
    parts = {"train": "bounding_box_train", "query": "query", "gallery": "bounding_box_test"}
    rows = []
    for split, name in parts.items():
        for picture in sorted(path.name for path in (folder / name).iterdir()):
            match = _PERSON.match(picture)
            if match is not None and match[1] != JUNK:
                rows.append({"path": f"{name}/{picture}", "label": match[1], "split": split, "camera": int(match[2])})
    return rows


def veri(folder: Folder) -> Rows:
    """VeRi-776: vehicles by camera, with color and type where the lists say so; name lists choose the pictures."""
    parts = {"train": "train", "query": "query", "gallery": "test"}
    facts = {name: attributes for list_name in VERI_LISTS for name, attributes in _vehicles(folder / list_name).items()}
    rows = []
    for split, part in parts.items():
        for name in _pictures(folder, part):
            match = _VEHICLE.match(name)
            if match is not None:
                rows.append(
                    {"path": f"image_{part}/{name}", "label": match[1], "split": split, "camera": int(match[2])}
                    | {"color": None, "type": None}
                    | facts.get(name, {})
                )
    return rows


def _pictures(folder: Folder, part: str) -> list[str]:
    """Return the names of a part's pictures: those of its list, or all in its folder if there is no list."""
    names = folder / f"name_{part}.txt"
    if exists(names):
        return _text(names).split()
    return sorted(path.name for path in (folder / f"image_{part}").iterdir())


PARTITION = "list_eval_partition.txt"
VERI_LISTS = ("train_label.xml", "test_label.xml")
COLORS = ("yellow", "orange", "green", "gray", "red", "blue", "white", "golden", "brown", "black")
TYPES = ("sedan", "suv", "van", "hatchback", "mpv", "pickup", "bus", "truck", "estate")


def _vehicles(path: Folder) -> dict[str, dict[str, str | None]]:
    """Return color and type by picture, as listed in VeRi's files."""
    if not exists(path):
        return {}
    text = read_file(path).decode("gb2312", errors="replace")
    items = ElementTree.fromstring(re.sub(r"^<\?xml[^>]*\?>", "", text.strip())).iter("Item")
    return {
        item.attrib["imageName"]: {
            "color": _name_of(COLORS, item.attrib.get("colorID")),
            "type": _name_of(TYPES, item.attrib.get("typeID")),
        }
        for item in items
    }


def _name_of(names: tuple[str, ...], number: str | None) -> str | None:
    index = int(number or 0) - 1
    return names[index] if 0 <= index < len(names) else None


def _pairs(path: Folder) -> dict[str, str]:
    """Return the lines of a file, each a number and the rest."""
    return dict(line.split(maxsplit=1) for line in _text(path).splitlines() if line.strip())


def _text(path: Folder) -> str:
    return read_file(path).decode()


LAYOUTS = (
    Layout("CUB-200-2011", (("images.txt",), ("image_class_labels.txt",), ("classes.txt",), ("images",)), cub),
    Layout("Cars196", (("cars_annos.mat",),), cars),
    Layout("Cars196", (("cars_train",), ("devkit/cars_train_annos.mat",), ("devkit/cars_meta.mat",)), cars_devkit),
    Layout("Stanford Online Products", (("Ebay_train.txt",), ("Ebay_test.txt",)), online_products),
    Layout("In-Shop Clothes Retrieval", ((f"Eval/{PARTITION}", PARTITION), ("img", "Img/img")), in_shop),
    Layout("Market-1501", (("bounding_box_train",), ("bounding_box_test",), ("query",)), market),
    Layout("VeRi-776", (("image_train",), ("image_test",), ("image_query",)), veri),
)
