"""Settings in the sidebar: Train, Stop, and the training form."""

from collections.abc import Sequence

import streamlit as st

from app.panels import data_sharing, upload_dialog
from app.runtime.services import Services
from app.state.current_view import RunView
from app.state.explore import UIState
from app.widgets import training_form
from app.widgets.markdown import escape_markdown
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError


def settings(ui: UIState, services: Services, shown: RunView | None, only: Sequence[str] | None = None) -> None:
    """Render Train and Stop, messages, and the training form.

    With `only`, the selection of a lesson, no other settings are offered.
    """
    available = services.available()
    preferred = TrainConfig.model_fields["dataset"].default
    config = ui.config(available_dataset(services))
    if not services.may_train_on(config.dataset):
        ui.settings.pop("dataset", None)
        ui.messages.append("You cannot train on this data set; choose another in Data.")
        config = ui.config(available_dataset(services))
    train, stop = st.columns(2)
    with train:
        st.button("Train", type="primary", width="stretch", key="train", on_click=_train, args=(ui, services, config))
    with stop:
        live = shown is not None and shown.live
        st.button("Stop", width="stretch", key="stop", disabled=not live, on_click=_stop, args=(ui, services, shown))
    for note in ui.messages:
        st.caption(f":orange[{escape_markdown(note)}]")
    if config.dataset != preferred and "dataset" not in ui.settings and only is None:
        wanted, set_up = DATASETS[preferred].title, DATASETS[config.dataset].title
        st.caption(f"{wanted} is not downloaded; using {set_up}. Select it to download.")
    if only is None:
        training_form.training_form(
            ui, config, services.trainable(), available, lambda: _below_data(ui, services, config.dataset)
        )
    else:
        training_form.selected_fields(ui, config, services.trainable(), only)


def available_dataset(services: Services) -> str:
    """Name of the default data set if it is on disk, otherwise of the first that is."""
    available, preferred = services.available(), TrainConfig.model_fields["dataset"].default
    return preferred if preferred in available else available[0]


def _below_data(ui: UIState, services: Services, dataset: str) -> None:
    upload_dialog.upload_button(ui, services)
    data_sharing.data_sharing(services, dataset)


def _train(ui: UIState, services: Services, config: TrainConfig) -> None:
    ui.messages.clear()
    try:
        ui.show(services.jobs.submit(config))
        services.enforce_quota()
    except UserError as error:
        ui.messages.append(str(error))


def _stop(ui: UIState, services: Services, shown: RunView) -> None:
    ui.messages.clear()
    if not services.jobs.stop(shown.run.id) and services.jobs.status(shown.run.id).phase == "running":
        ui.messages.append("Another user requested this run too; it keeps running.")
