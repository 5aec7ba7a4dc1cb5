"""Renders one catalog entry of the Learn page from its spec."""

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import with_terms
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS, MetricSpec
from dmlviz.catalog.miners import MinerSpec
from dmlviz.catalog.parameters import LossSpec, Spec
from dmlviz.catalog.projections import REFERENCES, ProjectionSpec
from dmlviz.config import TrainConfig
from dmlviz_app.forms import view_state as explore
from dmlviz_app.learn.catalog_index import (
    Kind,
    caveat,
    default,
    limits,
    no_miner_note,
    parameters_json,
    recommendations,
    recommended_in_dimensions,
    related_entries,
    to_json,
)
from dmlviz_app.learn.code import figures_of, show_code, show_figures
from dmlviz_app.learn.protocol import (
    CloudChoice,
    ForcePlaygroundProps,
    LayoutPlaygroundProps,
    LossPlotProps,
    RankingToyProps,
)
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.architectures import show_architecture
from dmlviz_app.widgets.components import mount
from dmlviz_app.workbench.current_view import shown_run

NO_PLOT = (
    "A weighted sum has no curve of its own: it adds the curves of its two parts, each times its weight. "
    "See the pages of both losses."
)

ARCHITECTURES = {
    "net": ("Its layers", "Found in the net itself, for gray images of 28 × 28 pixels and 64 dimensions."),
    "loss": (
        "From the images to the loss",
        "With the net LeNet for digits. Found in the nets and the loss themselves; a softmax over classes has ten.",
    ),
}

RANKING_FAMILY = "retrieval"  # metrics of one ranking of the gallery for each query
RANKING_HINT = (
    "Click a result to make it right or wrong, drag it to another rank. Under a right one is its precision: how many "
    "of the results up to it are right."
)


def render_entry(kind: Kind, name: str) -> None:
    """Render the entry."""
    spec: Spec = kind.catalog[name]
    family = f" · {spec.family}" if spec.family else ""
    st.markdown(f"### {spec.title}\n:small[{kind.noun}{family} · `{spec.name}`]")
    if spec.name in kind.catalog.plugged:
        _about(kind, spec)
        return
    about, code = st.tabs(["About", "Code"], key=f"learn.part.{kind.name}.{name}")
    with about:
        _about(kind, spec)
    with code:
        show_code(kind.name, name)


def _about(kind: Kind, spec: Spec) -> None:
    left, right = st.columns([5, 3], gap="large")
    with left:
        st.markdown(with_terms(spec.summary))
        if spec.formula:
            st.markdown(rf"$\displaystyle {spec.formula}$")
        if isinstance(spec, ProjectionSpec) and spec.explanation:
            st.markdown(f"**In words.** {spec.explanation}")
        if spec.when_to_use:
            st.markdown(f"**When to use it.** {with_terms(spec.when_to_use)}")
        if caveat(spec):
            st.markdown(f"**Caution.** {with_terms(caveat(spec))}")
    with right:
        _facts(kind, spec)
    if isinstance(spec, LossSpec):
        _illustration(spec)
    if isinstance(spec, MetricSpec) and spec.family == RANKING_FAMILY:
        _ranking_toy(spec)
    if isinstance(spec, ProjectionSpec) and spec.in_page:
        _layout_playground(spec)
    figures = figures_of(kind.name, spec.name)
    if figures:
        st.markdown("#### Figures to move" if len(figures) > 1 else "#### A figure to move")
        show_figures(figures)
    if kind.name in ARCHITECTURES:
        title, about = ARCHITECTURES[kind.name]
        st.markdown(f"#### {title}")
        st.caption(about)
        show_architecture(kind.name, spec.name)
    _parameters(spec)
    if isinstance(spec, ProjectionSpec) and spec.name in REFERENCES:
        _reference_engine(REFERENCES[spec.name])


def _layout_playground(projection: ProjectionSpec) -> None:
    st.markdown("#### Points to play with")
    services = session_services()
    run = shown_run(explore.saved_state(), services)
    clouds = [
        CloudChoice(title=f"{DATASETS[name].title}: pixels", url=f"{ROUTES}/clouds/{name}.json")
        for name in services.datasets.available()
        if name in DATASETS.builtin and DATASETS[name].recipe is None
    ]
    if run is not None and run.embedded_steps:
        clouds.append(CloudChoice(title="The run shown in Explore", url=f"{ROUTES}/runs/{run.id}/cloud.json"))
    props = LayoutPlaygroundProps(method=projection.name, parameters=parameters_json(projection), clouds=clouds)
    mount("layout_playground", key="layout_playground", data=props)


def _ranking_toy(metric: MetricSpec) -> None:
    st.markdown("#### A ranking to change")
    st.caption(RANKING_HINT)
    titles = {name: spec.title for name, spec in METRICS.items() if spec.family == RANKING_FAMILY}
    mount("ranking_toy", key="ranking_toy", data=RankingToyProps(metric=metric.name, titles=titles))


def _facts(kind: Kind, spec: Spec) -> None:
    if isinstance(spec, MetricSpec):
        st.markdown(f"**Range.** {spec.range[0].upper()}{spec.range[1:]}")
    related = related_entries(spec)
    if related or no_miner_note(spec):
        st.markdown("**Combines with**")
        with st.container(horizontal=True, gap="small"):
            for related_kind, name in related:
                navigation.link("learn", related_kind.catalog[name].title, {related_kind.name: name})
        if not related:
            st.caption(no_miner_note(spec))
    settings = recommendations(spec)
    if settings:
        text = " · ".join(f"{label} {value}" for label, value in settings.items())
        st.markdown(f"**Recommended settings.** {text}")
    for dimensions, advice in recommended_in_dimensions(spec).items():
        text = " · ".join(f"{label} {value}" for label, value in advice.items())
        st.markdown(f"**In {dimensions} dimensions.** {text}")
    if spec.reference:
        st.markdown(f"**Reference.** {spec.reference}")
    if isinstance(spec, MetricSpec) and spec.three_spaces:
        navigation.link("learn", "Three spaces that only MAP@R tells apart", {"topic": "three-spaces"})
    if kind.name in ("miner", "net", "sampler"):
        button(
            "Try it in Explore",
            key=f"try.{kind.name}.{spec.name}",
            on_click=_request_training,
            args=(kind, spec),
        )
        if st.session_state.pop(_REQUEST_KEY, None):
            navigation.switch_to("explore")


_REQUEST_KEY = "learn.asked"


def _request_training(kind: Kind, spec: Spec) -> None:
    """Set up Explore's settings; the page switches to Explore later, which a callback cannot do."""
    ui = explore.saved_state()
    if isinstance(spec, MinerSpec):
        takes = [name for name, loss in LOSSES.items() if spec.tuple_kind in loss.tuple_kinds]
        if ui.settings.get("loss", TrainConfig.model_fields["loss"].default) not in takes:
            ui.set("loss", takes[0])
    ui.set(kind.name, spec.name)
    st.session_state[_REQUEST_KEY] = True


def _illustration(loss: LossSpec) -> None:
    st.markdown("#### The loss as a curve")
    if loss.parts({}):
        st.caption(NO_PLOT)
        return
    result = mount(
        "loss_plot",
        key="loss_plot",
        data=LossPlotProps(loss=loss.name, parameters=to_json(loss)["parameters"]),
        on_go_change=lambda: None,
    )
    if result.go:
        _prepare_config(loss, result.go)
        navigation.switch_to("explore")
    st.markdown("#### Forces in the plane")
    force_playground(loss.name)


def force_playground(name: str) -> None:
    """Render the force playground with loss `name` selected."""
    losses = [to_json(loss) for loss in LOSSES.values() if not loss.parts({})]
    mount("force_playground", key="force_playground", data=ForcePlaygroundProps(loss=name, losses=losses))


def _prepare_config(loss: LossSpec, params: dict[str, object]) -> None:
    """Set up Explore with the loss parameters of the plot."""
    ui = explore.saved_state()
    ui.set("loss", loss.name)
    for parameter in loss.parameters:
        if parameter.name in params:
            ui.set_param("loss", loss, parameter, parameter.check(loss.name, params[parameter.name]))


def _reference_engine(reference: ProjectionSpec) -> None:
    st.markdown(f"#### {reference.title}")
    st.markdown(f"{reference.summary} {reference.reference}")
    _parameters(reference, heading=False)


def _parameters(spec: Spec, *, heading: bool = True) -> None:
    if not spec.parameters:
        return
    if heading:
        st.markdown("#### Parameters")
    rows = ["| Parameter | Default | May be | Meaning |", "|---|---|---|---|"]
    rows += [
        f"| `{parameter.name}` | {default(parameter)} | {limits(parameter)} | {_cell(parameter.help)} |"
        for parameter in spec.parameters
    ]
    st.markdown("\n".join(rows))


def _cell(text: str) -> str:
    """Return a text for a table, whose bars would end the cell."""
    return text.replace("|", r"\|")
