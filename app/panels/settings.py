"""Settings in the sidebar: Train, Stop, and the training form."""

from collections.abc import Sequence

import streamlit as st

from app.panels import backbone_dialog, data_sharing, upload_dialog
from app.runtime.services import Services
from app.state.current_view import RunView
from app.state.explore import UIState
from app.widgets import training_form
from app.widgets.markdown import escape_markdown
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError


def settings(ui: UIState, services: Services, run_view: RunView | None, only: Sequence[str] | None = None) -> None:
    """Render Train and Stop, messages, and the training form.

    With `only`, the selection of a lesson, no other settings are offered.
    """
    default = TrainConfig.model_fields["dataset"].default
    config = ui.config(available_dataset(services))
    if only is None and backbone_dialog.take_finished(ui, services, config.dataset):
        config = ui.config(available_dataset(services))
    if not services.may_train_on(config.dataset):
        ui.settings.pop("dataset", None)
        ui.messages.append("You cannot train on this data set; choose another in Data.")
        config = ui.config(available_dataset(services))
    train, stop = st.columns(2)
    with train:
        st.button("Train", type="primary", width="stretch", key="train", on_click=_train, args=(ui, services))
    with stop:
        live = run_view is not None and run_view.live
        st.button("Stop", width="stretch", key="stop", disabled=not live, on_click=_stop, args=(ui, services, run_view))
    for note in ui.messages:
        st.caption(f":orange[{escape_markdown(note)}]")
    if config.dataset != default and "dataset" not in ui.settings and only is None:
        default_title, dataset_title = DATASETS[default].title, DATASETS[config.dataset].title
        st.caption(f"{default_title} is not downloaded; using {dataset_title}. Select it to download.")
    if only is None:
        training_form.training_form(
            ui,
            config,
            services.trainable(),
            services.dataset_note(config.dataset),
            lambda: _below_data(ui, services, config.dataset),
        )
    else:
        training_form.selected_fields(ui, config, services.trainable(), only)


def available_dataset(services: Services) -> str:
    """Name of the default data set if it is on disk, otherwise of the first that is."""
    available, preferred = services.available(), TrainConfig.model_fields["dataset"].default
    return preferred if preferred in available else available[0]


def _below_data(ui: UIState, services: Services, dataset: str) -> None:
    with st.container(horizontal=True, gap=None, key="more-data"):
        upload_dialog.upload_button()
        backbone_dialog.backbone_button(services, dataset)
    upload_dialog.upload_panel(ui, services)
    backbone_dialog.backbone_panel(ui, services, dataset)
    data_sharing.data_sharing(services, dataset)


def _train(ui: UIState, services: Services) -> None:
    """Train with the settings of now: the button may have been drawn before the last choice."""
    ui.messages.clear()
    try:
        ui.show(services.jobs.submit(ui.config(available_dataset(services))))
        services.enforce_quota()
    except UserError as error:
        ui.messages.append(str(error))


def _stop(ui: UIState, services: Services, run_view: RunView) -> None:
    ui.messages.clear()
    if run_view.run.recorded:
        ui.messages.append("Another program trains this run; stop it there.")
        return
    if not services.jobs.stop(run_view.run.id) and services.jobs.status(run_view.run.id).phase == "running":
        ui.messages.append("Another user requested this run too; it keeps running.")
