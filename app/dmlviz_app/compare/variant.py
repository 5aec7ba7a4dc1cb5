"""Menus of the Compare page that train runs: one changed setting, a preset pair, a race of losses."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import with_terms
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.parameters import Fields
from dmlviz.config import TrainConfig
from dmlviz.config.fields import FIELDS, limits
from dmlviz.config.race import MOST, left_out, racer, usual_losses, why_not
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz_app.compare.maps import choice_of_runs
from dmlviz_app.compare.state import Compared, CompareState
from dmlviz_app.server.housekeeping import enforce_quota
from dmlviz_app.server.labels import unique_labels
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.widgets.url_state import note_event

# Blind batches that decide what is compared, against balanced ones of as many images and an online miner.
CLASSIC_PAIRS: dict[str, tuple[Fields, Fields]] = {
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
RACE = "Race"
_FIELD_KEY = "change.field"
PRESETS = [(dataset, kind) for dataset in ("mnist", "fashion_mnist") for kind in CLASSIC_PAIRS]


def menus(ui: CompareState, services: Services, pair: Compared) -> None:
    """Render the menus; they close when training starts. Another program's training cannot be varied."""
    run, is_trained_here = pair.a.run, DATASETS[pair.a.run.config.dataset].trainable
    for label, content in MENUS.items() if is_trained_here else ():
        with st.popover(label, type="tertiary", key=_key(label), on_change=note_event), st.container(width=MENU):
            content(ui, services, run)
    menu = st.popover(RACE, type="tertiary", key=_key(RACE), on_change=note_event)
    if menu.open:  # a closed menu would hand in the runs that it last showed
        with menu, st.container(width=2 * MENU):
            if is_trained_here:
                race_losses(ui, services, run)
            choice_of_runs(ui, services, pair)


def race_losses(ui: CompareState, services: Services, run: Run) -> None:
    """Render the choice of losses, which of them are left out, and Race."""
    base, titles = run.config, unique_labels(list(LOSSES), lambda name: LOSSES[name].title)
    st.caption(
        f"Up to {MOST} losses from one start, on the same batches, with the other settings of "
        f"{escape_markdown(run.title)}: all train by turns, and are stopped as one."
    )
    losses = st.multiselect(
        "Losses",
        [name for name in LOSSES if not why_not(base, name)],
        usual_losses(base),
        format_func=titles.__getitem__,
        max_selections=MOST,
        key=_losses_key(run),
    )
    st.caption(f"{len(LOSSES) - len(losses)} other losses are not among them.", help=left_out(base, losses))
    button(
        "Race these losses",
        type="primary",
        width="stretch",
        key="race.train",
        disabled=len(losses) < 2,
        on_click=_race,
        args=(ui, services, run),
    )


def _losses_key(run: Run) -> str:
    return f"race.losses.{run.id}"


def _race(ui: CompareState, services: Services, run: Run) -> None:
    """Race the losses of now: the button may have been drawn before the last choice."""
    configs = [racer(run.config, loss) for loss in st.session_state[_losses_key(run)]]
    _start_training(ui, services, lambda: services.jobs.race(configs))


def _key(label: str) -> str:
    return f"menu.{label}"


def change_one_setting(ui: CompareState, services: Services, run: Run) -> None:
    """Render field, value and Train; the new run becomes the second one."""
    config = run.config
    st.caption(
        f"Same as {escape_markdown(run.title)}, with one setting changed. "
        "The new run appears on the right while it trains."
    )
    name = st.selectbox("Setting", fields(config), format_func=_title, key=_FIELD_KEY)
    value = _value(config, name)
    same = value == _current_value(config, name)
    button(
        "Train",
        type="primary",
        width="stretch",
        key="change.train",
        disabled=same,
        help="Unchanged." if same else None,
        on_click=_train,
        args=(ui, services, run),
    )


def classic_presets(ui: CompareState, services: Services, run: Run) -> None:
    """Render the presets: random pairs or triplets against online mining, otherwise identical."""
    st.caption(
        with_terms(
            "Random pairs or triplets (the classic way) against online mining: the same net, "
            "dimensions, steps and seed, and the same batch size (within one image). Trains two runs."
        )
    )
    for dataset, kind in PRESETS:
        available = dataset in services.datasets.available()
        button(
            f"{DATASETS[dataset].title}, {kind}",
            width="stretch",
            key=f"preset.{dataset}.{kind}",
            help=None if available else "Not downloaded yet: training starts with the download.",
            on_click=_train_both,
            args=(ui, services, *preset(dataset, kind)),
        )


def preset(dataset: str, kind: str) -> tuple[TrainConfig, TrainConfig]:
    """Return the configurations of a preset: random tuples, then online mining."""
    blind, online = CLASSIC_PAIRS[kind]
    second = TrainConfig(dataset=dataset, **online)
    common = second.model_dump(include={"embedding_dim", "normalize", "net", "steps", "seed", "learning_rate"})
    return TrainConfig(dataset=dataset, **common | blind), second


def with_setting(config: TrainConfig, name: str, value: Any) -> TrainConfig:
    """Copy `config` with one field or parameter ("loss.margin") changed; raise UserError where it is invalid."""
    role, dot, parameter = name.partition(".")
    if dot:
        return config.replace(**{f"{role}_params": getattr(config, f"{role}_params") | {parameter: value}})
    return config.replace(**{name: value})


def fields(config: TrainConfig) -> list[str]:
    """Return the settings that can be changed alone."""
    names = [name for name, field in FIELDS.items() if field.varied and field.has_meaning(config)]
    for role in ("loss", "miner"):
        params = _params(config, role).items()
        names += [f"{role}.{key}" for key, value in params if type(value) in (int, float)]
    return names


def _params(config: TrainConfig, role: str) -> Fields:
    """Return the parameters of loss or miner, with those that a config leaves out at their default."""
    spec = LOSSES[config.loss] if role == "loss" else MINERS.get(config.miner or "")
    usual = {one.name: one.default for one in spec.parameters if one.optional} if spec else {}
    given: Fields = getattr(config, f"{role}_params")
    return usual | given


def _title(name: str) -> str:
    role, dot, parameter = name.partition(".")
    return f"{role.capitalize()}: {parameter.replace('_', ' ')}" if dot else FIELDS[name].title


def _current_value(config: TrainConfig, name: str) -> Any:
    role, dot, parameter = name.partition(".")
    return _params(config, role)[parameter] if dot else getattr(config, name)


def first_value(config: TrainConfig, name: str) -> Any:
    """Return a value that differs from that of `config` and goes with its other settings: the first to be offered."""
    current, options = _current_value(config, name), _options(config, name)
    if options is not None:
        values = list(options)
        at = values.index(current)
        candidates = [*values[at + 1 :], *values[:at]]
    else:
        step = _step(name, type(current))
        factors = [] if name == "seed" or not current else [2 * current, type(current)(current / 2)]
        candidates = [*factors, current + step, current - step]
    for candidate in candidates:
        with suppress(UserError):
            if with_setting(config, name, candidate).id != config.id:
                return candidate
    return current


def _options(config: TrainConfig, name: str) -> Mapping[Any, str] | None:
    options = FIELDS[name].options if name in FIELDS else None
    return None if options is None else options(config)


def _step(name: str, kind: type) -> Any:
    return kind(FIELDS[name].step) if name in FIELDS else 1 if kind is int else 0.05


def _value(config: TrainConfig, name: str) -> Any:
    current, key, first = _current_value(config, name), _value_key(config, name), first_value(config, name)
    if (options := _options(config, name)) is not None:
        labels = unique_labels(list(options), options.__getitem__)
        values = list(options)
        return st.selectbox("Value", values, index=values.index(first), format_func=labels.__getitem__, key=key)
    kind = type(current)
    return st.number_input(
        "Value",
        value=first,
        step=_step(name, kind),
        min_value=limits(config, name)[0] if name in FIELDS else None,
        format="%g" if kind is float else None,
        key=key,
    )


def _value_key(config: TrainConfig, name: str) -> str:
    return f"change.{config.id}.{name}"


def _train(ui: CompareState, services: Services, run: Run) -> None:
    """Train with the setting of now: the button may have been drawn before the last choice."""
    name = st.session_state[_FIELD_KEY]
    value = st.session_state.get(_value_key(run.config, name), first_value(run.config, name))
    _start_training(ui, services, lambda: (run.id, services.jobs.train(with_setting(run.config, name, value))))


def _train_both(ui: CompareState, services: Services, first: TrainConfig, second: TrainConfig) -> None:
    _start_training(
        ui,
        services,
        lambda: (services.jobs.train(first), services.jobs.train(second)),
    )


def _start_training(ui: CompareState, services: Services, train: Callable[[], Sequence[str]]) -> None:
    ui.select_all(train())
    enforce_quota(services)
    for label in (*MENUS, RACE):
        st.session_state[_key(label)] = False


MENUS = {"Change one setting": change_one_setting, "Random or mined pairs": classic_presets}
