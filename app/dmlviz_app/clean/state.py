"""State of the page Clean: the run by which training data are looked through, and decisions about its images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.record import CleaningRecord, cleaning
from dmlviz.config import TrainConfig
from dmlviz.data import num_train_images
from dmlviz.data.corrections import Corrections, deciding, load_corrections
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.storage.files import is_run_id
from dmlviz_app.people.policy import Action
from dmlviz_app.server.services import Services

KEY = "page.clean"
CHOSEN_BY = "precision_at_1"  # of validation images
COMPARED = ("precision_at_1", "map_at_r", "knn_accuracy", "nearest_mean_accuracy")


@dataclass
class CleanState:
    """Data set and run (None for the best that can be used), and the sentence about what could not be done.

    `received` is the number of the last action of the review sheet.
    """

    dataset: str | None = None
    run: str | None = None
    note: str = ""
    received: int = 0
    last_query: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters."""
        chosen = {"run": self.run} if self.run is not None else {"dataset": self.dataset}
        return {name: value for name, value in chosen.items() if value is not None}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "CleanState":
        """Decode URL parameters; invalid ones are ignored."""
        return cls(query.get("dataset"), query["run"] if is_run_id(query.get("run")) else None)

    def select(self, dataset: str, run: str | None = None) -> None:
        """Select a data set, and a run of it (None for the best)."""
        self.dataset, self.run, self.note = dataset, run, ""

    def search(self, wish: str | None, run: Run, services: Services) -> None:
        """Start or stop the search through the training data, as the review sheet asks; on failure set `note`."""
        self.note = ""
        try:
            if wish == "start":
                services.jobs.submit(cleaning(services.store, run))
            elif wish == "stop":
                services.jobs.stop(CleaningRecord.of(run, services.store))
        except UserError as error:
            self.note = str(error)

    def decide(self, actions: Sequence[Mapping[str, Any]], run: Run, services: Services) -> None:
        """Keep decisions about training images; on failure set `note`.

        Args:
            actions: As `NumberedAction`; those received before are skipped.
            run: By which the images are looked through.
            services: As the person may use them.
        """
        self.note = ""
        dataset = run.config.dataset
        try:
            if not services.person.may(Action.CORRECT):
                raise UserError("Only a teacher corrects labels for all on this server.")
            images = num_train_images(dataset, services.data)
            with deciding(services.data, dataset):  # the next action may come while this one is being saved
                for numbered in actions:
                    if numbered["number"] > self.received:
                        self.received = numbered["number"]
                        self._decide(numbered["action"], dataset, images, services)
        except (UserError, TypeError, ValueError, KeyError) as error:
            self.note = str(error)

    def _decide(self, action: Mapping[str, Any], dataset: str, images: int, services: Services) -> None:
        corrections = load_corrections(services.data, dataset).decide(
            int(action.get("image", -1)),
            str(action.get("action", "")),
            images,
            len(DATASETS[dataset].classes),
            action.get("label"),
            action.get("tag"),
        )
        corrections.save(services.data)


def usable_runs(services: Services) -> dict[str, list[Run]]:
    """Return ended runs with a net by data set that is on disk, the newest first; of each the best run first.

    The best has the highest score on validation images; the others, and runs without it, follow by their age.
    """
    runs = [run for run in services.runs.list() if why_not(run, services) is None]
    by_dataset: dict[str, list[Run]] = {run.config.dataset: [] for run in runs}
    for run in runs:
        by_dataset[run.config.dataset].append(run)
    return {name: sorted(some, key=lambda run: -(validation_score(run) or 0)) for name, some in by_dataset.items()}


def why_not(run: Run, services: Services) -> str | None:
    """Return why a run cannot look through its training data; None if it can."""
    if not DATASETS[run.config.dataset].trainable:
        return (
            f"{run.title} has vectors and no net here: Clean looks through training images by the nets of a run. In "
            "Explore a click on a score, as P@1, selects what has neighbors of another class."
        )
    if run.config.dataset not in services.datasets.available():
        return f"The images of {run.title} are not on disk here, so they cannot be looked through."
    if (run.path / "weights.safetensors").exists() and run.state in ("finished", "stopped"):
        return None
    return str(run.lacks("net to look through its training data with"))


def validation_score(run: Run) -> float | None:
    """Return the score by which the best run is chosen; None without validation images, or where it cannot be read."""
    try:
        return run.validation_metrics.get(CHOSEN_BY)
    except DamagedFileError:
        return None


def corrected_config(config: TrainConfig, corrections: Corrections) -> TrainConfig | None:
    """Return the settings of a run with the corrections so far; None if they change nothing."""
    changed = config.replace(corrections=corrections.revision)
    return None if changed == config else changed


def scores_before_and_after(run: Run, changed: TrainConfig, services: Services) -> list[dict[str, float | None]]:
    """Return the scores on test images of a run and of the one with the corrections, which has none before its end."""
    try:
        after: Run | None = services.runs.get(changed.id)
    except RunNotFoundError:
        after = None
    return [{} if one is None else {key: one.score(key) for key in COMPARED} for one in (run, after)]
