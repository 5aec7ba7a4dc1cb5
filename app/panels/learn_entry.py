"""Renders one catalog entry of the Learn page from its spec."""

import streamlit as st

from app.content.catalog_index import (
    Kind,
    caveat,
    default,
    limits,
    no_miner_note,
    recommended,
    recommended_in_dimensions,
    related_entries,
    to_json,
)
from app.panels import navigation
from app.state import explore
from app.widgets.components import mount
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import MetricSpec
from dmlviz.catalog.parameters import LossSpec, MinerSpec, Spec
from dmlviz.config import TrainConfig

NO_PLOT = (
    "A weighted sum has no curve of its own: it adds the curves of its two parts, each times its weight. "
    "See the pages of both losses."
)


def render_entry(kind: Kind, name: str) -> None:
    """Draw it."""
    declared: Spec = kind.catalog[name]
    family = f" · {declared.family}" if declared.family else ""
    st.markdown(f"### {declared.title}\n:small[{kind.noun}{family} · `{declared.name}`]")
    left, right = st.columns([5, 3], gap="large")
    with left:
        st.markdown(declared.summary)
        if declared.formula:
            st.markdown(rf"$\displaystyle {declared.formula}$")
        if declared.when_to_use:
            st.markdown(f"**When to use it.** {declared.when_to_use}")
        if caveat(declared):
            st.markdown(f"**Caution.** {caveat(declared)}")
    with right:
        _facts(kind, declared)
    if isinstance(declared, LossSpec):
        _illustration(declared)
    _parameters(declared)


def _facts(kind: Kind, declared: Spec) -> None:
    if isinstance(declared, MetricSpec):
        st.markdown(f"**Range.** {declared.range[0].upper()}{declared.range[1:]}")
    others = related_entries(declared)
    if others or no_miner_note(declared):
        st.markdown("**Combines with**")
        with st.container(horizontal=True, gap="small"):
            for other, name in others:
                navigation.link("learn", other.catalog[name].title, {other.name: name})
        if not others:
            st.caption(no_miner_note(declared))
    advised = recommended(declared)
    if advised:
        said = " · ".join(f"{label} {value}" for label, value in advised.items())
        st.markdown(f"**Recommended settings.** {said}")
    for dimensions, advice in recommended_in_dimensions(declared).items():
        said = " · ".join(f"{label} {value}" for label, value in advice.items())
        st.markdown(f"**In {dimensions} dimensions.** {said}")
    if declared.reference:
        st.markdown(f"**Reference.** {declared.reference}")
    if declared.name in ("map_at_r", "precision_at_1", "nmi", "pairwise_f1"):
        navigation.link("learn", "Three spaces that only MAP@R tells apart", {"topic": "three-spaces"})
    if kind.name in ("miner", "net", "sampler"):
        st.button(
            "Try it in Explore",
            key=f"try.{kind.name}.{declared.name}",
            on_click=_request_training,
            args=(kind, declared),
        )
        if st.session_state.pop(_ASKED, None):
            navigation.switch_to("explore")


_ASKED = "learn.asked"


def _request_training(kind: Kind, declared: Spec) -> None:
    """Set up Explore's settings; the page switches to Explore later, which a callback cannot do."""
    ui = explore.saved_state()
    if isinstance(declared, MinerSpec):
        takes = [name for name, loss in LOSSES.items() if declared.tuple_kind in loss.tuple_kinds]
        if ui.settings.get("loss", TrainConfig.model_fields["loss"].default) not in takes:
            ui.set("loss", takes[0])
    ui.set(kind.name, declared.name)
    st.session_state[_ASKED] = True


def _illustration(loss: LossSpec) -> None:
    st.markdown("##### The loss as a curve")
    if loss.parts({}):
        st.caption(NO_PLOT)
        return
    data = to_json(loss)
    said = mount(
        "loss_plot",
        key="loss_plot",
        data={"loss": loss.name, "parameters": data["parameters"]},
        on_go_change=lambda: None,
    )
    if said.go:
        _prepare_config(loss, said.go)
        navigation.switch_to("explore")
    st.markdown("##### Forces in the plane")
    force_playground(loss.name)


def force_playground(name: str) -> None:
    """Render the force playground with loss `name` selected."""
    offered = [to_json(loss) for loss in LOSSES.values() if not loss.parts({})]
    mount("force_playground", key="force_playground", data={"loss": name, "losses": offered})


def _prepare_config(loss: LossSpec, params: dict[str, object]) -> None:
    """Set up Explore with the loss parameters of the plot."""
    ui = explore.saved_state()
    ui.set("loss", loss.name)
    for parameter in loss.parameters:
        if parameter.name in params:
            ui.set_param("loss", loss, parameter, parameter.check(loss.name, params[parameter.name]))


def _parameters(declared: Spec) -> None:
    if not declared.parameters:
        return
    st.markdown("##### Parameters")
    rows = ["| Parameter | Default | May be | |", "|---|---|---|---|"]
    rows += [
        f"| `{parameter.name}` | {default(parameter)} | {limits(parameter)} | {parameter.help} |"
        for parameter in declared.parameters
    ]
    st.markdown("\n".join(rows))
