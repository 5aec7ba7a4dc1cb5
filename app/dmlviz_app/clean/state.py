"""State of the page Clean: the run by which training data are looked through, and decisions about its images."""

from collections.abc import Sequence
from dataclasses import dataclass

from dmlviz.catalog.datasets import DATASETS
from dmlviz.cleaning.decisions import num_reviewed
from dmlviz.config import TrainConfig
from dmlviz.data.corrections import Corrections, deciding, load_corrections
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz_app.clean import CORRECT
from dmlviz_app.clean.protocol import ReviewAction
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.address import TEXT, Address, Param, UrlState, run_type

KEY = "page.clean"
CHOSEN_BY = "precision_at_1"  # of validation images
COMPARED = ("precision_at_1", "map_at_r", "knn_accuracy", "nearest_mean_accuracy")


@dataclass
class CleanState(UrlState):
    """Data set and run; None for the best that can be used."""

    dataset: str | None = None
    run: str | None = None
    last_query: dict[str, str] | None = None

    ADDRESS = Address(
        Param("run", run_type("The address names a run that cannot exist.")),
        Param("dataset", TEXT, get=lambda state: None if state.run else state.dataset),
    )

    def select(self, dataset: str, run: str | None = None) -> None:
        """Select a data set, and a run of it (None for the best)."""
        self.dataset, self.run = dataset, run


def decide(actions: Sequence[ReviewAction], run: Run, services: Services) -> None:
    """Keep decisions about training images, in their order: all, or none where one cannot be.

    Raises:
        UserError: If the person may not correct labels, or the data set has no such image or label.
    """
    if not services.person.may(CORRECT):
        raise UserError("Only a teacher corrects labels for all on this server.")
    dataset = run.config.dataset
    images, classes = num_reviewed(run, services.data), len(DATASETS[dataset].classes)
    with deciding(services.data, dataset):
        corrections = load_corrections(services.data, dataset)
        for one in actions:
            corrections = corrections.decide(one["image"], one["action"], images, classes, one["label"], one["tag"])
        corrections.save(services.data)


def usable_runs(services: Services) -> dict[str, list[Run]]:
    """Return ended runs that can be used by data set, the newest first; of each the best run first.

    They have a net and images on disk, or own vectors. The best has the highest score on validation images; the others,
    and runs without it, follow by their age.
    """
    runs = [run for run in services.runs.list() if why_not(run, services) is None]
    by_dataset: dict[str, list[Run]] = {run.config.dataset: [] for run in runs}
    for run in runs:
        by_dataset[run.config.dataset].append(run)
    return {name: sorted(some, key=lambda run: -(validation_score(run) or 0)) for name, some in by_dataset.items()}


def has_own_vectors(run: Run) -> bool:
    """Return whether another program has made the embeddings, so that they themselves are looked through."""
    return not DATASETS[run.config.dataset].trainable


def why_not(run: Run, services: Services) -> str | None:
    """Return why a run cannot look through its training data; None if it can."""
    if has_own_vectors(run):
        return None if run.state != "running" and run.embedded_steps else str(run.lacks("vectors to look through"))
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
