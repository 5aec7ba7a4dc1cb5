"""Which folders of pictures are classes, and which are the parts of a split, wherever people put them."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dmlviz.errors import UserError
from dmlviz.storage.text import counted, plain_name

TRAINING = ("train", "training")
TESTING = ("test", "testing", "val", "valid", "validation", "eval", "evaluation", "dev", "holdout")
_FILLERS = ("set", "sets", "data", "dataset", "image", "images", "img", "imgs", "picture", "pictures", "folder")
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_JOINED = re.compile(f"({'|'.join((*TRAINING, *TESTING))})({'|'.join(_FILLERS)})")
_FEW = 3  # pictures; folders with fewer are no class, and so no reason to stay at their level
_NUMBER = re.compile(r"[0-9]+(?![^\W\d_])")  # of a file's name; 3f9c is none
_EDGES = " ._-()[]#"
NAMED = 3  # names in a sentence

Path = tuple[str, ...]


@dataclass(frozen=True)
class ClassFolders:
    """What folders of pictures mean.

    Attributes:
        names: The class of each picture; empty for one in no class folder.
        splits: "train" or "test" for each picture; empty where the folders have no split.
        notes: Sentences that say it; the first one is the whole.
        warnings: Sentences on what may be meant otherwise.
        levels: The folder names of each level, from where folders begin to differ, in short.
        level: Number of the level of the classes, from 1.
    """

    names: list[str]
    splits: list[str]
    notes: list[str]
    warnings: list[str]
    levels: list[str]
    level: int


def read_class_folders(folders: Sequence[Path], level: int | None = None, stems: Sequence[str] = ()) -> ClassFolders:
    """Find classes and split in the folders that pictures lie in.

    Folders beside each other of which some are called train and others test (also training_set, seg_test, valid …) are
    a split, at any depth. Of the other folders, the first level that differs has the classes. Where none does, classes
    in the names of the files (cat.0, dog.1) are one more level.

    Args:
        folders: The parts of each picture's folder (n).
        level: Number of the level of the classes, from 1; found if None.
        stems: Names of the files, without their endings (n).

    Raises:
        UserError: For a level that there is not.
    """
    in_names = classes_in_names(stems)
    if not in_names:
        return _read(folders, level)
    by_folder = _read(folders, None)
    large = [name for name, count in Counter(filter(None, by_folder.names)).items() if count >= _FEW]
    chosen = len(by_folder.levels) + 1
    if level == chosen or len(large) < 2 or all(map(split_name, large)):
        found = _read([(*path, name) if name else path for path, name in zip(folders, in_names, strict=True)], level)
        if found.level == len(found.levels):
            found.notes[0] = found.notes[0].replace("Classes are the folders", "Classes are in the names of the files:")
            found.warnings.insert(0, "If names of files are no classes, put the images of each class into a folder.")
        return found
    found = _read(folders, level)
    pairs = set(zip(in_names, found.names, strict=True))
    if sum(count > 1 for name, count in Counter(name for name, _ in pairs).items() if name) > 1:  # in several folders
        found.levels.append(f"names of files, {listed(filter(None, in_names))}")
    return found


def classes_in_names(stems: Sequence[str]) -> list[str]:
    """Return the class in each file's name: what is before its first number, its last, or after the first.

    Of these it is the first that makes two classes or more, most of which have some pictures; empty where none does.

    Examples:
        >>> classes_in_names(["cat.0", "cat.1", "cat.2", "dog.0", "dog (1)", "dog"])
        ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """
    numbers = [[*_NUMBER.finditer(stem)] for stem in stems]
    for before, at in ((True, 0), (True, -1), (False, 0)):
        names = [
            (stem[: found[at].start()] if before else stem[found[at].end() :]).strip(_EDGES) if found else stem
            for stem, found in zip(stems, numbers, strict=True)
        ]
        counts = Counter(filter(None, names))
        large = [count for count in counts.values() if count >= _FEW]
        if len(large) > 1 and 2 * sum(large) > counts.total():
            return names
    return []


def _read(folders: Sequence[Path], level: int | None) -> ClassFolders:
    splits = _find_splits(folders)
    top = _common(folders)
    depth = max((len(folder) - top for folder in folders), default=0)
    if level is not None and not 1 <= level <= depth:
        raise UserError(f"The images lie in {depth} levels of folders; got level {level}: choose one of them.")
    places = [top + level - 1] * len(folders) if level else _class_places(folders, splits)
    names, roles = [], []
    for folder, split, place in zip(folders, splits, places, strict=True):
        names.append(class_name(folder[place]) if place is not None and place < len(folder) else "")
        roles.append(split.role if split and split.at != place else "")
    taken = [i for i, name in enumerate(names) if name]
    is_split = {roles[i] for i in taken} >= {"train", "test"}
    roles = [role or "train" for role in roles] if is_split else [""] * len(roles)
    own_level = Counter((places[i] or 0) - top + 1 for i in taken).most_common(1)
    found = ClassFolders(names, roles, [], [], _levels(folders, top), own_level[0][0] if own_level else 1)
    _say(found, folders, splits, places)
    return found


def class_name(folder: str) -> str:
    """Return the class that a folder is called after."""
    return plain_name(unicodedata.normalize("NFC", folder)) or "unnamed"


def split_name(folder: str) -> str:
    """Return the part of a split that a folder's name stands for, "train" or "test"; empty for none.

    Examples:
        >>> split_name("training_set"), split_name("seg_test"), split_name("train station 1")
        ('train', 'test', 'train')
    """
    return _split_words(folder)[0]


def _split_words(folder: str) -> tuple[str, tuple[str, ...]]:
    """Return the part of a split that a name stands for, and its other words."""
    words = _JOINED.sub(r"\1 \2", " ".join(_WORD.findall(folder)).lower()).split()
    roles = [word for word in words if word in TRAINING or word in TESTING]
    if len(roles) != 1:
        return "", ()
    others = tuple(word for word in words if word not in _FILLERS and word != roles[0])
    return "train" if roles[0] in TRAINING else "test", others


@dataclass(frozen=True)
class _Split:
    """The folder on a picture's path that is a part of a split: which, its index, and that of the first one below."""

    role: str
    at: int
    below: int


def _find_splits(folders: Sequence[Path]) -> list["_Split | None"]:
    """Return the part of the split that each picture is in: of folders beside each other, some train and some test."""
    children: dict[Path, set[str]] = defaultdict(set)
    for folder in set(folders):
        for i, name in enumerate(folder):
            children[folder[:i]].add(name)
    roles: dict[Path, str] = {}
    for parent, names in children.items():
        groups: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
        for name in names:
            role, others = _split_words(name)
            if role:
                groups[others][name] = role
        roles |= {(*parent, n): group[n] for group in groups.values() if len(set(group.values())) == 2 for n in group}
    found = {}
    for folder in set(folders):
        at = next((i for i in range(len(folder)) if folder[: i + 1] in roles), None)
        if at is not None:
            role, below = roles[folder[: at + 1]], at + 1
            while (
                below < len(folder)
                and children[folder[:below]] == {folder[below]}
                and split_name(folder[below]) == role
            ):
                below += 1  # seg_train/seg_train, as Kaggle packs it
            found[folder] = _Split(role, at, below)
    return [found.get(folder) for folder in folders]


def _class_places(folders: Sequence[Path], splits: Sequence["_Split | None"]) -> list[int | None]:
    """Return the index of the class in each picture's folder; None for a picture in no class folder."""
    inside = {i: split for i, split in enumerate(splits) if split is not None}
    above = [folders[i][: split.at] for i, split in inside.items()]
    top = _common(above)
    if len(set(above)) > 1 and min(map(len, above)) > top:  # a split in each class
        return [top if split else None for split in splits]
    below = {i: folders[i][split.below :] for i, split in inside.items() if split.below < len(folders[i])}
    skipped = _skipped(below, {i: inside[i].role for i in below})
    places = [
        inside[i].below + skipped[i] if i in below and skipped[i] < len(below[i]) else None for i in range(len(folders))
    ]
    if len({folders[i][place] for i, place in enumerate(places) if place is not None}) > 1:
        return places
    root = _root_of_classes(folders)
    depth = len(root)
    return [depth if len(folder) > depth and folder[:depth] == root else None for folder in folders]


def _skipped(below: Mapping[int, Path], roles: Mapping[int, str]) -> dict[int, int]:
    """Return how many folders below the split hold all of its pictures, or else all of the picture's part of it."""

    def are_shared(skipped: Mapping[str, int]) -> bool:
        names: dict[str, set[str]] = {"train": set(), "test": set()}
        for i, path in below.items():
            names[roles[i]] |= set(path[skipped[roles[i]] :][:1])
        return bool(names["train"] & names["test"])

    alike = dict.fromkeys(("train", "test"), _common(list(below.values())))
    apart = {role: _common([path for i, path in below.items() if roles[i] == role]) for role in alike}
    skipped = apart if are_shared(apart) and not are_shared(alike) else alike
    return {i: skipped[roles[i]] for i in below}


def _common(folders: Sequence[Path]) -> int:
    """Return the number of leading folders common to all pictures in folders."""
    inside = [folder for folder in folders if folder]
    if not inside:
        return 0
    first, last = min(inside), max(inside)
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


def _root_of_classes(folders: Sequence[Path]) -> Path:
    """Return the folder whose folders are the classes: the last one beside which there are too few pictures."""
    root: Path = ()
    while True:
        below = [folder[len(root) :] for folder in folders if len(folder) > len(root) and folder[: len(root)] == root]
        large = [name for name, count in Counter(folder[0] for folder in below).items() if count >= _FEW]
        if len(large) != 1 or not any(len(folder) > 1 and folder[0] == large[0] for folder in below):
            return root
        root = (*root, large[0])


def _levels(folders: Sequence[Path], top: int) -> list[str]:
    depth = max((len(folder) - top for folder in folders), default=0)
    return [listed([folder[i] for folder in folders if len(folder) > i]) for i in range(top, top + depth)]


def listed(names: Iterable[str]) -> str:
    """Return the first of the different names, and how many there are if these are not all.

    Examples:
        >>> listed("aab"), listed("abcd")
        ('a, b', 'a, b, c … (4)')
    """
    different = list(dict.fromkeys(names))
    short = ", ".join(class_name(name)[:40] for name in different[:NAMED])
    return short if len(different) <= NAMED else f"{short} … ({len(different):,})"


def _say(
    found: ClassFolders, folders: Sequence[Path], splits: Sequence["_Split | None"], places: Sequence[int | None]
) -> None:
    """Add the sentences."""
    rows = list(zip(found.names, found.splits, folders, splits, places, strict=True))
    taken = [(name, role, folder, split, place or 0) for name, role, folder, split, place in rows if name]
    sentence = f"Classes are the folders {listed(name for name, *_ in taken)}"
    if any(found.splits):
        parts = {
            role: listed(folder[split.at] for _, own, folder, split, _ in taken if split and own == role)
            for role in ("train", "test")
        }
        sentence += f"; {parts['train']} to train on, {parts['test']} to test on"
    found.notes.append(f"{sentence}.")
    sources: dict[str, set[Path]] = defaultdict(set)
    deeper = []
    for name, _, folder, split, place in taken:
        sources[name].add(
            tuple(
                part for i, part in enumerate(folder[: place + 1]) if split is None or i < split.at or i >= split.below
            )
        )
        deeper += [part for part in folder[place + 1 :] if not split_name(part)]
    merged = [name for name, paths in sources.items() if len(paths) > 1]
    if merged:
        found.notes.append(f"Folders of one name are one class: {listed(merged)}.")
    around = {path[:-1] for paths in sources.values() for path in paths}
    if len(around) > 1:
        found.notes.append(
            f"Folders around the classes do not count: {listed(path[-1] for path in sorted(around) if path)}."
        )
    if deeper:
        found.warnings.append(
            f"Folders inside of the classes do not count: {listed(deeper)}. If they are the classes, choose another "
            "folder level."
        )
    like_splits = [name for name in sources if split_name(name)]
    if not any(found.splits) and (len({split_name(name) for name in like_splits}) == 2 or (like_splits and deeper)):
        found.warnings.append(
            f"Classes are called {listed(like_splits)}, as parts of a split are. If they are, choose another folder "
            "level, or put the images of each class into a folder inside of them."
        )
    beside = [folder for name, _, folder, _, _ in rows if folder and not name]
    if beside:
        found.warnings.append(
            f"{counted(len(beside), 'image')} in no class folder: {listed('/'.join(folder) for folder in beside)}. "
            "If these are classes, choose another folder level."
        )
