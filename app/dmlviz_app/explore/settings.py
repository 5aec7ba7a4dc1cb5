"""Settings in the sidebar: Train, the training form, and who may train on a custom data set."""

from collections.abc import Sequence
from itertools import count
from urllib.parse import urlencode

import streamlit as st

from dmlviz.catalog.dataset_sources import SOURCES
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.nets import NETS
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.ownership import Visibility
from dmlviz_app.explore import backbone_dialog, starting_point, training_form, upload_dialog
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.forms.training_settings import FORM
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.people.personal_runs import SHARING
from dmlviz_app.server.host_name import public_address
from dmlviz_app.server.housekeeping import enforce_quota
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.account import SHARE
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.workbench.current_view import RunView
from dmlviz_app.workbench.progress_panel import uncover_map

REPLAYED = "train.replayed"  # ID of the run that Train showed again
REPLAYS = "train.replays"  # how often it did
LABELS: dict[Visibility, str] = {"private": "Only you", "link": "Everyone with the link", "public": "Everyone"}


def settings(ui: UIState, services: Services, run_view: RunView | None, only: Sequence[str] | None = None) -> None:
    """Render Train, messages, and the training form.

    With `only`, the selection of a lesson, no other settings are offered.
    """
    default = TrainConfig.model_fields["dataset"].default
    config = ui.config(services.datasets.default())
    with error_boundary("The new data set"):
        if only is None and backbone_dialog.take_finished(ui, services, config.dataset):
            st.rerun()  # the page is drawn before, and names the data set
    if not services.datasets.may_train_on(config.dataset):
        ui.settings.pop("dataset", None)
        ui.messages.say("set.dataset", "You cannot train on this data set; choose another in Data.")
        st.rerun()
    with error_boundary("Train"):
        if only is None:
            with st.container(key="next-training"):
                st.markdown("**Next training**")
        button("Train", type="primary", width="stretch", key="train", on_click=_train, args=(ui, services))
    with error_boundary("The notes"):
        notes(ui, services, run_view)
        if config.dataset != default and "dataset" not in ui.settings and only is None:
            default_title, dataset_title = DATASETS[default].title, DATASETS[config.dataset].title
            st.caption(f"{default_title} is not downloaded; using {dataset_title}. Select it to download.")
    if only is None:
        with error_boundary("The starting point"):
            starting_point.starting_point(ui, services, run_view, config)
        with error_boundary("The choice of data"):
            datasets = services.datasets
            training_form.data_field(ui, config, datasets.trainable(), datasets.note(config.dataset))
        _below_data(ui, services, config.dataset)
        training_form.training_form(ui, config, services.jobs.misfit)
    else:
        training_form.selected_fields(ui, config, services.datasets.trainable(), only)


def summary_line(ui: UIState, services: Services, run_view: RunView | None) -> None:
    """Render what would be trained, which opens the settings (`welcome/help.ts`), and Train, while they are closed."""
    config = ui.config(services.datasets.default())
    names = DATASETS[config.dataset].title, LOSSES[config.loss].title, NETS[config.net].title
    with st.container(key="summary", horizontal=True, width="content", gap="small"):
        button(" · ".join(names), key="open-settings", type="tertiary", help="Settings", on_click=lambda: None)
        button("Train", type="primary", key="train.top", on_click=_train, args=(ui, services))


def notes(ui: UIState, services: Services, run_view: RunView | None, key: str = "") -> None:
    """Render what Train has to say."""
    config = ui.config(services.datasets.default())
    ui.messages.show("train")
    if run_view is not None and run_view.run.id == config.id == st.session_state.get(REPLAYED):
        _replayed(ui, services, config, key)


def _below_data(ui: UIState, services: Services, dataset: str) -> None:
    with error_boundary("Upload"), st.container(horizontal=True, gap=None, key="more-data"):
        upload_dialog.upload_button()
        if dataset in SOURCES and services.datasets.note(dataset):  # it would be downloaded
            upload_dialog.choose_files_button()
        with error_boundary("Pretrained backbone"):
            backbone_dialog.backbone_button(services, dataset)
    with error_boundary("Upload"):
        upload_dialog.upload_panel(ui, services)
    with error_boundary("Pretrained backbone"):
        backbone_dialog.backbone_panel(ui, services, dataset)
    with error_boundary("Who may train on it"):
        data_sharing(services, dataset)


def _replayed(ui: UIState, services: Services, config: TrainConfig, key: str) -> None:
    """Say that Train trained nothing, and offer what differs by chance alone."""
    seed = next(seed for seed in count(config.seed + 1) if not services.jobs.is_trained(config.replace(seed=seed)))

    def train_again() -> None:
        ui.set("seed", seed)
        _train(ui, services)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Already trained; replayed.", width="content")
        button(f"Train again with seed {seed}", key=f"train.again{key}", on_click=train_again)


def _train(ui: UIState, services: Services) -> None:
    """Train with the settings of now: the button may have been drawn before the last choice."""
    for place in ui.messages.refused():
        ui.messages.say("train", ui.messages.all()[place])
        return
    ui.messages.forget(*FORM)
    st.session_state.pop(REPLAYED, None)
    config = ui.config(services.datasets.default())
    try:
        is_trained = services.jobs.is_trained(config)
        ui.show(services.jobs.train(config), keeps_map=True)
        if is_trained:
            st.session_state[REPLAYED] = config.id
            st.session_state[REPLAYS] = st.session_state.get(REPLAYS, 0) + 1
        enforce_quota(services)
        uncover_map()
    except UserError as error:
        ui.messages.say("train", error, lambda: (ui.cause("train"), services.jobs.may_train(config)))


def data_sharing(services: Services, dataset: str) -> None:
    """Render who may train on a data set, and its link, for its owner."""
    person = services.person
    entry = services.data_owners.entry(dataset, person.id)
    levels = [name for name, action in SHARING.items() if person.may(action)]
    if entry is None or len(levels) == 1:
        return

    def share(visibility: Visibility) -> None:
        services.data_owners.share(dataset, person.id, visibility)

    bound_widget(
        st.selectbox,
        "Who may train on it",
        f"data.shared.{dataset}",
        entry.visibility,
        share,
        options=[*levels, *([] if entry.visibility in levels else [entry.visibility])],
        format_func=LABELS.__getitem__,
    )
    if entry.key:
        address = public_address(st.context.url or "", services.settings.host)
        st.code(f"{address}?{urlencode({'dataset': dataset, SHARE: entry.key})}", language=None, wrap_lines=True)
