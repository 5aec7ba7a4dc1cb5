"""Top of the form: what the next training starts from (a recipe, or a run), and what was changed since."""

import re
from collections.abc import Sequence

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.glossary import with_terms
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.recipes import RECIPES
from dmlviz.config import TrainConfig
from dmlviz.config.fields import words_of
from dmlviz.config.race import left_out, racer, usual_losses
from dmlviz.config.rules import give_way
from dmlviz.errors import UserError
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz_app.forms.parameters import bound_widget
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.housekeeping import enforce_quota
from dmlviz_app.server.services import Services
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.workbench.current_view import RunView

DEFAULT = next(iter(RECIPES))
MOST_NAMED = 4  # changes
_RACED = "start.raced"  # the runs of a race that was just begun: the page is left later, which a callback cannot do


def starting_point(ui: UIState, services: Services, run_view: RunView | None, config: TrainConfig) -> None:
    """Render the choice of a starting point, its sentence or the changes since, and the marks of changed fields."""
    candidates = _run(ui.base, services), run_view.run if run_view else None
    runs = {run.id: run for run in candidates if run is not None and can_use(run)}
    base = ui.base if ui.base in runs or ui.base in RECIPES else DEFAULT
    titles = {name: recipe.title for name, recipe in RECIPES.items()}
    for name, run in runs.items():
        is_shown = run_view is not None and run_view.run.id == name
        titles[name] = f"{'Shown run' if is_shown else 'Run'}: {run.title}"
    bound_widget(
        st.selectbox,
        "Start from",
        "start",
        base,
        lambda name: use(ui, services, name),
        options=list(titles),
        format_func=titles.__getitem__,
        help="Fills the whole form, for the chosen data. The map shows another run until you press Train.",
    )
    ui.messages.show("start")
    if base in RECIPES and RECIPES[base].losses:
        _race(services, config)
    changes = _changes(ui, services, base, config)
    if not changes:
        recipe = RECIPES.get(base)
        summary = recipe.summary if recipe else "The settings of this run, to train it with changes."
        st.caption(with_terms(summary))
        if recipe and recipe.measured:
            st.caption(f"Measured: {with_terms(recipe.measured)}")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="changes"):
        st.caption(f"Changed: {escape_markdown(_names(changes))}", width="stretch")
        button("Reset", key="reset", type="tertiary", on_click=use, args=(ui, services, base))
    fields = ", ".join(f".st-key-{_css_class(name)} label p::after" for name in changes)
    st.html(f"<style>{fields} {{ content: ' ●'; color: var(--st-primary-color, #4c56c0); font-size: .65em; }}</style>")


def _race(services: Services, config: TrainConfig) -> None:
    """Render the losses of a race with these settings, and its button, which leads to Compare."""
    losses = usual_losses(config)

    def race() -> None:
        st.session_state[_RACED] = services.jobs.race([racer(config, loss) for loss in losses])

    others = f"{len(LOSSES) - len(losses)} other losses are not among them; Compare has a choice of six."
    st.caption(f"{', '.join(LOSSES[loss].title for loss in losses)}. {others}", help=left_out(config, losses))
    button("Race these losses", key="start.race", width="stretch", disabled=len(losses) < 2, on_click=race)
    if raced := st.session_state.pop(_RACED, None):
        enforce_quota(services)
        navigation.go("compare", dict(zip("abcdef", raced, strict=False)))


def can_use(run: Run) -> bool:
    """Return whether the settings of a run can be those of a training."""
    return DATASETS[run.config.dataset].trainable


def use(ui: UIState, services: Services, base: str) -> None:
    """Fill the form from a recipe, for the data set that is chosen, or from a run."""
    ui.load(_config(base, services, ui.config(services.datasets.default()).dataset), "" if base == DEFAULT else base)


def _config(base: str, services: Services, dataset: str) -> TrainConfig:
    if base in RECIPES:
        return TrainConfig(**give_way(RECIPES[base].fields(dataset), {"dataset"}, TrainConfig.unchecked))
    return services.runs.get(base).config


def _changes(ui: UIState, services: Services, base: str, config: TrainConfig) -> list[str]:
    try:
        return ui.changes(config.dataset, _config(base, services, config.dataset))
    except UserError:  # the recipe does not go with the data
        return []


def _run(base: str, services: Services) -> Run | None:
    try:
        return services.runs.get(base) if base and base not in RECIPES else None
    except RunNotFoundError:
        return None


def _names(changes: Sequence[str]) -> str:
    names = []
    for change in changes:
        role, dot, name = change.partition(".")  # of a parameter "loss.triplet.margin": the loss's margin
        words = f"{role} {name.rpartition('.')[2]}" if dot else words_of(change)
        names.append(words.replace("_", " "))
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _css_class(name: str) -> str:
    """Return the class that Streamlit gives the widget of a field or parameter."""
    return re.sub("[^a-zA-Z0-9_-]", "-", name if "." in name else f"set.{name}")
