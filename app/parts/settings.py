"""The sidebar: Train, Stop, and everything that a training can be told."""

from collections.abc import Sequence

import streamlit as st

from app import widgets
from app.identity import owner
from app.parts import own_data
from app.services import Services
from app.shown import Shown
from app.state import UIState
from app.words import plain
from dmlviz.config import TrainConfig
from dmlviz.data.declared import DATASETS
from dmlviz.errors import UserError


def settings(ui: UIState, services: Services, shown: Shown | None, only: Sequence[str] | None = None) -> None:
    """Train and Stop first, so that they are always at hand; what could not be done is said below them.

    With `only`, a lesson's choice, no other settings than these are offered.
    """
    available = services.available()
    preferred = TrainConfig.model_fields["dataset"].default
    config = ui.config(stand_in(services))
    train, stop = st.columns(2)
    with train:
        st.button("Train", type="primary", width="stretch", key="train", on_click=_train, args=(ui, services, config))
    with stop:
        live = shown is not None and shown.live
        st.button("Stop", width="stretch", key="stop", disabled=not live, on_click=_stop, args=(ui, services, shown))
    for note in ui.notes:
        st.caption(f":orange[{plain(note)}]")
    if config.dataset != preferred and "dataset" not in ui.settings and only is None:
        wanted, set_up = DATASETS[preferred].title, DATASETS[config.dataset].title
        st.caption(f"{wanted} is not on this machine yet, so {set_up} is set. Choosing it downloads it once.")
    if only is None:
        widgets.training(ui, config, available, lambda: own_data.own_data(ui, services))
    else:
        widgets.some(ui, config, only)


def stand_in(services: Services) -> str:
    """The data set that is trained on while none is chosen: the usual one where it is on disk."""
    available, preferred = services.available(), TrainConfig.model_fields["dataset"].default
    return preferred if preferred in available else available[0]


def _train(ui: UIState, services: Services, config: TrainConfig) -> None:
    ui.notes.clear()
    try:
        ui.show(services.jobs.submit(config, owner()))
        services.tidy()
    except UserError as error:
        ui.notes.append(str(error))


def _stop(ui: UIState, services: Services, shown: Shown) -> None:
    ui.notes.clear()
    if not services.jobs.stop(shown.run.id, owner=owner()) and services.jobs.status(shown.run.id).phase == "running":
        ui.notes.append("Somebody else asked for this run too, so it goes on.")
