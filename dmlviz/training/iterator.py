"""A training as an iterator of its events, which a notebook shows as a live map."""

from collections.abc import Iterator
from typing import Self

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset
from dmlviz.errors import UserError
from dmlviz.parts import DISPLAYS
from dmlviz.training.events import Event


class Training(Iterator[Event]):
    """The events of a training, in order; closing it stops the training.

    At the end of a cell of a notebook it is shown as a live map: see `dmlviz.show`.

    Attributes:
        config: The settings.
        data: The data set, if it was given.
    """

    def __init__(self, events: Iterator[Event], config: TrainConfig, data: Dataset | None) -> None:
        self._events, self._begun = events, False
        self.config, self.data = config, data

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        from dmlviz.ops.torch_state import own_state

        self._begun = True
        with own_state():  # not around the whole: between two events the caller computes
            return next(self._events)

    def close(self) -> None:
        """Stop the training."""
        close = getattr(self._events, "close", None)
        if close is not None:
            close()

    def take(self) -> None:
        """Return the training to its caller, once; raise UserError if it has begun."""
        if self._begun:
            raise UserError("This training has begun and cannot be shown any more; call dmlviz.train again.")
        self._begun = True
        self.close()

    def _ipython_display_(self) -> None:
        """Show the map where a notebook asks for more than text."""
        if self._begun or not _in_notebook():
            raise NotImplementedError  # upon which IPython shows the text
        DISPLAYS["map"](self)._ipython_display_()


def _in_notebook() -> bool:
    """Return whether a kernel runs this, as opposed to a terminal."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None
