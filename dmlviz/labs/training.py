"""A training within a trial: it reports its progress, stops on request, and gives the reason of a failure."""

from collections.abc import Callable
from typing import Any

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset
from dmlviz.errors import UserError
from dmlviz.studies.trial import TrialContext, TrialStoppedError
from dmlviz.training.events import Event, Failed, Finished, Snapshot, Stopping
from dmlviz.training.loop import train


def train_to_the_end(
    config: TrainConfig,
    data: Dataset,
    context: TrialContext,
    on_snapshot: Callable[[Snapshot], dict[str, Any]] = lambda snapshot: {},
    on_event: Callable[[Event], object] = lambda event: None,
    share: tuple[float, float] = (0.0, 1.0),
) -> Finished:
    """Train; return the last event, with the embeddings of all test images.

    Args:
        config: The settings.
        data: The data set.
        context: Gets the share that is done; says when to stop.
        on_snapshot: Returns what to report of a snapshot besides the share.
        on_event: Called with every event but the end.
        share: Part of the trial that this training is.

    Raises:
        UserError: If the training diverged.
        TrialStoppedError: If the trial was asked to stop.
    """
    begin, end = share
    for event in train(config, data=data, stop=context.stop):
        if isinstance(event, Failed):
            raise UserError(event.reason)
        if isinstance(event, Stopping):  # before the test images are scored, which would not be read
            raise TrialStoppedError
        if isinstance(event, Finished):
            return event
        on_event(event)
        if isinstance(event, Snapshot):
            context.report(begin + (end - begin) * event.step / config.steps, **on_snapshot(event))
    raise TrialStoppedError
