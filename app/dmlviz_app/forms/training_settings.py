"""Draft of the next training config: defaults, the loss's recommendations, and the user's changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.parameters import Catalog, Fields, LossSpec, Parameter, Spec
from dmlviz.config import TrainConfig
from dmlviz.config.rules import give_way
from dmlviz.errors import UserError
from dmlviz_app.widgets.messages import Speaking

SETTINGS = tuple(name for name in TrainConfig.model_fields if name not in ("loss_params", "miner_params"))
FORM = ("train", "start", "set", "loss", "miner")  # places of the form, and all within them
FURTHER = tuple(name for name in SETTINGS if name not in ("dataset", "loss", "miner", "second_labels"))  # in More
_LOSS: str = TrainConfig.model_fields["loss"].default
_DIMENSIONS: int = TrainConfig.model_fields["embedding_dim"].default
_ANY_DATASET: str = TrainConfig.model_fields["dataset"].default


@dataclass
class TrainingDraft(Speaking):
    """The settings of the next training.

    `settings` holds only what differs from the defaults, so that a loss can bring its own recommendation; `params`
    holds the parameters of losses, miners and projections, by role and name ("loss.triplet"). `base` is what the
    settings were filled from: a recipe, or the ID of a run; empty for the defaults. `messages` are the sentences about
    what could not be done, by the keys of the form's widgets ("set.steps", "loss.triplet.margin").
    """

    settings: Fields = field(default_factory=dict)
    params: dict[str, Fields] = field(default_factory=dict)
    base: str = ""

    def cause(self, place: str) -> object:
        """Return what the sentences at a place are about: a parameter, or all settings of the next training."""
        role, *part = place.split(".")
        if role in ("loss", "miner"):
            choice, name = (*part, "", "")[:2]
            return self.settings.get(role), repr(self.changed_params(role, choice).get(name))
        changed = {key: values for key, values in self.params.items() if values and not key.startswith("view.")}
        return repr((self.settings, changed))

    def config(self, dataset: str) -> TrainConfig:
        """Build the config of the next training; `dataset` is used while none is selected."""
        return TrainConfig(**{"dataset": dataset} | self._fields())

    def _fields(self) -> Fields:
        loss = self._loss()
        miner = self.settings.get("miner", loss.recommended.get("miner"))
        fields = {"loss_params": self.changed_params("loss", loss.name)} | self.settings
        if miner is not None:
            fields["miner_params"] = self.changed_params("miner", miner)
        return fields

    def set(self, name: str, value: Any) -> None:
        """Set one field of the next training; what no longer goes with it is dropped.

        A value that does not go with the others is left out, and said at its field.
        """
        self.messages.forget("train", f"set.{name}")
        before = dict(self.settings)
        try:
            self._set(name, value)
            self.config(_ANY_DATASET)
        except UserError as error:
            self.settings = before
            self.messages.say(f"set.{name}", error)

    def _set(self, name: str, value: Any) -> None:
        self.settings[name] = value
        self._give_way(name)
        others = {key: setting for key, setting in self.settings.items() if key != name}
        try:
            default = _LOSS if name == "loss" else getattr(replace(self, settings=others).config(_ANY_DATASET), name)
        except UserError:  # the others make sense with this value only
            return
        # The default data set depends on what is on disk, so that a chosen one is always written down.
        if value == default and name != "dataset":
            self.settings = others

    def changes(self, dataset: str, base: TrainConfig) -> list[str]:
        """Return what a person set otherwise than `base`: names of fields, "loss.triplet.margin" for a parameter.

        What follows from a loss that was chosen is not named.
        """
        before, unset = TrainingDraft(), object()
        before.load(base)
        keys = ["dataset"] * (dataset != base.dataset)
        for name in SETTINGS:
            if name != "dataset" and self.settings.get(name, unset) != before.settings.get(name, unset):
                keys.append(name)
        for role, spec in TrainingDraft.choices(self).items():
            now, then = self.changed_params(role, spec.name), before.changed_params(role, spec.name)
            names = [parameter.name for parameter in spec.parameters]
            keys += [f"{role}.{spec.name}.{name}" for name in names if now.get(name, unset) != then.get(name, unset)]
        return keys

    def load(self, config: TrainConfig, base: str = "") -> None:
        """Set up the next training as this one, which is that of `base` or a change of it."""
        self.messages.forget(*FORM)
        self.base = base
        roles: dict[str, tuple[Catalog[Any], str, Fields]] = {"loss": (LOSSES, config.loss, config.loss_params)}
        if config.miner is not None:
            roles["miner"] = (MINERS, config.miner, config.miner_params)
        for role, (catalog, name, values) in roles.items():
            defaults = self._default_params(role, catalog[name], config.embedding_dim)
            self.params[f"{role}.{name}"] = {key: value for key, value in values.items() if value != defaults.get(key)}
        self.settings = {"dataset": config.dataset}
        for name in ("loss", "embedding_dim", "use_labels", "held_out_classes"):  # on which other defaults depend
            if getattr(config, name) != getattr(TrainConfig.unchecked(self._fields()), name):
                self.settings[name] = getattr(config, name)
        default = TrainConfig.unchecked(self._fields())  # some settings make sense together only
        for name in SETTINGS:
            is_no_choice = name == "miner" and config.sampler_spec.tuple_kind  # which is why there is none
            if getattr(config, name) != getattr(default, name) and not is_no_choice:
                self.settings[name] = getattr(config, name)

    def set_param(self, role: str, choice: Spec, parameter: Parameter, value: Any) -> None:
        """Set one parameter of a loss, miner or projection; `role` is "loss", "miner" or "view"."""
        if role in FORM:
            self.messages.forget("train")
        changes = self.params.setdefault(f"{role}.{choice.name}", {})
        changes.pop(parameter.name, None)
        defaults = self._default_params(role, choice, self.settings.get("embedding_dim", _DIMENSIONS))
        if value != defaults.get(parameter.name, parameter.default):
            changes[parameter.name] = value
        self._give_way(role)

    @staticmethod
    def _default_params(role: str, choice: Spec, dimensions: int) -> Fields:
        """Default parameters."""
        if role == "loss":
            return LOSSES[choice.name].params_in(dimensions)
        return {parameter.name: parameter.default for parameter in choice.parameters}

    def changed_params(self, role: str, choice: str) -> Fields:
        """Return the parameters that differ from their defaults, by name."""
        return self.params.get(f"{role}.{choice}", {})

    def _loss(self) -> LossSpec:
        loss = LOSSES[self.settings.get("loss", _LOSS)]
        return loss.for_params(self.changed_params("loss", loss.name))

    def _give_way(self, changed: str) -> None:
        """Drop settings that do not go with the one that was changed."""

        def resolve(settings: Mapping[str, Any]) -> TrainConfig:
            return TrainConfig.unchecked(replace(self, settings={**settings})._fields())

        self.settings = give_way(self.settings, {changed}, resolve)

    def choices(self) -> dict[str, Spec]:
        """Return the selected specs that have parameters, by role."""
        loss = self._loss()
        miner = self.settings.get("miner", loss.recommended.get("miner"))
        specs: dict[str, Spec] = {"loss": loss}
        if miner is not None:
            specs["miner"] = MINERS[miner]
        return specs
