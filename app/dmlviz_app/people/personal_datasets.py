"""The data sets of one person: those of all, their own, and those shared with them."""

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dmlviz import data
from dmlviz.catalog.custom_datasets import FOLDER, is_custom
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import backbone_weights
from dmlviz.runs.ownership import Ownership
from dmlviz.runs.quota import folder_size
from dmlviz_app.people import policy
from dmlviz_app.people.people import Person


def moment() -> int:
    """Return a number that is the same for a moment: a page asks several times, and one look at the disk is enough."""
    return int(time.monotonic() / 0.3)


@lru_cache(maxsize=4)
def _available(folder: Path, _moment: int) -> tuple[str, ...]:
    return tuple(data.available_datasets(folder))


@dataclass(frozen=True)
class PersonalDatasets:
    """The data sets on which one person may train.

    Attributes:
        folder: The folder of all data sets.
        owners: The holders of each custom data set.
        person: The person who asks.
    """

    folder: Path
    owners: Ownership
    person: Person

    def available(self) -> list[str]:
        """Return the names of those that are on disk and that this person may train on, as of a moment ago."""
        names = _available(self.folder, moment())
        return [name for name in names if DATASETS[name].trainable and self.may_train_on(name)]

    def default(self) -> str:
        """Return the name of the default data set if it is on disk, otherwise of the first that is."""
        available, usual = self.available(), TrainConfig.model_fields["dataset"].default
        return usual if usual in available else available[0]

    def note(self, name: str) -> str:
        """Return what a person should know before training on one; empty for most."""
        return data.dataset_note(name, self.folder)

    def trainable(self) -> list[str]:
        """Return the names of those that this person may train on, those to download included."""
        return [name for name in DATASETS if DATASETS[name].trainable and self.may_train_on(name)]

    def may_train_on(self, name: str) -> bool:
        """Return whether this person may train on a data set."""
        if not is_custom(name):
            return True
        entry = self.owners.visible_entry(name, self.person.id)
        return self.person.may(policy.TRAIN, self.person.relation_to(entry))

    def hold(self, name: str) -> None:
        """Give this person an entry of a custom data set."""
        self.person.hold(self.owners, name, DATASETS[name].title)

    def used(self) -> int:
        """Return the bytes that the data sets of this person take, with the weights that are kept for them."""
        names = self.owners.held_by(self.person.id)
        files = {backbone_weights.weights_of(self.folder, name) for name in names}
        weights = sum(path.stat().st_size for path in files if path is not None and path.exists())
        return weights + sum(folder_size(self.folder / FOLDER / name) for name in names)
