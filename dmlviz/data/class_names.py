"""Classes from labels as files have them: one for each text, names short enough for a page, rows without a label."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dmlviz.data.text_columns import NO_NUMBER
from dmlviz.errors import UserError
from dmlviz.storage.text import plain_name

MAX_CLASSES = 65_535  # the page has two bytes for each label
MAX_NAME = 1000  # characters of a class name, as runs and data sets keep it
MAX_SHOWN = 40  # on a page
WHITE_SPACE = "Labels that differ only by white space around them are one class."
UNLABELED = "no label"  # the class of what has no label: the only one, or the last


def class_ids(labels: np.ndarray, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return class IDs (n, int64) and class names of labels as a file has them, in natural order.

    Labels that are missing (nothing, NaN, an empty text) are of the last class, `UNLABELED`.

    Raises:
        UserError: For too many classes.
    """
    texts = [label_text(label) for label in labels.tolist()]
    different = set(texts)
    if len(different) > MAX_CLASSES:
        raise UserError(
            f"Labels name up to {MAX_CLASSES:,} classes; {name} has {len(different):,}: merge classes, or choose "
            "another column as label."
        )
    classes = [*natural_order(different - {UNLABELED}), *(different & {UNLABELED})]
    numbers = {text: number for number, text in enumerate(classes)}
    return np.array([numbers[text] for text in texts], np.int64), short_names(tuple(classes), MAX_NAME)


def has_label(labels: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    """Return which labels (n) name a class (mask, n): not those that are missing."""
    mask: np.ndarray = np.asarray(labels) != (classes.index(UNLABELED) if UNLABELED in classes else -1)
    return mask


def known_labels(labels: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    """Return the labels (n), -1 in place of those that are missing."""
    return np.where(has_label(labels, classes), labels, -1)


def label_notes(labels: np.ndarray, ids: np.ndarray, classes: Sequence[str]) -> list[str]:
    """Return sentences for a report: on rows without a label, and on numbers that are hardly classes."""
    notes, mask = [], has_label(ids, classes)
    if mask.any() and not mask.all():
        notes.append(
            f"{np.count_nonzero(~mask):,} of {len(ids):,} rows have no label: they are gray on the map and left out "
            "of the scores."
        )
    notes += changed_note(label for label in labels.tolist() if isinstance(label, str))
    texts = {label for label in labels.tolist() if isinstance(label, str) and label.strip()}
    if len({text.strip() for text in texts}) < len(texts):
        notes.append(WHITE_SPACE)
    words = [name for name in classes if name in NO_NUMBER]
    if words:
        notes.append(f"{', '.join(words)} is a class: if it stands for no label, add --missing {','.join(words)}.")
    if any(isinstance(label, float) and not label.is_integer() for label in labels[mask].tolist()):
        notes.append(
            f"The labels are numbers with decimals, and each of the {len(classes):,} different ones is a class: choose "
            "another column with --label, and color by this one."
        )
    return notes


def natural_order(texts: Iterable[str]) -> list[str]:
    """Return texts in ascending order, numbers first and those in them by their value: cat 10 after cat 9."""

    def key(text: str) -> list[tuple[bool, int, str]]:
        parts = filter(None, re.split(r"(\d{1,18})", text))
        return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]

    return sorted(texts, key=key)


@lru_cache(maxsize=16)
def short_names(texts: tuple[str, ...], longest: int = MAX_SHOWN) -> tuple[str, ...]:
    """Return a name on one line of up to `longest` characters for each of some different texts; no two are equal.

    A longer text is cut. Where that makes two names equal, their ends are kept, and if these are equal, too, they are
    numbered.

    Examples:
        >>> short_names(tuple(f"https://example.org/a/long/path/of/the/{kind}-pictures" for kind in ("cat", "dog")))
        ('https://example.org…of/the/cat-pictures', 'https://example.org…of/the/dog-pictures')
    """
    lines = [text if text.isprintable() else plain_name(text) for text in texts]
    often = Counter(line[: longest - 1] for line in lines)
    half = (longest - 1) // 2

    def cut(line: str) -> str:
        if len(line) <= longest:
            return line
        return f"{line[:half]}…{line[-half:]}" if often[line[: longest - 1]] > 1 else f"{line[: longest - 1]}…"

    names = [cut(line) for line in lines]
    used_names = {name for name, text in zip(names, texts, strict=True) if name == text}
    different = []
    for name, text in zip(names, texts, strict=True):
        number, unique = 2, name
        while unique in used_names and unique != text:
            unique, number = f"{name[: longest - 1 - len(str(number))]} {number}", number + 1
        used_names.add(unique)
        different.append(unique)
    return tuple(different)


def whole_names(classes: tuple[str, ...]) -> dict[str, str]:
    """Return the names that a page shortens, by what it shows in their place."""
    return {short: name for short, name in zip(short_names(classes), classes, strict=True) if short != name}


def changed_note(texts: Iterable[str]) -> list[str]:
    """Return a sentence on class names that `short_names` does not keep as they are, if there are any."""
    count = sum(short_names((text.strip(),), MAX_NAME)[0] != text.strip() for text in set(texts))
    words = "1 class name is" if count == 1 else f"{count:,} class names are"
    rule = f"put on one line of up to {MAX_NAME:,} characters that can be seen; no two become equal."
    return [f"{words} {rule}"] if count else []


def label_text(label: Any) -> str:
    """Return the class that a label of a file stands for, `UNLABELED` for none: 3, 3.0 and "3" name one class."""
    if label is None:
        return UNLABELED
    if isinstance(label, bytes):
        label = label.decode(errors="replace")
    if isinstance(label, float):
        if label != label:  # NaN
            return UNLABELED
        label = int(label) if label.is_integer() else label
    text = str(label)
    head = text[:64]  # all of a text that fills megabytes would take long
    if not (head.isprintable() and head.strip()) and not plain_name(text):  # nothing that is seen
        return UNLABELED
    return text.strip() or UNLABELED
