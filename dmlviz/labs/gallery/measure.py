"""A gallery of identities: enrolled, asked for, or unknown; and digits that a net never saw."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.data.dataset import Split
from dmlviz.labs.gallery import (
    ENROLLED,
    EXAMPLES,
    EXAMPLES_OF_KNOWN,
    FALSE_ALARM_RATE,
    FALSE_ALARMS,
    NEWCOMERS,
)
from dmlviz.labs.kept_arrays import images_id
from dmlviz.labs.training import embed, embed_test_images, train_net
from dmlviz.metrics.verification import Identification, identification
from dmlviz.ops.gallery import Gallery, Rule
from dmlviz.studies.trial import Trial, TrialContext

ENROLLED_PICTURES = 3  # of each identity, one of each camera from 1
SHOWN = 12
DRAWS = 50  # of the examples of newcomers


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Do the part of the lab that the trial names: "identities" or "newcomers"."""
    return _newcomers(trial, context) if trial.settings["part"] == "newcomers" else _identities(trial, context)


def _identities(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Enroll test identities, ask for all others too.

    Returns:
        `identified` at each of `FALSE_ALARMS`; by rule ("nearest", "mean") `closed_accuracy` and `at_one_percent`; the
        same by number of the `ENROLLED`, with the nearest picture; `images`.
    """
    data = load(trial.dataset, context.data_root)
    embeddings = embed_test_images(trial.settings["fields"], data, context)
    nearest = _enroll(embeddings, data.test, max(ENROLLED), "nearest")[0]
    rates = [nearest.at(rate) for rate in FALSE_ALARMS]
    context.report(0.95, identified=rates)
    answers = {"nearest": nearest, "mean": _enroll(embeddings, data.test, max(ENROLLED), "mean")[0]}
    growth = [_enroll(embeddings, data.test, count, "nearest")[0] for count in ENROLLED]
    _keep_answers(embeddings, data.test, context)
    return {
        "identified": rates,
        "closed_accuracy": {rule: answer.closed_accuracy for rule, answer in answers.items()},
        "at_one_percent": {rule: answer.at(FALSE_ALARM_RATE) for rule, answer in answers.items()},
        "growth": {
            "closed_accuracy": [answer.closed_accuracy for answer in growth],
            "at_one_percent": [answer.at(FALSE_ALARM_RATE) for answer in growth],
        },
        "images": images_id(data),
        "made_from": data.note,
    }


def _enroll(
    embeddings: np.ndarray, test: Split, count: int, rule: Rule
) -> tuple[Identification, np.ndarray, np.ndarray, np.ndarray]:
    """Enroll the first identities and ask for every other picture.

    Returns:
        The answers at every threshold; indices of the probes, their distances, and whether the nearest name is right.
    """
    identities = np.unique(test.labels)
    members = set(identities[:count].tolist())
    gallery, in_gallery = Gallery(rule), np.zeros(len(test.labels), bool)
    for identity in identities[:count]:
        of_identity = np.flatnonzero((test.labels == identity) & (test.roles["camera"] > 0))
        rows = of_identity[:ENROLLED_PICTURES]
        gallery.add(str(identity), embeddings[rows])
        in_gallery[rows] = True
    probes = np.flatnonzero(~in_gallery)
    answers = gallery.ask(embeddings[probes])
    right = np.array(answers.names) == test.labels[probes].astype(str)
    is_known = np.isin(test.labels[probes], list(members))
    return identification(answers.distances, right, is_known), probes, answers.distances, right


def _keep_answers(embeddings: np.ndarray, test: Split, context: TrialContext) -> None:
    """Keep some probes with the picture that is nearest: unknown ones that got a name, and known ones that got none."""
    identities = np.unique(test.labels)
    answers, probes, distances, right = _enroll(embeddings, test, max(ENROLLED), "nearest")
    is_known = np.isin(test.labels[probes], identities[: max(ENROLLED)])
    threshold = answers.threshold_at(FALSE_ALARM_RATE)
    gallery = np.setdiff1d(np.arange(len(test.labels)), probes)
    alarms = np.flatnonzero(~is_known & (distances <= threshold))
    false_rejections = np.flatnonzero(is_known & right & (distances > threshold))
    rows = np.concatenate(
        [
            alarms[np.argsort(distances[alarms])][:SHOWN],
            false_rejections[np.argsort(-distances[false_rejections])][:SHOWN],
        ]
    )
    squared = ((embeddings[probes[rows]][:, None] - embeddings[gallery]) ** 2).sum(axis=-1)
    np.savez_compressed(
        context.folder / "answers.npz",
        probe=probes[rows].astype(np.int32),
        nearest=gallery[squared.argmin(axis=1)].astype(np.int32),
        known=is_known[rows],
        distance=distances[rows].astype(np.float32),
        threshold=np.float32(threshold),
    )


def _newcomers(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train without some digits, then add them to a gallery by a few examples.

    Returns:
        `newcomers` and `known`: accuracy of the nearest mean by number of examples of a newcomer, among all ten digits;
        `classifier`: accuracy of the nearest mean without the newcomers, on their pictures, which is 0.
    """
    data = load(trial.dataset, context.data_root)
    config = TrainConfig(dataset=trial.dataset, held_out_classes=NEWCOMERS, **trial.settings["fields"])
    net = train_net(config, data, context, share=(0.0, 0.8))
    examples, queries = (embed(net, split.images, data) for split in (data.train, data.test))
    rng = np.random.default_rng(0)
    is_new = np.isin(data.test.labels, NEWCOMERS)
    true_names = data.test.labels.astype(str)
    accuracies: dict[str, list[float]] = {"newcomers": [], "known": []}
    accuracy = 0.0
    for count in EXAMPLES:
        right = np.zeros(len(true_names))
        for _ in range(DRAWS):
            gallery = Gallery("mean")
            for label in range(len(data.classes)):
                members = np.flatnonzero(data.train.labels == label)
                rows = rng.choice(members, count if label in NEWCOMERS else EXAMPLES_OF_KNOWN, replace=False)
                gallery.add(str(label), examples[rows])
            right += np.array(gallery.ask(queries).names) == true_names
        accuracies["newcomers"].append(float(right[is_new].mean() / DRAWS))
        accuracies["known"].append(float(right[~is_new].mean() / DRAWS))
        for label in NEWCOMERS:
            gallery.remove(str(label))
        accuracy = float(np.mean(np.array(gallery.ask(queries[is_new]).names) == true_names[is_new]))
    return {**accuracies, "classifier": accuracy}
