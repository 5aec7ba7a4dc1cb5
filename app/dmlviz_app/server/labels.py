"""Labels of the options of a menu, which the browser sends back as what was chosen."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from dmlviz.catalog.custom_datasets import PREFIX

DIGITS = 6  # of a data set's or run's name, enough to distinguish two


def unique_labels(options: Iterable[Hashable], text: Callable[[Any], str]) -> dict[Any, str]:
    """Return the labels of options, with the beginning of its name behind one that occurs twice.

    Streamlit finds the option that was chosen by its label; of two with the same one it always takes the last.

    Examples:
        >>> unique_labels(["custom-66282fd0", "custom-0b9a77e1", "mnist"], lambda name: "Gray" if "-" in name else name)
        {'custom-66282fd0': 'Gray (66282f)', 'custom-0b9a77e1': 'Gray (0b9a77)', 'mnist': 'mnist'}
    """
    labels = {option: text(option) for option in options}
    digits: int | None = DIGITS
    while len(set(labels.values())) < len(labels):
        counts = Counter(labels.values())
        for option, label in labels.items():
            if counts[label] > 1:
                labels[option] = f"{label} ({str(option).removeprefix(PREFIX)[:digits]})"
        digits = None  # in case a title is just that
    return labels
