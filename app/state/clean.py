"""State of the page Clean: the run by which training data are looked through, and decisions about its images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.runtime.people import Role
from app.runtime.services import Services
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import num_train_images
from dmlviz.data.corrections import Corrections, deciding, load_corrections
from dmlviz.errors import UserError
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.storage.files import is_run_id

KEY = "clean"
COMPARED = ("precision_at_1", "map_at_r", "knn_accuracy", "nearest_mean_accuracy")


@dataclass
class CleanState:
    """Id of the run (None for the newest that can be used), and the sentence about what could not be done.

    `received` is the number of the last action of the review sheet.
    """

    run: str | None = None
    note: str = ""
    received: int = 0
    last_query: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters."""
        return {} if self.run is None else {"run": self.run}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "CleanState":
        """Decode URL parameters; invalid ones are ignored."""
        return cls(query["run"] if is_run_id(query.get("run")) else None)

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
            if not may_correct(services):
                raise UserError("Only a teacher corrects labels for everybody on this server.")
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


def may_correct(services: Services) -> bool:
    """Whether this person's corrections may change what everybody here trains on."""
    return services.person.alone or services.person.may(Role.TEACHER)


def usable_runs(services: Services) -> list[Run]:
    """Finished runs with a net whose data set is on disk, the newest first."""
    available = set(services.available())
    return [
        run
        for run in services.runs.list()
        if run.config.dataset in available and run.state == "finished" and (run.path / "weights.safetensors").exists()
    ]


def corrected_config(config: TrainConfig, corrections: Corrections) -> TrainConfig | None:
    """The settings of a run with the corrections so far; None where they change nothing."""
    changed = config.replace(corrections=corrections.revision)
    return None if changed == config else changed


def scores_before_and_after(run: Run, changed: TrainConfig, services: Services) -> list[dict[str, float | None]]:
    """Scores on the test images of the run and of the one with the corrections, which has none before its end."""
    try:
        after: Run | None = services.runs.get(changed.id)
    except RunNotFoundError:
        after = None
    return [{} if one is None else {key: one.score(key) for key in COMPARED} for one in (run, after)]
