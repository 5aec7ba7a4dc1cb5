"""A training within a trial: it reports its share, stops when asked, and says why it failed."""

from collections.abc import Callable
from typing import Any

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset
from dmlviz.errors import UserError
from dmlviz.studies.trial import TrialContext, TrialStoppedError
from dmlviz.training.events import Failed, Finished, Snapshot, Step, Stopped
from dmlviz.training.loop import train


def train_to_the_end(
    config: TrainConfig,
    data: Dataset,
    context: TrialContext,
    on_snapshot: Callable[[Snapshot], dict[str, Any]] = lambda snapshot: {},
    on_step: Callable[[Step], object] = lambda step: None,
    share: tuple[float, float] = (0.0, 1.0),
) -> Finished:
    """Train, and return the end with the embeddings of all test images.

    Args:
        config: The settings.
        data: The data set.
        context: Gets the share that is done; says when to stop.
        on_snapshot: Returns what to report of a snapshot besides the share.
        on_step: Called after each step.
        share: Which part of the trial this training is.

    Raises:
        UserError: If the training diverged.
        TrialStoppedError: If the trial was asked to stop.
    """
    begin, end = share
    for event in train(config, data=data, stop=context.stop):
        if isinstance(event, Failed):
            raise UserError(event.reason)
        if isinstance(event, Stopped):
            raise TrialStoppedError
        if isinstance(event, Finished):
            return event
        if isinstance(event, Step):
            on_step(event)
        if isinstance(event, Snapshot):
            context.report(begin + (end - begin) * event.step / config.steps, **on_snapshot(event))
    raise TrialStoppedError
