"""The same run with one thing changed, and presets of two: both are trained from the Compare page."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.compare import CompareState
from app.identity import owner
from app.services import Services
from app.widgets import DIMENSIONS, NO_MINER, OPTIMIZERS, SCHEDULES, SPACES
from app.words import plain
from dmlviz.config import TrainConfig
from dmlviz.data.declared import DATASETS, SAMPLERS
from dmlviz.errors import UserError
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS
from dmlviz.nets.declared import NETS
from dmlviz.record import Run

FIELDS = {
    "loss": "Loss",
    "miner": "Miner",
    "net": "Net",
    "embedding_dim": "Dimensions",
    "normalize": "Space",
    "sampler": "Batches",
    "classes_per_batch": "P classes",
    "images_per_class": "K images of each",
    "batch_size": "Batch size",
    "optimizer": "Optimiser",
    "learning_rate": "Learning rate",
    "schedule": "Schedule",
    "weight_decay": "Weight decay",
    "steps": "Steps",
    "seed": "Seed",
}
# Blind batches that decide what is compared, against balanced ones of as many images and an online miner.
CLASSICAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pairs": (
        {"loss": "contrastive", "sampler": "random_pairs", "batch_size": 160},
        {"loss": "contrastive", "sampler": "balanced", "classes_per_batch": 10, "images_per_class": 16},
    ),
    "triplets": (
        {"loss": "triplet", "sampler": "random_triplets", "batch_size": 160},
        {"loss": "triplet", "sampler": "balanced", "classes_per_batch": 10, "images_per_class": 16},
    ),
}
MENU = 300  # pixels
PRESETS = [(dataset, kind) for dataset in ("mnist", "fashion_mnist") for kind in CLASSICAL]


def menus(ui: CompareState, services: Services, run: Run) -> None:
    """The two ways to a training; they close when it begins, which is to be seen."""
    for label, content in MENUS.items():
        with st.popover(label, type="tertiary", key=_key(label), on_change="rerun"), st.container(width=MENU):
            content(ui, services, run)


def _key(label: str) -> str:
    return f"menu.{label}"


def changed(ui: CompareState, services: Services, run: Run) -> None:
    """Choose a field and a value, and train: the new run appears as the second one."""
    config = run.config
    st.caption(
        f"Everything as in {plain(run.title)}, but for one setting. The new run appears on the right while it learns."
    )
    name = st.selectbox("Setting", _fields(config), format_func=_title, key="change.field")
    value = _value(config, name)
    same = value == _now(config, name)
    st.button(
        "Train it",
        type="primary",
        width="stretch",
        disabled=same,
        help="This is the value that it has." if same else None,
        on_click=_train,
        args=(ui, services, run, name, value),
    )


def presets(ui: CompareState, services: Services, run: Run) -> None:
    """Classical against online mining: same net, dimensions, steps and seed."""
    st.caption(
        "How such nets were trained before batches were mined, beside how they are trained now: the same net, "
        "dimensions, steps, seed and (but for one image) as many images in a batch. Both are trained, in turn."
    )
    for dataset, kind in PRESETS:
        here = dataset in services.available()
        st.button(
            f"{DATASETS[dataset].title}, {kind}",
            width="stretch",
            key=f"preset.{dataset}.{kind}",
            help=None if here else "Not on this machine yet: it is fetched first.",
            on_click=_train_both,
            args=(ui, services, *preset(dataset, kind)),
        )


def preset(dataset: str, kind: str) -> tuple[TrainConfig, TrainConfig]:
    """The two trainings of a preset: the classical one, the one with online mining."""
    blind, mined = CLASSICAL[kind]
    second = TrainConfig(dataset=dataset, **mined)
    common = second.model_dump(include={"embedding_dim", "normalize", "net", "steps", "seed", "learning_rate"})
    return TrainConfig(dataset=dataset, **common | blind), second


def variant(config: TrainConfig, name: str, value: Any) -> TrainConfig:
    """The same settings with one changed, a field or loss.margin and the like; raise UserError where that cannot be."""
    role, dot, parameter = name.partition(".")
    if dot:
        return config.but(**{f"{role}_params": getattr(config, f"{role}_params") | {parameter: value}})
    return config.but(**{name: value})


def _fields(config: TrainConfig) -> list[str]:
    accepts, sampler = LOSSES[config.loss].given(config.loss_params).accepts, SAMPLERS[config.sampler]
    left_out = set() if accepts and not sampler.makes else {"miner"}
    left_out |= {"batch_size"} if sampler.by_class else {"classes_per_batch", "images_per_class"}
    named = [name for name in FIELDS if name not in left_out]
    for role, params in (("loss", config.loss_params), ("miner", config.miner_params)):
        numbers = [
            key for key, value in params.items() if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        named += [f"{role}.{key}" for key in numbers]
    return named


def _title(name: str) -> str:
    role, dot, parameter = name.partition(".")
    return f"{role.capitalize()}: {parameter.replace('_', ' ')}" if dot else FIELDS[name]


def _now(config: TrainConfig, name: str) -> Any:
    role, dot, parameter = name.partition(".")
    return getattr(config, f"{role}_params")[parameter] if dot else getattr(config, name)


def _value(config: TrainConfig, name: str) -> Any:
    now, key = _now(config, name), f"change.{config.id}.{name}"
    choices = _choices(config, name)
    if choices is not None:
        options, titles = choices
        return st.selectbox("Value", options, index=options.index(now), format_func=titles, key=key)
    kind = type(now)
    step = {"learning_rate": 1e-4, "weight_decay": 1e-4, "steps": 100}.get(name, 1 if kind is int else 0.05)
    least = None if "." in name else (0 if name in ("seed", "weight_decay") else 1e-6 if kind is float else 1)
    return st.number_input(
        "Value",
        value=now,
        step=kind(step),
        min_value=None if least is None else kind(least),
        format="%g" if kind is float else None,
        key=key,
    )


def _choices(config: TrainConfig, name: str) -> tuple[list[Any], Any] | None:
    def named(options: Sequence[Any], titles: Any) -> tuple[list[Any], Any]:
        return list(options), lambda value: titles[value] if isinstance(titles, dict) else titles[value].title

    if name == "miner":
        accepts = LOSSES[config.loss].given(config.loss_params).accepts
        offered = [None, *(miner for miner in MINERS if MINERS[miner].makes in accepts)]
        return offered, lambda value: NO_MINER if value is None else MINERS[value].title
    if name == "embedding_dim":
        return sorted({*DIMENSIONS, config.embedding_dim}), str
    catalogues: dict[str, Any] = {"loss": LOSSES, "net": NETS, "sampler": SAMPLERS}
    if name in catalogues:
        return named(catalogues[name], catalogues[name])
    titles: dict[str, dict[Any, str]] = {"normalize": SPACES, "optimizer": OPTIMIZERS, "schedule": SCHEDULES}
    return named(list(titles[name]), titles[name]) if name in titles else None


def _train(ui: CompareState, services: Services, run: Run, name: str, value: Any) -> None:
    _begin(ui, services, lambda: (run.id, services.jobs.submit(variant(run.config, name, value), owner())))


def _train_both(ui: CompareState, services: Services, first: TrainConfig, second: TrainConfig) -> None:
    _begin(ui, services, lambda: (services.jobs.submit(first, owner()), services.jobs.submit(second, owner())))


def _begin(ui: CompareState, services: Services, train: Callable[[], tuple[str, str]]) -> None:
    ui.notes.clear()
    try:
        ui.choose(*train())
        services.tidy()
    except UserError as error:
        ui.notes.append(str(error))
    for label in MENUS:
        st.session_state[_key(label)] = False


MENUS = {"One thing changed": changed, "Classical or mined": presets}
