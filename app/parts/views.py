"""Which picture of the embedding is shown, and how it is drawn."""

from typing import Any

import streamlit as st

from app.identity import owner
from app.parameters import controlled, entered, fields
from app.services import Services
from app.shown import Shown
from app.state import LIVE, OURS, VIEWS, UIState
from dmlviz.bases import native_view
from dmlviz.config import ProjectionConfig
from dmlviz.data.declared import DATASETS
from dmlviz.drawing import film_steps
from dmlviz.errors import UserError
from dmlviz.projection import within
from dmlviz.projection.declared import PROJECTIONS
from dmlviz.projection.declared_reference import REFERENCES
from dmlviz.projection.engines import Engine, declaration
from dmlviz.record import Run

POPOVER = 340  # pixels
ASKED = "view.engine.asked"  # (run and map that the form is about, the engine picked for the next one)
END, FILM = "end", "film"  # what else than a step may be drawn
SLOW_IN_3D = 3000  # points, from which on three dimensions take minutes


def views(ui: UIState, services: Services, shown: Shown) -> None:
    """The methods, and what the chosen one can be told."""
    native = native_of(shown.run)
    offered = [name for name in VIEWS if name != native and not (native == "plane" and name == "pca")]
    names = {LIVE: PROJECTIONS[native].title} | {name: PROJECTIONS[name].title for name in offered}

    def chosen(view: str) -> None:
        ui.notes.clear()
        ui.look(view)
        draw(ui, services, shown, resume=True)

    controlled(
        st.segmented_control,
        "Projection",
        "view",
        ui.view if ui.view in names else LIVE,
        chosen,
        options=list(names),
        format_func=names.__getitem__,
        label_visibility="collapsed",
        required=True,
        help=None,
    )
    menu = st.popover("About" if ui.view == LIVE else "Parameters", type="tertiary", key="view-menu", on_change="rerun")
    if menu.open:
        with menu, st.container(width=POPOVER):
            declared = PROJECTIONS[native if ui.view == LIVE else ui.view]
            st.caption(declared.summary)
            if ui.view == LIVE:
                st.caption(declared.caution)
            else:
                _form(ui, services, shown)


def native_of(run: Run) -> str:
    """The name of the projection that a run plays by itself."""
    return native_view(run.config.embedding_dim, len(DATASETS[run.config.dataset].classes))


def draw(ui: UIState, services: Services, shown: Shown, *, resume: bool = False) -> None:
    """Start the projection that is wanted, or go on with it; say what is wrong with it, and show what was before."""
    try:
        wanted = ui.projection()
        if wanted is not None:
            services.jobs.project(shown.run.id, wanted, owner(), resume=resume)
    except UserError as error:
        ui.notes.append(str(error))
        ui.forget(ui.view)
        ui.back()


def _form(ui: UIState, services: Services, shown: Shown) -> None:
    wanted, run = ui.projection(), shown.run
    if wanted is None:
        return
    engine = _engine(ui, wanted, run) if ui.view in REFERENCES else wanted.engine
    declared, values = declaration(ui.view, engine), ui.params_with(engine)
    if engine != OURS:
        st.caption(declared.summary)
    n, dimension = run.epoch(run.epochs[0] if wanted.film else wanted.step)[0].shape

    def send() -> None:
        ui.notes.clear()
        entered(ui, "view", declared)
        epoch = st.session_state["view.epoch"]
        more: dict[str, Any] = {"engine": engine, "dims": st.session_state["view.dims"], "film": epoch == FILM}
        more["step"] = epoch if isinstance(epoch, int) else None
        more["seed"] = st.session_state.get("view.seed", wanted.seed)
        try:
            ui.draw(**more)
            _ = ui.projection()  # its parameters may not go together
        except UserError as error:
            ui.notes.append(str(error))
            ui.forget(ui.view)
        draw(ui, services, shown)

    with st.form(f"view.{declared.name}", border=False):
        parameters = [within(parameter, n, dimension) for parameter in declared.parameters]
        fields("view", declared, [one for one in parameters if one.name != "z" or wanted.dims == 3], values)
        left, right = st.columns(2)
        with left:
            _dimensions(wanted, engine, n)
        if "iterations" in wanted.params:
            with right:
                help = "of the first positions and of everything drawn at random; another one shows what is chance"
                controlled(st.number_input, "Seed", "view.seed", wanted.seed, None, min_value=0, step=1, help=help)
        _epochs(wanted, run)
        st.form_submit_button("Draw", on_click=send, width="stretch")


def _engine(ui: UIState, wanted: ProjectionConfig, run: Run) -> Engine:
    """Who is to draw the map; only the form below changes with it until that is sent."""
    about = run.id, wanted.id
    asked = st.session_state.get(ASKED)
    value: Engine = asked[1] if asked and asked[0] == about else wanted.engine

    def chosen(engine: Engine) -> None:
        st.session_state[ASKED] = about, engine

    names = {OURS: "dmlviz", "reference": REFERENCES[ui.view].name}
    controlled(
        st.segmented_control,
        "Engine",
        "view.engine",
        value,
        chosen,
        options=list(names),
        format_func=names.__getitem__,
        required=True,
        help="who computes the map: dmlviz, which shows it while it forms, or the library that everybody refers to",
    )
    return value


def _dimensions(wanted: ProjectionConfig, engine: Engine, n: int) -> None:
    help = "a map to turn instead of a flat one"
    if n > SLOW_IN_3D and wanted.method == "tsne" and engine == OURS:
        help += f"; t-SNE of {n:,} points in 3-D takes minutes, an epoch of the watched images seconds"
    controlled(
        st.segmented_control,
        "Dimensions",
        "view.dims",
        wanted.dims,
        None,
        options=[2, 3],
        format_func=lambda dims: f"{dims}-D",
        required=True,
        help=help,
    )


def _epochs(wanted: ProjectionConfig, run: Run) -> None:
    """The end, an epoch, or all of them."""
    labels, watched = run.labels, run.watched
    counts = [0 if some is None else len(some) for some in (labels, watched)]
    steps = run.epochs
    filmed = len(film_steps(run, wanted))
    words = {
        END: f"The end: all {counts[0]:,} test images",
        FILM: f"A film of {filmed} of {len(steps)} epochs: {counts[1]:,} images",
    } | {step: f"Step {step:,}: {counts[1]:,} watched images" for step in steps}
    chosen: str | int = FILM if wanted.film else END if wanted.step not in steps else int(wanted.step or 0)
    controlled(
        st.selectbox,
        "Epoch",
        "view.epoch",
        chosen,
        None,
        options=list(words),
        format_func=words.__getitem__,
        help="of every epoch the same images were kept; maps of a film begin where the one before ended and are turned "
        "onto it, so that they can be played",
    )
