"""MNIST and its relatives as files that a person brings, under the names that they are passed on with."""

import gzip
import hashlib
import re
import sys
import tempfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_sources import SOURCES
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import idx
from dmlviz.data.class_names import class_ids, has_label, label_text, natural_order
from dmlviz.data.file_source import Entry
from dmlviz.data.image_ops import as_pixels
from dmlviz.data.import_report import ImportedDataset, ImportReport, class_counts, declaration, import_warnings
from dmlviz.data.known_content import Key, idx_bytes, is_keras, name_of, read_keras
from dmlviz.data.table_file import name_stem
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.arrays import array_shapes, read_arrays
from dmlviz.storage.files import atomic_write, ensure_dir
from dmlviz.storage.text import counted

_MAPPING = re.compile(r".*mapping\.txt", re.IGNORECASE)  # of EMNIST: lines of a label and the code of its letter
_CSV = re.compile(r"[\w. -]*?(train|test)[\w. -]*\.csv(\.gz)?", re.IGNORECASE)
_PIXEL_NAME = re.compile(r"(pixel|pix|px)[\W_]?\d+|\d+x\d+", re.IGNORECASE)
_HINT = "Bring the whole file again."
MAX_KERAS_BYTES = 1_000_000_000


class RawDataset(ImportedDataset):
    """Files of a data set of the catalog: they are saved where it is looked for, as if it had been downloaded."""

    def save(self, root: Path) -> str:
        """Save the files that are missing to a data folder, and return the data set's name."""
        spec, source = self.declared, SOURCES[self.declared.name]
        folder = ensure_dir(root / source.folder)
        for part, prefix in zip(custom_datasets.PARTS, source.parts, strict=True):
            images, labels = self.parts[f"{part}_images"], self.parts[f"{part}_labels"] + spec.first_label
            arrays = (images.swapaxes(1, 2) if spec.transposed else images), labels
            for kind, array in zip(("images-idx3-ubyte", "labels-idx1-ubyte"), arrays, strict=True):
                if idx.find(folder, f"{prefix}-{kind}") is None:
                    with atomic_write(folder / f"{prefix}-{kind}") as file:
                        file.write(idx_bytes(array))
        return spec.name


def belong_together(names: Sequence[str]) -> bool:
    """Return whether these are the names of files of MNIST or a relative: IDX files, or a CSV file for each part."""
    tables = [match[1].lower() for name in names if (match := _CSV.fullmatch(name))]
    return all(idx.parse_name(name) for name in names) or (len(names) == 2 and set(tables) == {"train", "test"})


def siblings(path: Path) -> list[Entry]:
    """Return the files in a folder, or beside a file of MNIST or of a relative, that are such; else none."""
    is_npz = path.suffix.lower() == ".npz"
    if path.is_file() and (idx.parse_name(path.name) is None or (is_npz and len(array_shapes(path)) > 1)):
        is_one = is_npz and is_keras(path)
        return [Entry((path.name,), path.stat().st_size, path.read_bytes)] if is_one else []
    paths = [one for one in sorted((path if path.is_dir() else path.parent).glob("*")) if one.is_file()]
    if not any(idx.parse_name(one.name) for one in paths):
        return []
    found = [one for one in paths if idx.parse_name(one.name) or _MAPPING.fullmatch(one.name)]
    return [Entry((one.name,), one.stat().st_size, one.read_bytes) for one in found]


def pixel_tables(path: Path) -> list[Path]:
    """Return a CSV file, and of one called train or test that beside it called test or train; else none."""
    match = _CSV.fullmatch(path.name)
    if match is not None:
        part = {"train": "test", "test": "train"}[match[1].lower()]
        other = path.with_name(path.name[: match.start(1)] + part + path.name[match.end(1) :])
        if other.is_file():
            return [path, other]
    return [path] if path.is_file() and path.name.lower().endswith((".csv", ".csv.gz")) else []


def import_raw_files(files: Iterable[Entry], place: str, title: str, is_trusted: bool) -> ImportedDataset | None:
    """Read the files of MNIST or of a relative among some files; None if there are none.

    Args:
        files: The files.
        place: Where they come from, for messages; its words tell relatives of the same file names apart.
        title: Title of a data set that is not in the catalog; `place` if empty.
        is_trusted: Whether names are believed; otherwise only checksums are.

    Raises:
        UserError: For files of several data sets, a missing or damaged file.
    """
    groups: dict[tuple[str, ...], dict[Key, Entry]] = defaultdict(dict)
    archives, mapping = [], b""
    for entry in files:
        if _MAPPING.fullmatch(entry.parts[-1]) and not entry.error:
            mapping = entry.read()
        if entry.parts[-1].lower().endswith(".npz") and not entry.error and entry.size < MAX_KERAS_BYTES:
            archives.append(entry)
        name = idx.parse_name(entry.parts[-1])
        if name is not None:
            folders = tuple(part for part in entry.parts[:-1] if idx.parse_name(part) is None)
            groups[(*folders, name.prefix)].setdefault((name.part, name.kind), entry)
    if not groups:
        return _from_keras(archives, place, title)
    if len(groups) > 1:
        names = ", ".join("/".join(filter(None, group)) or "train-images …" for group in sorted(groups)[:3])
        raise UserError(
            f"One data set is added at a time; {place} has the files of {len(groups)}: {names}. Put those of one into "
            "a folder of its own."
        )
    [(group, entries)] = groups.items()
    missing = {(part, kind) for part, _ in entries for kind in ("images", "labels")} - set(entries)
    if missing or ("train", "images") not in entries:
        part, kind = sorted(missing)[0] if missing else ("train", "images")
        raise UserError(
            f"Images come with their labels, to train on and to test on; {place} has {len(entries)} files of them, but "
            f"no {part} {kind}: put that file beside them ({part}-{kind}-idx…-ubyte, plain or .gz)."
        )
    contents = {key: entry.read() for key, entry in entries.items()}
    arrays = {key: _array(data, entries[key].name) for key, data in contents.items()}
    sums = {hashlib.md5(data, usedforsecurity=False).hexdigest() for data in contents.values()}
    known = next((own for own, source in SOURCES.items() if sums == {file.md5 for file in source.files.values()}), "")
    words = " ".join((place, title, *group)).lower()
    known = known or (_name_in(words, arrays) if is_trusted else "")
    return _dataset(arrays, known, words, title or place, _class_names(mapping))


def _from_keras(archives: Sequence[Entry], place: str, title: str) -> ImportedDataset | None:
    """Read the one file with x_train, y_train, x_test and y_test among some; None if there is none."""
    found = [entry for entry in archives if is_keras(entry.read())]
    if not found:
        return None
    if len(found) > 1:
        names = ", ".join("/".join(entry.parts) for entry in found[:3])
        raise UserError(f"One data set is added at a time; {place} has {len(found)} files of x_train …: {names}.")
    [entry] = found
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        file.write(entry.read())
        file.flush()
        try:
            arrays = read_keras(Path(file.name))
        except DamagedFileError as error:
            raise UserError(f"{entry.name} cannot be read: {error}") from None
        with zipfile.ZipFile(file.name) as archive:
            has_validation = any(name.startswith("val_") for name in archive.namelist())
    dataset = _dataset(arrays, "", "", title or Path(entry.name).stem)
    if has_validation:
        dataset.report["notes"].append("Images to validate on (val) are tested on, too, behind those of test.")
    return dataset


def import_pixel_tables(paths: Sequence[Path], place: str, title: str) -> ImportedDataset | None:
    """Read CSV files called train and test with a label and all pixels of a square a row, as Kaggle has MNIST.

    A row of names may be missing, as of EMNIST. One file alone is read if its names say that they are of pixels.
    Returns None if they are none; one without labels, as Kaggle's test.csv, is left out.
    """
    from pyarrow import ArrowException, csv

    arrays: dict[Key, np.ndarray] = {}
    heads = {}
    for path in paths:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            heads[path] = file.readline(100_000).decode(errors="replace").strip().replace('"', "").split(",")
    files = [path for path in paths if not all(map(_PIXEL_NAME.fullmatch, heads[path]))]
    for path in files:
        match, head = _CSV.fullmatch(path.name), heads[path]
        side = round(max(len(head) - 1, 0) ** 0.5)
        is_named = not all(value.isdecimal() for value in head)
        label = next((end for end in (0, -1) if head[end].lower() == "label"), None) if is_named else 0
        if side < 8 or side * side != len(head) - 1 or label is None:
            return None
        if match is None if len(files) > 1 else sum(map(bool, map(_PIXEL_NAME.fullmatch, head))) < side * side:
            return None
        part = match[1].lower() if match is not None and len(files) > 1 else "train"
        if (part, "images") in arrays:
            raise UserError(f"One data set is added at a time; {place} has {len(paths)} files of images: name one.")
        try:
            options = csv.ReadOptions(autogenerate_column_names=not is_named)
            columns = [column.to_numpy() for column in csv.read_csv(path, options).columns]
        except (ArrowException, ValueError):
            return None
        arrays[part, "labels"] = columns.pop(label)
        if any(column.dtype.kind not in "iu" or column.min() < 0 or column.max() > 255 for column in columns):
            return None
        rows = np.ascontiguousarray(np.stack(columns, dtype=np.uint8, casting="unsafe").T)
        arrays[part, "images"] = rows.reshape(-1, side, side)
    if not arrays or (len(files) > 1 and {part for part, _ in arrays} != {"train", "test"}):
        return None
    names = _class_names(next((path.read_bytes() for path in paths[0].parent.glob("*mapping.txt")), b""))
    own, left_out = [part for part, kind in arrays if kind == "labels"], 0
    if any(arrays[part, "labels"].dtype.kind not in "iu" for part in own):  # words, or rows without a label
        ids, classes = class_ids(np.concatenate([arrays[part, "labels"].astype(object) for part in own]), place)
        names = {str(number): text for number, text in enumerate(classes)}
        ends = np.cumsum([len(arrays[part, "labels"]) for part in own])
        for part, labels in zip(own, np.split(ids, ends[:-1]), strict=True):
            kept = has_label(labels, classes)
            arrays |= {
                (part, kind): values[kept] for kind, values in (("labels", labels), ("images", arrays[part, "images"]))
            }
            left_out += int((~kept).sum())
    words = f"{place} {title} {files[0].name}".lower()
    dataset = _dataset(arrays, "", words, title or name_stem(place), names)
    dataset.report["notes"] += [f"{path.name} is left out: it has no labels." for path in paths if path not in files]
    if left_out:
        dataset.report["notes"].append(f"{counted(left_out, 'row')} without a label: left out.")
    return dataset


def import_arrays(path: Path, title: str) -> ImportedDataset | None:
    """Read an npz file with an array of square images, their labels, and no vectors; None for any other file.

    Raises:
        UserError: For images that are not numbers from 0 to 255, or from 0 to 1.
    """
    if path.suffix.lower() != ".npz" or not path.is_file():
        return None
    try:
        shapes = array_shapes(path)
        pictures = [name for name, shape in shapes.items() if len(shape) > 2]
        rows = [shape for name in pictures for shape in (shapes[name][:1], (*shapes[name][:1], 1))]
        labels = [name for name, shape in shapes.items() if shape in rows]
        if len(pictures) != 1 or len(labels) != 1 or len(shapes) != 2:
            return None
        arrays = read_arrays(path)
    except DamagedFileError as error:
        raise UserError(f"{path.name} could not be read as npz ({error.reason}): save it again.") from None
    images, (values, ids) = arrays[pictures[0]], np.unique(arrays[labels[0]].ravel(), return_inverse=True)
    pixels = as_pixels(images, f"{pictures[0]} of {path.name}")
    names = {str(number): label_text(value) for number, value in enumerate(values.tolist())}
    return _dataset({("train", "images"): pixels, ("train", "labels"): ids}, "", "", title or path.stem, names)


def _class_names(mapping: bytes) -> dict[str, str]:
    """Return the classes' names by label, of a file as EMNIST has it; none if it is another, or two have one name."""
    rows = [line.split() for line in mapping.decode(errors="replace").splitlines() if line.strip()]
    if not all(len(row) > 1 and all(value.isdecimal() for value in row) for row in rows):
        return {}
    names = {row[0]: chr(min(int(row[1]), sys.maxunicode)) for row in rows}
    return names if len({*names.values()}) == len(rows) and all(map(str.isalnum, names.values())) else {}


# A word in the name of a folder or file, the data set, and its numbers of training and test images.
_NAMED = (
    ("emnist-letters", "emnist_letters", 124_800, 20_800),
    ("fashion", "fashion_mnist", 60_000, 10_000),
    ("kmnist", "kmnist", 60_000, 10_000),
    ("kuzushiji", "kmnist", 60_000, 10_000),
)


def _array(data: bytes, name: str) -> np.ndarray:
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        if data[:2] == b"PK":
            with tempfile.NamedTemporaryFile(suffix=".npz") as file:
                file.write(data)
                file.flush()
                return next(iter(read_arrays(Path(file.name)).values()))
    except (EOFError, OSError, ValueError, zlib.error, zipfile.BadZipFile) as error:
        raise UserError(f"{name} is damaged or cut off ({error}). {_HINT}") from None
    dims = 3 if "images" in name.lower() else 1
    return idx.parse(np.frombuffer(data, np.uint8), dims, name, _HINT)


def _name_in(words: str, arrays: Mapping[Key, np.ndarray]) -> str:
    """Return the data set of the catalog that a name speaks of, if the numbers of images are its own."""
    counts = [len(arrays.get((part, "labels"), ())) for part in custom_datasets.PARTS]
    return next((name for word, name, *own in _NAMED if word in words and counts == own), "")


def _dataset(
    arrays: Mapping[Key, np.ndarray], name: str, words: str, title: str, names: Mapping[str, str] = MappingProxyType({})
) -> ImportedDataset:
    """Return the data set of the catalog of this name, or which it is by its content, or a new one."""
    for part in {part for part, _ in arrays}:
        shape, of = arrays[part, "images"].shape, arrays[part, "labels"].shape
        kind = arrays[part, "images"].dtype
        if shape[3:] not in ((), (3,)) or len(shape) < 3 or of != shape[:1] or kind != np.uint8:
            raise UserError(
                f"Each image (uint8) has a label; got images of shape {shape}, {kind}, and labels of shape {of} to "
                f"{part} on: bring the files that belong together."
            )
        if not np.isin(arrays[part, "labels"].dtype.kind, ("i", "u")):
            raise UserError(f"Labels of images are whole numbers; got {arrays[part, 'labels'].dtype} to {part} on.")
    name = name_of(arrays) or name
    parts_given = {part for part, _ in arrays}
    turned = DATASETS[name].transposed if name else "emnist" in words
    images = {part: arrays[part, "images"].swapaxes(1, 2) if turned else arrays[part, "images"] for part in parts_given}
    if all(own.max(initial=0) <= 1 for own in images.values()):
        images = {part: own * np.uint8(255) for part, own in images.items()}  # black and white
    labels = {part: arrays[part, "labels"].astype(np.int64) for part in parts_given}
    notes = ["Images of EMNIST lie on their sides in the files; they were turned."] if turned else []
    if name:
        spec = DATASETS[name]
        classes: Sequence[str] = spec.classes
        labels = {part: ids - spec.first_label for part, ids in labels.items()}
        notes.insert(0, f"These are the files of {spec.title}.")
    else:
        values = natural_order({str(value) for part in labels.values() for value in np.unique(part)})
        classes = [names.get(value, value) for value in values] if set(values) <= set(names) else values
        ids = np.array([int(value) for value in values])
        labels = {part: np.searchsorted(ids, own) for part, own in labels.items()}
        sides = " × ".join(map(str, images["train"].shape[1:3]))
        notes.insert(
            0,
            f"Images of {sides} pixels in {len(classes)} classes; they are neither MNIST nor Fashion-MNIST.",
        )
    if "test" not in images:
        test = np.zeros(len(labels["train"]), bool)
        test[np.argsort(labels["train"], kind="stable")[::5]] = True
        images = {"train": images["train"][~test], "test": images["train"][test]}
        labels = {"train": labels["train"][~test], "test": labels["train"][test]}
        notes.append("There is no file to test on: every fifth image of a class is.")
    parts = {f"{part}_images": np.ascontiguousarray(images[part]) for part in custom_datasets.PARTS}
    parts |= {f"{part}_labels": labels[part] for part in custom_datasets.PARTS}
    counts, number = class_counts(classes, parts), sum(map(len, labels.values()))
    report = ImportReport(
        files=len(arrays), taken=number, classes=counts, notes=notes, warnings=import_warnings(counts), left_out=[]
    )
    if name:
        return RawDataset(DATASETS[name], parts, report)
    if images["train"].shape[1] != images["train"].shape[2]:
        raise UserError(f"Images of such files are squares; got {sides}: save them as PNG in folders.")
    return ImportedDataset(declaration(title, classes, parts), parts, report)
