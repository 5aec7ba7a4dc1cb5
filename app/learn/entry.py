"""A page of the Learn page: one choice, made from its declaration alone."""

import streamlit as st

from app import navigation, state
from app.components import mount
from app.learn.entries import (
    Kind,
    alone,
    caution,
    default,
    limits,
    partners,
    plain,
    recommended,
    recommended_in_dimensions,
)
from dmlviz.declarations import Declaration, LossDeclaration
from dmlviz.losses.declared import LOSSES
from dmlviz.metrics.declared import MetricDeclaration

NO_PLOT = (
    "A sum has no curve of its own: it is the two curves of its parts, each times its weight. "
    "Look at the pages of the two."
)


def entry(kind: Kind, name: str) -> None:
    """Draw it."""
    declared: Declaration = kind.catalogue[name]
    family = f" · {declared.family}" if declared.family else ""
    st.markdown(f"### {declared.title}\n:small[{kind.noun}{family} · `{declared.name}`]")
    left, right = st.columns([5, 3], gap="large")
    with left:
        st.markdown(declared.summary)
        if declared.formula:
            st.markdown(rf"$\displaystyle {declared.formula}$")
        if declared.when:
            st.markdown(f"**When to use it.** {declared.when}")
        if caution(declared):
            st.markdown(f"**Beware.** {caution(declared)}")
    with right:
        _facts(kind, declared)
    if isinstance(declared, LossDeclaration):
        _pictures(declared)
    _parameters(declared)


def _facts(kind: Kind, declared: Declaration) -> None:
    if isinstance(declared, MetricDeclaration):
        st.markdown(f"**Values.** {declared.range[0].upper()}{declared.range[1:]}")
    others = partners(declared)
    if others or alone(declared):
        st.markdown("**Goes with**")
        with st.container(horizontal=True, gap="small"):
            for other, name in others:
                navigation.link("learn", other.catalogue[name].title, {other.name: name})
        if not others:
            st.caption(alone(declared))
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
        st.button("Try it in Explore", key=f"try.{kind.name}.{declared.name}", on_click=_ask, args=(kind, declared))
        if st.session_state.pop(_ASKED, None):
            navigation.go("explore")


_ASKED = "learn.asked"


def _ask(kind: Kind, declared: Declaration) -> None:
    """Set Explore up; the page then goes there, which a callback cannot."""
    ui = state.left()
    if kind.name == "miner":
        takes = next(name for name, loss in LOSSES.items() if declared.makes in loss.accepts)  # type: ignore[attr-defined]
        if declared.makes not in LOSSES[ui.settings.get("loss", "nt_xent")].accepts:  # type: ignore[attr-defined]
            ui.choose("loss", takes)
    ui.choose(kind.name, declared.name)
    st.session_state[_ASKED] = True


def _pictures(loss: LossDeclaration) -> None:
    st.markdown(f"##### Loss against {against(loss)}")
    if loss.name not in LOSSES or loss.name == "sum_of":
        st.caption(NO_PLOT)
        return
    data = plain(loss)
    said = mount(
        "lossplot",
        key="lossplot",
        data={"loss": loss.name, "parameters": data["parameters"]},
        on_go_change=lambda: None,
    )
    if said.go:
        _set_up(loss, said.go)
        navigation.go("explore")
    if loss.name != "hinge_pair":
        st.markdown("##### Forces in the plane")
        plane(loss.name)


def against(loss: LossDeclaration) -> str:
    """What the plot of a loss has on its axis."""
    other = {"snr_contrastive": "noise to signal", "hinge_pair": "the score", "prototypical": "distance"}
    angle = loss.on_sphere or loss.needs_classes or loss.name in ("logistic_pair", "n_pairs")
    return other.get(loss.name, "angle" if angle else "distance")


def plane(name: str) -> None:
    """The plane of points to drag, with loss `name` chosen first."""
    offered = [plain(loss) for loss in LOSSES.values() if loss.name != "sum_of"]
    mount("plane", key="plane", data={"loss": name, "losses": offered})


def _set_up(loss: LossDeclaration, params: dict[str, object]) -> None:
    """Set Explore up with the parameters that the plot shows."""
    ui = state.left()
    ui.choose("loss", loss.name)
    for parameter in loss.parameters:
        if parameter.name in params:
            ui.choose_param("loss", loss, parameter, parameter.check(loss.name, params[parameter.name]))


def _parameters(declared: Declaration) -> None:
    if not declared.parameters:
        return
    st.markdown("##### Parameters")
    rows = ["| Parameter | Default | May be | |", "|---|---|---|---|"]
    rows += [
        f"| `{parameter.name}` | {default(parameter)} | {limits(parameter)} | {parameter.help} |"
        for parameter in declared.parameters
    ]
    st.markdown("\n".join(rows))
