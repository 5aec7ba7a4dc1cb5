"""The specs of sums of losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dmlviz.catalog.parameters import Catalog, LossSpec, Parameter, VectorParameter, brief, parse_literal
from dmlviz.errors import UserError


@dataclass(frozen=True, kw_only=True)
class LossChoice(Parameter):
    """A loss by name, or with parameters of its own: {"name": "triplet", "margin": 0.3}."""

    losses: Catalog[LossSpec]

    def check(self, owner: str, value: Any) -> str | dict[str, Any]:
        """Return the name, with all parameters where one differs from its default; raise UserError for a wrong one."""
        name, params = self.split(value)
        if not isinstance(name, str):
            raise UserError(f'{owner}: {self.name} is a loss, as in "triplet"; got {brief(value)}.')
        if name == owner:
            raise UserError(f"{owner}: {self.name} is a loss that is no sum itself; got {brief(value)}.")
        declaration = self.losses[name]
        complete = declaration.with_defaults(params)
        return name if complete == declaration.with_defaults({}) else {"name": name, **complete}

    @staticmethod
    def split(value: Any) -> tuple[Any, dict[str, Any]]:
        """Return the name and the parameters that were given with it."""
        value = parse_literal(value)
        if not isinstance(value, Mapping):
            return value, {}
        return value.get("name"), {name: parameter for name, parameter in value.items() if name != "name"}


@dataclass(frozen=True, kw_only=True)
class WeightedSumSpec(LossSpec):
    """A sum takes the tuples that either of its losses takes, and trains as its first loss does."""

    losses: Catalog[LossSpec]

    def parts(self, params: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return name and parameters of the two losses, with the defaults filled in."""
        values = self.with_defaults(params)
        choices = {side: LossChoice.split(values[side]) for side in ("a", "b")}
        return {side: (name, self.losses[name].with_defaults(own)) for side, (name, own) in choices.items()}

    def for_params(self, params: Mapping[str, Any]) -> LossSpec:
        """Return the sum as these two losses make it."""
        a, b = (self.losses[name] for name, _ in self.parts(params).values())
        return replace(
            self,
            tuple_kinds=a.tuple_kinds | b.tuple_kinds,
            needs_classes=a.needs_classes or b.needs_classes,
            on_sphere=a.on_sphere and b.on_sphere,
            recommended=a.recommended,
        )


def sums(losses: Sequence[LossSpec]) -> list[LossSpec]:
    """Declare the sum of any two of `losses`."""
    catalog = Catalog("loss", losses)

    def side(name: str, default: str, text: str) -> LossChoice:
        return LossChoice(name=name, kind=str, default=default, choices=tuple(catalog), losses=catalog, help=text)

    declaration = WeightedSumSpec(
        name="weighted_sum",
        title="Sum of two",
        family="sums",
        summary="Two losses at once, weighted: distances from one, class borders from the other.",
        when_to_use="When distances should be shaped by one loss while another keeps the classes apart, as in face "
        "verification with known people. Choose the weights so that both still fall: the larger one silences"
        " the other. The second loss may see labels of its own: on Identities the model, beside the identity.",
        formula=r"w_1\,L_a + w_2\,L_b",
        reference="Sun, Chen, Wang, Tang: Deep learning face representation by joint identification-verification "
        "(DeepID2), NeurIPS 2014; Bell, Bala: Learning visual similarity for product design, SIGGRAPH 2015; "
        "with labels for each of the two: Liu, Tian, Yang, Pang, Huang: Deep relative distance learning, CVPR 2016",
        losses=catalog,
        parameters=(
            side("a", "contrastive", "the first loss; training follows its recommendations"),
            side("b", "softmax", "the second loss"),
            VectorParameter(
                name="weights",
                kind=list,
                length=2,
                default=[1.0, 1.0],
                minimum=0,
                maximum=1000,
                step=0.1,
                help="how much each of the two counts",
            ),
        ),
    )
    return [declaration.for_params({})]
