"""A person's choice of a backbone: its validity, the computation, its status in words, and its result."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.backbones import BACKBONES, BackboneSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import backbone_weights
from dmlviz.errors import UserError
from dmlviz_app.forms.training_settings import TrainingDraft
from dmlviz_app.people import policy
from dmlviz_app.server.feature_jobs import FeaturesRequest, FeaturesStatus
from dmlviz_app.server.services import Services

Source = Literal["kept", "download", "upload", "path"]
"""A source of weights: the data folder, the library, the person's browser, a path on the server's machine."""

SOURCES: dict[Source, str] = {
    "kept": "Used before",
    "download": "Download",
    "upload": "Upload",
    "path": "File on this machine",
}


@dataclass(frozen=True, kw_only=True)
class BackboneChoice:
    """A person's choice of a backbone.

    Attributes:
        dataset: Name of the data set of images.
        backbone: Name of the backbone.
        source: The source of its weights.
        kept: Digits of weights in the data folder.
        path: Path of a file on this machine.
        title: Title of the new data set; may be empty.
    """

    dataset: str
    backbone: str
    source: Source
    kept: str = ""
    path: str = ""
    title: str = ""


def takes_backbone(dataset: str) -> bool:
    """Return whether a data set holds images for a backbone to see, and not features already."""
    spec = DATASETS[dataset]
    return spec.trainable and spec.features is None


def sources(services: Services, backbone: str) -> list[Source]:
    """Return the sources from which this person may take weights; a path only on a server for one person."""
    sources: list[Source] = ["kept"] if known_weights(services, backbone) else []
    by_path: list[Source] = ["path"] if services.person.may(policy.READ_FILES) else []
    return [*sources, "download", "upload", *by_path]


def known_weights(services: Services, backbone: str) -> dict[str, str]:
    """Titles of the weights in the data folder, by their digits: those of data sets that this person may train on."""
    titles: dict[str, str] = {}
    for name in custom_datasets.list_names(services.data):
        features = DATASETS[name].features if name in DATASETS and services.datasets.may_train_on(name) else None
        if features is not None and features.backbone == backbone:
            titles.setdefault(features.weights, DATASETS[name].title)
    files = backbone_weights.kept_weights(services.data, backbone)
    return {
        digest: f"{titles[digest]} ({digest[:6]})" if digest in titles else digest[:6]
        for digest in files
        if digest in titles or services.person.may(policy.READ_FILES)
    }


def missing_library(spec: BackboneSpec) -> str:
    """Return the instruction to install a backbone's missing library; empty if nothing is missing."""
    if find_spec(spec.library) is not None:
        return ""
    extra = "'dmlviz[timm]'" if spec.library == "timm" else spec.library
    return f"{spec.title} is a net of {spec.library}, which is not installed here: pip install {extra}."


def start(services: Services, choice: BackboneChoice) -> None:
    """Start or queue the computation.

    Raises:
        UserError: For a choice that is not complete, or where this person may not do it.
    """
    spec, person = BACKBONES[choice.backbone], services.person
    if choice.source not in sources(services, choice.backbone):
        raise UserError(f"Weights of {spec.title} cannot come from there here; choose another source.")
    if reason := missing_library(spec):
        raise UserError(reason)
    weights = None
    if choice.source == "upload":
        weights = reusable_upload(services, choice.backbone)
        if weights is None:
            raise UserError(f"Choose the file with the weights of {spec.title}, or let them be downloaded.")
    elif choice.source == "path":
        weights = Path(choice.path.strip()).expanduser()
        if not choice.path.strip() or not weights.is_file():
            raise UserError(f"Give the path of a file with the weights of {spec.title}; got {choice.path[:200]!r}.")
    elif choice.source == "kept":
        if choice.kept not in known_weights(services, choice.backbone):
            raise UserError("These weights are no longer in the data folder; choose others.")
        weights = backbone_weights.weights_file(services.data, choice.backbone, choice.kept)
    services.jobs.check_training(choice.dataset, services.features.folder_of(person))
    request = FeaturesRequest(
        dataset=choice.dataset,
        backbone=choice.backbone,
        weights=weights,
        title=choice.title,
    )
    services.features.start(person, request, lambda: services.room()[0])


def last_choice(services: Services) -> BackboneChoice | None:
    """Return the request of this person's computation, as far as it is known after a reload of the page."""
    status = services.features.status(services.person)
    if status is None or status.backbone not in BACKBONES:
        return None
    choice = BackboneChoice(dataset=status.dataset, backbone=status.backbone, source="download", title=status.title)
    weights = status.weights
    if weights is None:
        return choice
    if weights.is_relative_to(services.features.folder_of(services.person).resolve()):
        return replace(choice, source="upload")
    for digest in backbone_weights.kept_weights(services.data, status.backbone):
        if weights == backbone_weights.weights_file(services.data, status.backbone, digest).resolve():
            return replace(choice, source="kept", kept=digest)
    return replace(choice, source="path", path=str(weights)) if services.person.may(policy.READ_FILES) else choice


def go_on(services: Services) -> None:
    """Resume a stopped computation; raise UserError where this person may not."""
    status = services.features.status(services.person)
    if status is not None:
        services.jobs.check_training(status.dataset, services.features.folder_of(services.person))
    services.features.go_on(services.person, lambda: services.room()[0])


def take_finished(ui: TrainingDraft, services: Services, pictures: str | None, last: str = "") -> str:
    """Select the data set of a computation that has finished.

    Args:
        ui: The settings of the next training.
        services: The services as this person has them.
        pictures: The data set that is selected: features of another one do not take its place. None for any.
        last: Last result of this function on the same page.

    Returns:
        A word for this computation; `last` where there is no other.
    """
    result = services.features.take(services.person, pictures)
    if result is None or result[1] == last:
        return last
    ui.set("dataset", result[0])
    return result[1]


def put_aside(services: Services) -> str:
    """Keep the data set of a computation that has finished, not selected; return its word, as `take_finished` does."""
    result = services.features.take(services.person)
    return "" if result is None else result[1]


def reusable_upload(services: Services, backbone: str) -> Path | None:
    """Return the file that was uploaded before, unless this very backbone could do nothing with it."""
    status = services.features.status(services.person)
    if status is not None and status.phase == "failed" and status.backbone == backbone and not status.done:
        return None
    return services.features.last_upload(services.person)


def heading(status: FeaturesStatus) -> str:
    """Return a short title of the computation."""
    return f"{BACKBONES[status.backbone].title} on {DATASETS[status.dataset].title}"


def progress_text(status: FeaturesStatus) -> str:
    """Return its progress in words."""
    images = f"{status.done:,} of {status.images:,} images" if status.images else ""
    if status.phase == "queued":
        return f"Waiting, {status.position} of {status.of} in the queue"
    if status.phase == "stopping":
        return "Stopping"
    if status.result:
        return "Ready"
    if status.is_live:
        left = "" if status.left is None or not status.left else f", {duration(status.left)} left"
        return f"{images}{left}" if images else "Reading images and weights"
    verb = "Failed" if status.phase == "failed" else "Stopped"
    return f"{verb} at {images}" if images else verb


def duration(seconds: float) -> str:
    """Return a time in its largest unit, rounded up.

    Examples:
        >>> duration(4.2), duration(200), duration(9000)
        ('5 s', '4 min', '2.5 h')
    """
    if seconds <= 60:
        return f"{max(1, -int(-seconds // 1))} s"
    if seconds < 3600:
        return f"{-int(-seconds // 60)} min"
    return f"{seconds / 3600:.1f} h"
