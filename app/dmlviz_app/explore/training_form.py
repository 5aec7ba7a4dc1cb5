"""Training form: the fields of `TrainConfig` as widgets, generated from the catalogs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dmlviz.catalog.datasets import AUGMENTATION, DATASETS, check_strengths, may_not_mirror, usual_strengths
from dmlviz.catalog.glossary import with_terms
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Spec
from dmlviz.config import TrainConfig
from dmlviz.config.fields import DIMENSIONS, FIELDS, limits
from dmlviz.config.training import cost_note, words_of_strengths
from dmlviz.data.class_names import short_names
from dmlviz_app.forms.parameters import bound_widget, parameter_columns, parameter_widget, parameters
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.architectures import show_architecture
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import warn
from dmlviz_app.widgets.pictures import picture_at
from dmlviz_app.widgets.url_state import note_event

MORE_KEY = "more"
LAYERS = 320  # pixels


def data_field(ui: UIState, config: TrainConfig, datasets: Sequence[str], note: str) -> None:
    """Render the choice of a data set; `note` is what to know of the chosen one."""
    _Form(ui, config).data(datasets, note)


def training_form(ui: UIState, config: TrainConfig, misfit: Callable[[TrainConfig], str]) -> None:
    """Render every setting of a training but its data; `misfit` says for which batches the images are too few."""
    form = _Form(ui, config, misfit)
    with error_boundary("The choice of a loss"):
        form.loss()
    with error_boundary("The choice of a miner"):
        form.miner()
    with error_boundary("More settings"):
        _more(ui, form)


def _more(ui: UIState, form: "_Form") -> None:
    if st.session_state.get(MORE_KEY) != ui.more:
        st.session_state[MORE_KEY] = ui.more

    def on_more() -> None:
        note_event()
        ui.more = st.session_state[MORE_KEY]

    expander = st.expander("More", expanded=ui.more, key=MORE_KEY, on_change=on_more)
    if not ui.more:  # every widget costs each rerun of the page a millisecond, seen or not
        st.caption(_further(form.config))
        return
    parts = {
        "The choice of a net": form.net,
        "The choice of batches": form.batches,
        "The views": form.views,
        "The choice of held-out classes": form.unseen,
        "The long tail": lambda: form.field("imbalance"),
        "Wrong labels": lambda: form.field("label_noise"),
        "The validation share": lambda: form.field("validation_fraction"),
        "The optimizer": form.optimizer,
        "Batch norm": lambda: form.field("frozen_batch_norm"),
    }
    for name, part in parts.items():
        with expander, error_boundary(name):
            part()


def selected_fields(ui: UIState, config: TrainConfig, datasets: Sequence[str], names: Sequence[str]) -> None:
    """Render only the named fields of the config; "loss" stands for the parameters of the loss."""
    form = _Form(ui, config)
    renderers: dict[str, Callable[[], None]] = {
        "dataset": lambda: form.data(datasets),
        "loss": lambda: parameters(ui, "loss", LOSSES[config.loss], config.loss_params),
        "miner": form.miner,
        "views": form.views,
    }
    for name in names:
        with error_boundary(f"The setting {name}"):
            renderers.get(name, partial(form.field, name))()


class _Form:
    """Widgets of the fields of one config."""

    def __init__(self, ui: UIState, config: TrainConfig, misfit: Callable[[TrainConfig], str] = lambda _: "") -> None:
        self.ui, self.config, self.misfit = ui, config, misfit

    def field(self, name: str, titles: Mapping[Any, str] | None = None) -> None:
        """Render the control of a setting, where it has a meaning; `titles` are its options, where they are others."""
        spec, value = FIELDS[name], getattr(self.config, name)
        if not spec.has_meaning(self.config):
            return
        description = TrainConfig.model_fields[name].description
        help, said = spec.help(self.config) if callable(spec.help) else spec.help, self.config.dataset_spec.said
        kwargs: dict[str, Any] = {"help": said(help or description or "")}
        options = titles or (spec.options and spec.options(self.config))
        if options:
            # A menu has no option None.
            texts = {str(options[None]) if key is None else key: text for key, text in options.items()}
            value = options[value] if value is None else value
            kwargs |= {"options": list(texts), "format_func": texts.__getitem__}
        else:
            least, most = limits(self.config, name)
            kwargs |= {"min_value": least, "max_value": most, "step": type(value)(spec.step)}
            kwargs |= {"format": "%g"} if isinstance(value, float) else {}

        def store(new: Any) -> None:
            self.ui.set(name, None if options and options.get(None) == new else new)

        widget: Callable[..., Any] = st.number_input
        if options:
            widget = st.selectbox
        bound_widget(widget, said(spec.title), f"set.{name}", value, store, **kwargs)
        self.ui.messages.show(f"set.{name}")

    def row(self, *names: str, widths: Sequence[int] = (1, 1)) -> None:
        """Render two settings beside each other."""
        for column, name in zip(st.columns(widths), names, strict=True):
            with column:
                self.field(name)

    def data(self, names: Sequence[str], note: str = "") -> None:
        """Render the choice of a data set."""
        self.field("dataset", {name: DATASETS[name].title for name in names})
        if note:
            st.caption(note)

    def net(self) -> None:
        """Render the net, what is trained of its backbone and how exactly, and the space of the embeddings."""
        self.field("net")
        if NETS[self.config.net].torchvision:
            _say_what_is_missing()
        self._layers()
        self.field("unfrozen_blocks")
        self.row("backbone_rate", "mixed_precision")
        if self.config.unfrozen_blocks:
            st.caption(cost_note(self.config))
        columns = st.columns((9, 10))
        with columns[0]:
            self.field("embedding_dim")
        with columns[1]:
            self._space()
        self.row("curvature", "clip_radius")
        self.prefixes()

    def _space(self) -> None:
        """Render the one choice of where embeddings lie: normalized, of any length, or in a Poincaré ball."""
        shapes, curved = FIELDS["normalize"].options, FIELDS["space"].options
        assert shapes is not None  # both are menus
        assert curved is not None
        titles = {**shapes(self.config), "poincare": curved(self.config)["poincare"]}

        def store(chosen: bool | str) -> None:
            self.ui.set("space", "poincare" if chosen == "poincare" else "euclidean")
            if chosen != "poincare":
                self.ui.set("normalize", chosen)

        now = self.config.space if self.config.ball else self.config.normalize
        title, place = FIELDS["normalize"].title, "set.normalize"
        asked = {"help": FIELDS["normalize"].help, "options": list(titles), "format_func": titles.__getitem__}
        bound_widget(st.selectbox, title, place, now, store, **asked)
        self.ui.messages.show(place)
        self.ui.messages.show("set.space")

    def prefixes(self) -> None:
        """Render the lengths at which the embedding can be cut, of those that are usual."""
        usual = {number for number in DIMENSIONS if number < self.config.embedding_dim}
        self.several("prefixes", sorted(usual | {*self.config.prefixes}), str)

    def several(self, name: str, options: list[int], words: Callable[[int], str]) -> None:
        """Render the choice of several numbers of a setting."""
        spec, place = FIELDS[name], f"set.{name}"
        chosen = list(getattr(self.config, name))
        asked: dict[str, Any] = {"options": options, "format_func": words, "placeholder": "None", "help": spec.help}
        bound_widget(st.multiselect, spec.title, place, chosen, lambda new: self.ui.set(name, (*sorted(new),)), **asked)
        self.ui.messages.show(place)

    def _layers(self) -> None:
        """Render what opens the picture of the net, as these settings build it."""
        config, spec = self.config, self.config.dataset_spec
        menu = st.popover("Its layers", type="tertiary", key="set.net.layers", on_change=note_event)
        if menu.open:  # else it would ask the worker with each page
            images, vectors = {"size": spec.size, "channels": spec.channels}, spec.features
            seen = images if vectors is None else {"features": vectors.dimensions}
            made = {name: int(getattr(config, name)) for name in ("embedding_dim", "normalize", "bn_neck")}
            with menu, st.container(width=LAYERS):
                show_architecture("net", config.net, **made, **seen)

    def loss(self) -> None:
        """Render the loss, with family, summary, formula and parameters."""
        spec = LOSSES[self.config.loss]
        self.field("loss", {name: f"{loss.title} · {loss.family}" for name, loss in LOSSES.items()})
        _explanation(spec, self.config)
        parameters(self.ui, "loss", spec, self.config.loss_params)
        self.field("second_labels")
        self.field("bn_neck")

    def miner(self) -> None:
        """Render the miner, if the loss takes tuples that the sampler does not make."""
        self.field("miner")
        if self.config.miner is not None:
            _explanation(MINERS[self.config.miner], self.config)
            parameters(self.ui, "miner", MINERS[self.config.miner], self.config.miner_params)

    def batches(self) -> None:
        """Render the batch sampler."""
        self.field("sampler")
        if self.config.sampler_spec.by_class:
            self.row("classes_per_batch", "images_per_class")
        self.field("batch_size")
        if said := self.misfit(self.config):
            warn(said)
        self.field("memory")

    def views(self) -> None:
        """Render whether labels are used, the views of each image, and the strengths of the augmentation."""
        self.row("use_labels", "views", widths=(3, 2))  # "Unused" needs more than half of the sidebar
        self.field("projection_dim")
        self._augmentation()

    def _augmentation(self) -> None:
        """Render the strengths of the augmentation that have a meaning, and what they do to a few images."""
        config, spec = self.config, self.config.dataset_spec
        st.caption(spec.said(f"**{AUGMENTATION.title}.** {AUGMENTATION.summary}"))
        if config.takes_features:
            st.caption(f"The features of {spec.title} were computed once: there is nothing to change.")
            return
        _say_what_is_missing()
        strengths, usual = AUGMENTATION.with_defaults(config.augmentation), usual_strengths(spec)
        has_meaning = {"hue": spec.channels == 3, "ratio": strengths["crop"] > 0, "shift": True}
        shown = [one for one in AUGMENTATION.parameters if has_meaning.get(one.name, not spec.of_points)]
        for column, one in parameter_columns(shown):
            with column:
                store = partial(self._set_strength, one.name)
                parameter_widget(one, f"set.augmentation.{one.name}", strengths[one.name], store)
        with st.container(horizontal=True, gap="small"):
            for words, value in (("None", {}), ("Usual", usual)):
                key, then = f"augmentation-{words.lower()}", partial(self.ui.set, "augmentation", value)
                button(words, key=key, type="tertiary", disabled=config.augmentation == value, on_click=then)
        reason = may_not_mirror(spec)
        mirrored = "" if spec.of_points else f"; not mirrored, {reason}" if reason else "; mirrored"
        st.caption(f"Usual for {spec.title}: {words_of_strengths(usual)}{mirrored}.")
        self.ui.messages.show("set.augmentation")
        if config.augmentation:
            words = spec.said(f"What it does to eight test images of {spec.title}")
            address = f"{ROUTES}/augmented/{config.dataset}.png?{urlencode(config.augmentation)}"
            picture_at(address, alt=f"{words}. There once its files are", caption=f"{words}, above as they are")

    def _set_strength(self, name: str, strength: float) -> None:
        self.ui.set("augmentation", check_strengths({**self.config.augmentation, name: strength}))

    def unseen(self) -> None:
        """Render the classes held out of training."""
        names = short_names(self.config.dataset_spec.classes)
        if FIELDS["held_out_classes"].has_meaning(self.config):  # else it is tested on other classes anyway
            self.several("held_out_classes", [*range(len(names))], names.__getitem__)

    def optimizer(self) -> None:
        """Render optimizer, schedule, number of steps and seed."""
        self.row("optimizer", "learning_rate")
        self.row("steps", "schedule")
        self.row("decay_epochs", "decay_factor")
        self.row("warmup_steps", "weight_decay")
        self.field("seed")


def _say_what_is_missing() -> None:
    if find_spec("torchvision") is None:
        st.caption("This is torchvision's, which is not installed: `pip install 'dmlviz[torchvision]'`.")


def _further(config: TrainConfig) -> str:
    """Say in a line what the closed part of the form holds."""
    space = " in a Poincaré ball" if config.ball else " on a sphere" if config.normalize else ""
    labels = "" if config.use_labels else ", no labels"
    return f"{NETS[config.net].title} net, {config.embedding_dim} dimensions{space}, {config.steps:,} steps{labels}"


def _explanation(choice: Spec, config: TrainConfig) -> None:
    st.caption(with_terms(config.dataset_spec.said(choice.summary)))
    if choice.formula:
        # In the text, not on a line of its own: there a long formula can go over to the next line.
        st.markdown(rf"$\displaystyle {choice.formula}$")
