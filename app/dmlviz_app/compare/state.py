"""State of the Compare page: two runs, or up to six, and how their settings differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Self

import numpy as np
import streamlit as st

from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.config.fields import plain, shape_of, text_of, words_of
from dmlviz.errors import UserError
from dmlviz.projection.alignment import rotation_onto
from dmlviz.runs.run import LIVE, Run, RunNotFoundError
from dmlviz_app.forms.selection import SeenView, Selection, ask
from dmlviz_app.forms.view_query import COMPARED_CURVES, CURVES, MAP
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.server.services import Services
from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.address import Address, Param, UrlState, choice, run_type
from dmlviz_app.workbench.current_view import RunView, run_images, view_titles, with_projection

PAGE = "compare"
KEY = f"page.{PAGE}"
LINK = "compare"
SIDES = "abcdef"
NTH = ("first", "second", "third", "fourth", "fifth", "sixth")
_HIDDEN_SETTINGS = ("loss_params", "miner_params", "num_snapshots", "eval_subset_size")


@dataclass
class CompareState(UrlState):
    """The state of the Compare page.

    Attributes:
        a: ID of the first run.
        b: ID of the second run; that of the first where two maps of one run are compared.
        c, d, e, f: IDs of further runs; then all have the first map.
        view_a: The first map: "live", or the name of a projection.
        view_b: The second map.
        curves: The figure in *Curves*; None while closed.
        seen: What the browser said last of the pin and the selection.
    """

    a: str | None = None
    b: str | None = None
    c: str | None = None
    d: str | None = None
    e: str | None = None
    f: str | None = None
    view_a: str = LIVE
    view_b: str = LIVE
    curves: str | None = None
    seen: SeenView = field(default_factory=SeenView)
    last_query: dict[str, str] | None = None

    def cause(self, place: str) -> object:
        """Return what the sentences at a place are about."""
        return self.curves if place == "curves" else (*self.runs, *self.views.items())

    ADDRESS = Address(
        *(
            Param(side, run_type(f"The address names a run ({side}) that cannot exist; showing others."), place="runs")
            for side in SIDES
        ),
        Param("view_a", MAP, LIVE),
        Param("view_b", MAP, LIVE),
        Param("curves", choice("figure", lambda state: {name: CURVES[name] for name in COMPARED_CURVES})),
    )

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Read an address; what it names and does not exist is said. Its `view` is that of both sides."""
        both = {f"view_{side}": query["view"] for side in "ab" if "view" in query}
        state = super().from_query(both | dict(query))
        state.seen = SeenView.from_query(query)
        return state

    @property
    def runs(self) -> list[str]:
        """The IDs of the runs that are chosen."""
        return [run for side in SIDES if (run := getattr(self, side)) is not None]

    @property
    def views(self) -> dict[str, str]:
        """The map of each side."""
        return {"a": self.view_a, "b": self.view_b}

    def select_images(self, selection: Selection | None) -> None:
        """Select these test images on both maps."""
        self.seen = replace(self.seen, selected=selection)
        ask(PAGE, {"select": "" if selection is None else selection.encode})

    def select_twice(self, run: Run) -> None:
        """Select two maps of one run: those that are chosen if they differ, otherwise the first two nonlinear ones."""
        names = list(view_titles(run))
        if self.view_a == self.view_b or not {self.view_a, self.view_b} <= set(names):
            self.view_a, self.view_b = [name for name in names if name != LIVE and not PROJECTIONS[name].linear][:2]
        self.select_all([run.id, run.id])

    def select(self, a: str | None, b: str | None) -> None:
        """Select two runs; selecting the same run for both sides swaps them."""
        if a is not None and a == b:
            a, b = self.b, self.a
        self.a, self.b = a, b

    def select_all(self, runs: Sequence[str]) -> None:
        """Select these runs, six at most."""
        if len(runs) > 2:
            self.view_b = LIVE
        for side, run in zip_longest(SIDES, runs[: len(SIDES)]):
            setattr(self, side, run)


def saved_state() -> CompareState:
    """State in which Compare was left, for other pages to change."""
    state = url_state.peek(CompareState, KEY)
    if state is None:
        state = st.session_state[KEY] = CompareState()
    return state


@dataclass(frozen=True)
class Compared:
    """Views of the runs that are compared: of one while there is no other."""

    views: tuple[RunView, ...]

    @property
    def a(self) -> RunView:
        """The first."""
        return self.views[0]

    @property
    def b(self) -> RunView | None:
        """The second of a pair; None where there are fewer or more."""
        return self.views[1] if len(self.views) == 2 else None

    @property
    def same_run(self) -> bool:
        """Return whether both are the same run, of which two maps are compared."""
        return self.b is not None and self.a.run.id == self.b.run.id

    @property
    def same_view(self) -> bool:
        """Return whether all maps are of one kind, so that their steps and the camera can be shared.

        They do as linear views of the trainings, and as maps that followed the trainings by one method.
        """
        first, *others = (None if view.projection is None else view.projection.config for view in self.views)
        return not self.same_run and (first is None or first.follow) and all(other == first for other in others)

    def turn(self, view: RunView) -> np.ndarray | None:
        """Return the matrix (2 × 2) that turns or mirrors a map onto the first: t-SNE and UMAP have no orientation.

        While one follows a training, that is by its last layout. None where a map is linear, has three dimensions, or
        has no layout yet.
        """
        first, other = self.a.projection, view.projection
        if view is self.a or not self.same_dataset or first is None or other is None:
            return None
        if any(one.config.declared.linear or one.config.dims != 2 for one in (first, other)):
            return None
        (target, there), (places, here) = _places(self.a), _places(view)
        _, ours, theirs = np.intersect1d(here, there, return_indices=True)
        places, target = places[ours], target[theirs]
        if not len(ours) or not (np.isfinite(target).all() and np.isfinite(places).all()):
            return None
        return rotation_onto(places, target)

    @property
    def same_dataset(self) -> bool:
        """Return whether there are several, all of one data set, so that maps and scores are comparable."""
        return len(self.views) > 1 and len({view.run.config.dataset for view in self.views}) == 1

    @property
    def complete(self) -> bool:
        """Return whether all have finished, with all test images embedded."""
        return self.same_dataset and all(view.complete for view in self.views)


def resolve(ui: CompareState, services: Services, preference: str | None) -> Compared | None:
    """Resolve the runs in the state.

    Gaps are filled with `preference`, or the newest run, and the newest that differs from it in one setting, or in any:
    runs whose test images are embedded, where there are such.
    """
    runs = services.runs.list()
    if not runs:
        return None
    for side in SIDES:
        try:
            if (run_id := getattr(ui, side)) is not None:
                services.runs.get(run_id)
        except RunNotFoundError:
            nth = NTH[SIDES.index(side)]
            ui.messages.say(
                "runs",
                f"The {nth} run was deleted; {'another stands in its place' if side in 'ab' else 'the others stay'}.",
            )
            setattr(ui, side, None)
    candidates = [run for run in runs if not run.info.get("fails")]  # the others fail on purpose
    if ui.a is None:
        first_of = [run for run in candidates if run.id == preference] + candidates
        others = [run for run in first_of if run.id != ui.b] or runs
        with_partner = [run for run in others if _partners(run, [run for run in candidates if ui.b in (None, run.id)])]
        both_embedded = (
            run
            for run in with_partner
            if run.id == preference or (run.embedded and any(other.embedded for other in _partners(run, candidates)))
        )
        ui.a = next(both_embedded, (with_partner or others)[0]).id
    first = services.runs.get(ui.a)
    if any(getattr(ui, side) for side in SIDES[2:]):  # without gaps, each once
        ui.select_all(list(dict.fromkeys(ui.runs)))
    if ui.b is None:
        partners = _partners(first, candidates)
        relatives = [run for run in partners if len(differences(first.config, run.config)) == 1]
        nearest_first = relatives + partners
        embedded = (run for run in nearest_first if run.embedded)
        ui.b = next((run.id for run in chain(embedded, nearest_first)), None)
    views = [run_view(services.runs.get(run), services) for run in ui.runs]
    sides = SIDES if len(views) <= 2 else SIDES[:1] * len(views)  # one map for all of many
    mapped = [_with_map(ui, side, view, services) for side, view in zip(sides, views, strict=False)]
    return Compared(tuple(views if len(views) > 2 and ui.view_a == LIVE else mapped))  # none where one was refused


def _with_map(ui: CompareState, side: str, view: RunView, services: Services) -> RunView:
    """Return the view with the map chosen for its side; a map that this run cannot have is dropped, and noted."""
    method = ui.views[side]
    if method == LIVE or not (view.complete or view.live):
        return view
    try:
        if method not in view_titles(view.run):
            raise UserError(f"{PROJECTIONS[method].title} is the map of the training of {view.run.title} already.")
        return with_projection(view, ProjectionConfig(method=method), services)
    except UserError as error:
        ui.messages.say(f"view_{side}", error)
        setattr(ui, f"view_{side}", LIVE)
        return view


def _places(view: RunView) -> tuple[np.ndarray, np.ndarray]:
    """Return the places (n × 2) of a map, or of its last layout, and the images that they are of (n)."""
    assert view.projection is not None
    if (whole := view.projection.coordinates) is not None:
        return whole, np.arange(len(whole))
    layouts, tracked = view.projection.layouts, view.run.tracked_indices
    if not layouts or tracked is None:
        return np.empty((0, 2)), np.empty(0, int)
    return view.projection.positions(layouts[max(layouts)]), tracked


def _partners(run: Run, runs: list[Run]) -> list[Run]:
    """Return those of `runs` that a run can be compared with."""
    return [other for other in runs if other.id != run.id and other.config.dataset == run.config.dataset]


def run_view(run: Run, services: Services) -> RunView:
    """Build the view of a run: status and test images."""
    return RunView(run, services.jobs.status(run.id), run_images(run, services))


def to_explore_state(run_view: RunView) -> UIState:
    """Build Explore's state for this run and map."""
    view = LIVE if run_view.projection is None else run_view.projection.config.method
    return UIState(run=run_view.run.id, view=view)


def differences(a: TrainConfig, b: TrainConfig) -> list[tuple[str, str, str]]:
    """List the settings that differ, as (name, first value, second value)."""
    rows = []
    for name in TrainConfig.model_fields:
        first, second = getattr(a, name), getattr(b, name)
        if name in _HIDDEN_SETTINGS or first == second or (name == "normalize" and a.space != b.space):
            continue
        texts = [shape_of(one) if name == "space" else text_of(one, name) for one in (a, b)]
        rows.append((words_of(name), texts[0], texts[1]))
    for role in ("loss", "miner"):
        if getattr(a, role) == getattr(b, role):
            first, second = getattr(a, f"{role}_params"), getattr(b, f"{role}_params")
            keys = [key for key in {**first, **second} if first.get(key) != second.get(key)]
            rows += [(f"{role}'s {key}", plain(first.get(key)), plain(second.get(key))) for key in keys]
    return rows


def running_side(compared: Compared) -> RunView | None:
    """View of a run that trains now, the last before the first; always the live view."""
    live = [run_view for run_view in reversed(compared.views) if run_view.live]
    return replace(live[0], projection=None) if live else None
