"""Training form: the fields of `TrainConfig` as widgets, generated from the catalogs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dmlviz.catalog.augmentation import AUGMENTATION, check_strengths
from dmlviz.catalog.backbones import blocks_of
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.glossary import GLOSSARY, with_terms
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS, has_batch_norm, nets_for
from dmlviz.catalog.parameters import Catalog, Spec
from dmlviz.config import TrainConfig
from dmlviz.config.notes import cost_note
from dmlviz.data.class_names import short_names
from dmlviz_app.run_views.parameters import bound_widget, parameter_columns, parameter_widget, parameters
from dmlviz_app.run_views.view_state import UIState
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.url_state import note_event

DIMENSIONS = (2, 3, 8, 16, 32, 64, 128, 256)
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD", "rmsprop": "RMSprop"}
SCHEDULES = {"constant": "Constant", "cosine": "Cosine", "linear": "Linear", "step": "Step"}
SPACES = {True: "Sphere", False: "Free"}
LABELS = {True: "Used", False: "Unused"}
PRECISIONS = {False: "32 bits", True: "Mixed"}
MORE_KEY = "more"
NO_MINER = "None (whole batch)"
MAX_STEP_COUNT = 20_000  # what the page offers; the command line goes on


def data_field(ui: UIState, config: TrainConfig, datasets: Sequence[str], note: str) -> None:
    """Render the choice of a data set; `note` is what to know of the chosen one."""
    _Form(ui, config).data(datasets, note)


def training_form(ui: UIState, config: TrainConfig) -> None:
    """Render every setting of the next training but its data; `config` is what they are now."""
    form = _Form(ui, config)
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
        "Wrong labels": form.label_noise,
        "The validation share": form.validation,
        "The optimizer": form.optimizer,
        "Batch norm": form.batch_norm,
    }
    for name, part in parts.items():
        with expander, error_boundary(name):
            part()


def selected_fields(ui: UIState, config: TrainConfig, datasets: Sequence[str], names: Sequence[str]) -> None:
    """Render only the named fields of the config; "loss" stands for the parameters of the loss."""
    form = _Form(ui, config)
    renderers: dict[str, Callable[[], None]] = {
        "dataset": lambda: form.data(datasets),
        "embedding_dim": lambda: form.pick("embedding_dim", "Dimensions", DIMENSIONS, str),
        "normalize": lambda: form.pick("normalize", "Space", list(SPACES), SPACES.__getitem__, help=_SPACE_HELP),
        "loss": lambda: parameters(ui, "loss", LOSSES[config.loss], config.loss_params),
        "miner": form.miner,
        "views": form.views,
        "label_noise": form.label_noise,
        "learning_rate": form.learning_rate,
        "steps": lambda: form.number("steps", "Steps", min_value=1, max_value=MAX_STEP_COUNT, step=100),
    }
    for name in names:
        with error_boundary(f"The setting {name}"):
            renderers[name]()


_LABELS_HELP = (
    "Unused: loss and miner never see a label. The positives of an image are its other views, and scores are read out "
    "with labels afterwards."
)
_BLOCKS_HELP = (
    "0: only the head learns, on features computed once. More: so many of the backbone's last blocks are trained, too, "
    "on the images themselves, which can then be augmented. Meant for a GPU."
)
_PRECISION_HELP = (
    "Mixed: the net computes with 16-bit numbers, weights and losses keep 32. Faster on a GPU and on processors with "
    "instructions for bfloat16; slower on others."
)
_SECOND_HELP = (
    "Two branches on one embedding, as for vehicles: loss a sees the identity, loss b a second label, say "
    "the model. The miner chooses for loss a alone."
)
_NORM_HELP = (
    "Frozen: statistics and weights of batch normalization stay as they are at the start. Meant for a pretrained "
    "backbone; a net that begins untrained has no normalization then."
)
_SPACE_HELP = GLOSSARY["space"].text
_TERMS = {  # of the glossary, by the field that they explain
    "loss": "loss",
    "embedding_dim": "dimension",
    "classes_per_batch": "batch",
    "optimizer": "optimizer",
    "schedule": "schedule",
    "learning_rate": "learning-rate",
    "weight_decay": "weight-decay",
    "steps": "step",
    "seed": "seed",
}


class _Form:
    """Widgets of the fields of one config."""

    def __init__(self, ui: UIState, config: TrainConfig) -> None:
        self.ui = ui
        self.config = config

    def data(self, names: Sequence[str], note: str = "") -> None:
        """Render the choice of a data set."""
        self.choice("dataset", "Data", DATASETS, names)
        if note:
            st.caption(note)

    def net(self) -> None:
        """Render the net, what is trained of its backbone, and the space of the embeddings."""
        self.choice("net", "Net", NETS, nets_for(DATASETS[self.config.dataset]))
        self.backbone()
        left, right = st.columns(2)
        with left:
            self.pick("embedding_dim", "Dimensions", sorted({*DIMENSIONS, self.config.embedding_dim}), str)
        with right:
            self.pick("normalize", "Space", list(SPACES), SPACES.__getitem__, help=_SPACE_HELP)

    def choice(self, name: str, label: str, catalog: Catalog[Any], options: Sequence[str] | None = None) -> None:
        """Render a choice from a catalog, or from `options` of it, with its summary as help."""
        spec = catalog[getattr(self.config, name)]
        self.pick(name, label, list(options or catalog), lambda key: catalog[key].title, help=spec.summary)

    def pick(self, name: str, label: str, options: Sequence[Any], text: Callable[[Any], str], **kwargs: Any) -> None:
        """Render a choice from a few values."""
        self._widget(st.selectbox, name, label, options=options, format_func=text, **kwargs)

    def number(self, name: str, label: str, **kwargs: Any) -> None:
        """Render a number field."""
        if name not in _TERMS:
            kwargs.setdefault("help", TrainConfig.model_fields[name].description)
        self._widget(st.number_input, name, label, **kwargs)

    def _widget(self, widget: Callable[..., Any], name: str, label: str, **kwargs: Any) -> None:
        value = getattr(self.config, name)
        if name in _TERMS:
            kwargs["help"] = GLOSSARY[_TERMS[name]].text
        bound_widget(widget, label, f"set.{name}", value, lambda new_value: self.ui.set(name, new_value), **kwargs)
        self.ui.messages.show(f"set.{name}")

    def loss(self) -> None:
        """Render the loss, with family, summary, formula and parameters."""
        spec = LOSSES[self.config.loss]
        self.pick("loss", "Loss", list(LOSSES), lambda name: f"{LOSSES[name].title} · {LOSSES[name].family}")
        _explanation(spec)
        parameters(self.ui, "loss", spec, self.config.loss_params)
        roles = [role for role in DATASETS[self.config.dataset].roles if role != "query"]
        if roles and spec.parts({}):
            titles = {"": "The classes", **{role: role.capitalize() for role in roles}}
            self.pick("second_labels", "Labels of loss b", list(titles), titles.__getitem__, help=_SECOND_HELP)

    def miner(self) -> None:
        """Render the miner, if the loss takes tuples."""
        accepts = self.config.loss_spec.tuple_kinds
        miners = [name for name, miner in MINERS.items() if miner.tuple_kind in accepts]
        if not miners:
            return
        bound_widget(
            st.selectbox,
            "Miner",
            "set.miner",
            self.config.miner or NO_MINER,
            lambda name: self.ui.set("miner", None if name == NO_MINER else name),
            options=[NO_MINER, *miners],
            format_func=lambda name: MINERS[name].title if name in MINERS else NO_MINER,
            help=GLOSSARY["miner"].text,
        )
        self.ui.messages.show("set.miner")
        if self.config.miner is not None:
            _explanation(MINERS[self.config.miner])
            parameters(self.ui, "miner", MINERS[self.config.miner], self.config.miner_params)

    def backbone(self) -> None:
        """Render what is trained of the backbone of a data set of features, and how exactly the net computes."""
        config = self.config
        if blocks := blocks_of(DATASETS[config.dataset]):
            self.number("unfrozen_blocks", "Unfrozen blocks", min_value=0, max_value=blocks, step=1, help=_BLOCKS_HELP)
        left, right = st.columns(2)
        if config.unfrozen_blocks:
            with left:
                self.number("backbone_rate", "Backbone rate", min_value=1e-6, max_value=10.0, step=0.01, format="%g")
        if config.unfrozen_blocks or config.mixed_precision:
            with right:
                self.pick(
                    "mixed_precision", "Precision", list(PRECISIONS), PRECISIONS.__getitem__, help=_PRECISION_HELP
                )
        if config.unfrozen_blocks:
            st.caption(cost_note(config))

    def batch_norm(self) -> None:
        """Render whether batch normalization is trained, where there is some."""
        if has_batch_norm(DATASETS[self.config.dataset], self.config.net, self.config.unfrozen_blocks):
            options = {False: "Trained", True: "Frozen"}
            self.pick("frozen_batch_norm", "Batch norm", list(options), options.__getitem__, help=_NORM_HELP)

    def batches(self) -> None:
        """Render the batch sampler."""
        self.choice("sampler", "Batches", SAMPLERS)
        left, right = st.columns(2)
        if SAMPLERS[self.config.sampler].by_class:
            with left:
                self.number("classes_per_batch", "P classes", min_value=1, max_value=1000, step=1)
            with right:
                self.number("images_per_class", "K images per class", min_value=1, max_value=1000, step=1)
        else:
            self.number("batch_size", "Batch size", min_value=1, max_value=4096, step=1)

    def views(self) -> None:
        """Render whether labels are used, the views of each image, and the strengths of the augmentation."""
        left, right = st.columns([3, 2])  # "Unused" needs more than half of the sidebar
        with left:
            self.pick("use_labels", "Labels", list(LABELS), LABELS.__getitem__, help=_LABELS_HELP)
        with right:
            self.number("views", "Views", min_value=1, max_value=8, step=1)
        self.number("projection_dim", "Projection head", min_value=0, max_value=4096, step=8)
        st.caption(f"**{AUGMENTATION.title}.** {AUGMENTATION.summary}")
        strengths = AUGMENTATION.with_defaults(self.config.augmentation)
        for column, parameter in parameter_columns(AUGMENTATION.parameters):
            with column:
                parameter_widget(
                    parameter,
                    f"set.augmentation.{parameter.name}",
                    strengths[parameter.name],
                    partial(self._set_strength, parameter.name),
                )
        self.ui.messages.show("set.augmentation")

    def _set_strength(self, name: str, strength: float) -> None:
        self.ui.set("augmentation", check_strengths({**self.config.augmentation, name: strength}))

    def unseen(self) -> None:
        """Render the classes held out of training."""
        names = short_names(DATASETS[self.config.dataset].classes)
        if len(DATASETS[self.config.dataset].trainable_classes) < len(names):
            return  # it is tested on other classes anyway
        bound_widget(
            st.multiselect,
            "Held-out classes",
            "set.held_out_classes",
            list(self.config.held_out_classes),
            lambda labels: self.ui.set("held_out_classes", tuple(sorted(labels))),
            options=list(range(len(names))),
            format_func=names.__getitem__,
            placeholder="None",
            help="Held out, to test generalization to new classes.",
        )
        self.ui.messages.show("set.held_out_classes")

    def label_noise(self) -> None:
        """Render the share of wrong training labels."""
        self.number("label_noise", "Wrong labels", min_value=0.0, max_value=0.9, step=0.05, format="%g")

    def validation(self) -> None:
        """Render the share of training images kept for validation."""
        self.number("validation_fraction", "Validation share", min_value=0.0, max_value=0.5, step=0.05, format="%g")

    def learning_rate(self) -> None:
        """Render the initial learning rate."""
        self.number("learning_rate", "Learning rate", min_value=1e-6, max_value=10.0, step=1e-4, format="%g")

    def optimizer(self) -> None:
        """Render optimizer, schedule, number of steps and seed."""
        left, right = st.columns(2)
        with left:
            self.pick("optimizer", "Optimizer", list(OPTIMIZERS), OPTIMIZERS.__getitem__)
        with right:
            self.learning_rate()
        left, right = st.columns(2)  # a row each: their fields stand in a line
        with left:
            self.number("steps", "Steps", min_value=1, max_value=max(MAX_STEP_COUNT, self.config.steps), step=100)
        with right:
            self.pick("schedule", "Schedule", list(SCHEDULES), SCHEDULES.__getitem__)
        left, right = st.columns(2)
        with left:
            self.number("weight_decay", "Weight decay", min_value=0.0, max_value=1.0, step=1e-4, format="%g")
        with right:
            self.number("seed", "Seed", min_value=0, max_value=2**31 - 1, step=1)


def _further(config: TrainConfig) -> str:
    """Say in a line what the closed part of the form holds."""
    space = " on a sphere" if config.normalize else ""
    labels = "" if config.use_labels else ", no labels"
    return f"{NETS[config.net].title} net, {config.embedding_dim} dimensions{space}, {config.steps:,} steps{labels}"


def _explanation(choice: Spec) -> None:
    st.caption(with_terms(choice.summary))
    if choice.formula:
        # In the text, not on a line of its own: there a long formula can go over to the next line.
        st.markdown(rf"$\displaystyle {choice.formula}$")
