"""The state of the interface: one typed object per session, and the address that holds all of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dmlviz.catalog.parameters import Fields, Spec
from dmlviz.catalog.projections import PROJECTIONS, REFERENCES, Engine, ProjectionSpec, declaration, declarations
from dmlviz.config import ProjectionConfig
from dmlviz.lessons import LESSONS, Lesson, Task
from dmlviz.runs.run import LIVE
from dmlviz_app.forms import view_query
from dmlviz_app.forms.selection import SeenView, Selection, ask
from dmlviz_app.forms.training_settings import FURTHER, SETTINGS, TrainingDraft
from dmlviz_app.forms.view_query import OURS, PROJECTION_FIELDS, projection_views
from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.address import Param, UrlState

PAGE = "explore"
KEY = f"page.{PAGE}"
MAX_DIMENSION = 1 << 20  # of an embedding, where only the number of images is known
_PROJECTION_DEFAULTS = {name: ProjectionConfig.model_fields[name].default for name in PROJECTION_FIELDS}


@dataclass
class UIState(TrainingDraft, UrlState):
    """A person's choices: settings of the next training, the run and view that are shown.

    Attributes:
        run: Id of the run; None for the one that comes with the program.
        view: "live", or the name of a projection.
        map_id: The ID of a projection by which the address names the view, until it is looked up.
        previous_view: The view before this one, to which `restore_view` returns.
        subset: The test images that alone are projected; None for all. The live view shows all.
        whole_view: The view of all test images, to which `show_whole` returns.
        projection_overrides: Fields of the projection's config that differ from their defaults.
        opened: ID of the run for which the first map was chosen, by the page or a person.
        awaits: Whether the page chose a map that is still being drawn, so that PCA stands in for it.
        beside: Whether the map of the other engine is shown beside the projection's.
        seen: What the browser said last of the pin, the selection and the step.
        more: Whether the further settings of the form are open.
        curves: The figure in the drawer *Curves*; None while it is closed.
        lesson: Name of the lesson that is open, as a teacher's link asks for it.
        task: Number of its task, from 1.
        guess: Number of the person's guess, from 1.
        unknown_query: Parameters of the URL that the app does not know; they are kept.
        last_query: The query that was last read from the URL or written there.
    """

    run: str | None = None
    view: str = LIVE
    map_id: str = ""
    previous_view: str = LIVE
    subset: Selection | None = None
    whole_view: str = LIVE
    projection_overrides: Fields = field(default_factory=dict)
    opened: str | None = None
    awaits: bool = False
    beside: bool = False
    seen: SeenView = field(default_factory=SeenView)
    more: bool = False
    curves: str | None = None
    lesson: str | None = None
    task: int = 1
    guess: int | None = None
    unknown_query: dict[str, str] = field(default_factory=dict)
    last_query: dict[str, str] | None = None
    ADDRESS = view_query.ADDRESS

    def cause(self, place: str) -> object:
        """Return what the sentences at a place are about: "run" is the head of the page, "map" the map."""
        if place == "run":
            return self.run
        if place == "curves":
            return self.curves
        if place.partition(".")[0] == "map":
            params = {key: values for key, values in self.params.items() if values and key.startswith("view.")}
            return repr((self.run, self.view, self.projection_overrides, params, self.subset, self.beside))
        return super().cause(place)

    def projection(self) -> ProjectionConfig | None:
        """Return the shown projection; None for the live view."""
        if self.view == LIVE:
            return None
        params = self._params(self._spec(self.projection_overrides.get("engine", OURS)))
        subset = None if self.subset is None else self.subset.word
        return ProjectionConfig(method=self.view, params=params, subset=subset, **self.projection_overrides)

    def second_projection(self) -> ProjectionConfig | None:
        """Return the same projection by the other engine if it is shown beside; None otherwise."""
        config = self.projection() if self.beside and self.view in REFERENCES else None
        return None if config is None else config.by("reference" if config.engine == OURS else OURS)

    def params_with(self, engine: Engine) -> Fields:
        """Return the parameters that the shown method has, or would have, when this engine draws it."""
        spec = self._spec(engine)
        return spec.with_defaults(self._params(spec))

    def _params(self, spec: ProjectionSpec) -> Fields:
        """Return the parameters that were set; for a subset too small for a default, also the largest allowed value."""
        changes = self.changed_params("view", spec.name)
        if self.subset is None or spec.limits is None:
            return changes
        limits = spec.limits(self.subset.count, MAX_DIMENSION)
        defaults = {
            one.name: limits[one.name]
            for one in spec.parameters
            if limits.get(one.name, one.default) < one.default and limits[one.name] >= (one.minimum or 0)
        }
        return defaults | changes

    def _spec(self, engine: Engine) -> ProjectionSpec:
        return declaration(self.view, engine)

    def set_view(self, view: str) -> None:
        """Choose a view, to which `restore_view` is the opposite."""
        self.messages.forget("map")
        self.previous_view, self.view, self.awaits = self.view, view, False
        if view == LIVE:
            self.subset = None
        if view not in REFERENCES:
            self.projection_overrides.pop("engine", None)
            self.beside = False

    def restore_view(self) -> None:
        """Show the view before this one, which cannot be drawn or was dismissed."""
        self.view = self.previous_view if self.previous_view != self.view else LIVE
        self.previous_view, self.projection_overrides, self.beside = LIVE, {}, False
        if self.view == LIVE:
            self.subset = None

    def project_subset(self, subset: Selection) -> None:
        """Project these images alone, by the method of the map that is shown, or of the last one."""
        if self.subset is None:
            self.whole_view = self.view
        self.subset = subset
        if self.view == LIVE:
            self.set_view(self.previous_view if self.previous_view != LIVE else projection_views()[0])

    def show_projection(self, config: ProjectionConfig | None, dataset: str) -> None:
        """Show a projection of a run of this data set as it was asked for before; None for the live view."""
        self.set_view(LIVE if config is None else config.method)
        if config is None:
            return
        spec = declaration(config.method, config.engine)
        self.drop_projection(config.method)
        self.set_projection(**{name: getattr(config, name) for name in PROJECTION_FIELDS})
        for parameter in spec.parameters:
            if parameter.name in config.params:
                self.set_param("view", spec, parameter, config.params[parameter.name])
        self.subset = None if config.subset is None else Selection.decode(f"{dataset}.{config.subset}")

    def show_whole(self) -> None:
        """Show all images again, on the map that was shown before."""
        self.subset = None
        self.set_view(self.whole_view)

    def set_projection(self, **fields: Any) -> None:
        """Set engine, dimensions, seed and epochs of a projection; raise UserError where they do not go together."""
        ProjectionConfig(**({} if self.view == LIVE else {"method": self.view}) | fields)
        self.projection_overrides = {
            name: value for name, value in fields.items() if value != _PROJECTION_DEFAULTS[name]
        }

    def drop_projection(self, view: str) -> None:
        """Reset every parameter of a view to its default, for all engines."""
        for spec in declarations(view) if view in PROJECTIONS else ():
            self.params.pop(f"view.{spec.name}", None)

    def choices(self) -> dict[str, Spec]:
        """Return the specs that have parameters, by role, including the shown projection."""
        if self.view == LIVE:
            return super().choices()
        return super().choices() | {"view": self._spec(self.projection_overrides.get("engine", OURS))}

    @property
    def active_task(self) -> tuple[Lesson, Task] | None:
        """The lesson and the task of it that are under way."""
        if self.lesson is None:
            return None
        lesson = LESSONS[self.lesson]
        return lesson, lesson.tasks[self.task - 1]

    def start_task(self, lesson: str | None, task: int = 1) -> None:
        """Begin a task: its settings in place of what was set; None ends the lesson and leaves everything else."""
        self.lesson, self.task, self.guess = lesson, task, None
        if self.active_task is not None:
            dataset = {name: value for name, value in self.settings.items() if name == "dataset"}
            task_state = UIState.from_query(view_query.settings_from_query(self.active_task[1]))
            self.settings, self.params = dataset | task_state.settings, task_state.params
            self.show(None)

    def show(self, run: str | None, *, keeps_map: bool = False) -> None:
        """Show another run, from its own side, or by the map that was chosen."""
        if run != self.run:
            self.opened = None
        kept = {"dims", "seed"} if keeps_map else ()
        self.run, self.view, self.previous_view = run, self.view if keeps_map else LIVE, LIVE
        self.projection_overrides = {
            key: self.projection_overrides[key] for key in self.projection_overrides if key in kept
        }
        self.beside, self.subset, self.whole_view = False, None, LIVE
        self.messages.forget("map")
        self.seen = SeenView(selected=self.seen.selected)

    def select_images(self, selection: Selection | None, pinned: int | None = None) -> None:
        """Select these test images on the map, and pin one of them."""
        self.seen = SeenView(self.seen.pinned if pinned is None else pinned, self.seen.step, selection)
        query = {"select": "" if selection is None else selection.encode}
        ask(PAGE, query if pinned is None else query | {"pin": str(pinned)})

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults and without what the browser writes."""
        of_task = {} if self.active_task is None else view_query.set_by_task(self)
        return self.unknown_query | view_query.LESSON.encode(self) | of_task | self.ADDRESS.encode(self)

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "UIState":
        """Decode URL parameters; what cannot be followed becomes a message."""
        state = cls(seen=SeenView.from_query(query))
        view_query.LESSON.decode(query, state)
        state.unknown_query = {
            key: text
            for key, text in query.items()
            if view_query.is_unknown(key) or (key == "lesson" and state.lesson is None)
        }
        if state.active_task is not None:
            query = view_query.settings_from_query(state.active_task[1]) | dict(query)
        cls.ADDRESS.decode(query, state)
        for place, sentence in view_query.strangers(query, state):
            state.messages.say(place, sentence)
        return state

    def refuse(self, param: Param, text: str, sentence: str) -> None:
        """Say why a parameter of an address cannot be followed, where the form or the page has it."""
        by_itself = param.key in SETTINGS and param.refusal(text, UIState())  # not for another setting
        cause = (lambda: self.settings.get(param.key)) if by_itself else None
        self.more |= param.key in FURTHER
        self.messages.say(param.place or param.key, sentence, cause)


def current() -> UIState:
    """Return this session's state of Explore."""
    return url_state.get_or_create(UIState, KEY)


def saved_state() -> UIState:
    """Return the state in which Explore was left, for other pages to change or to link to."""
    state = url_state.peek(UIState, KEY)
    if state is None:
        state = st.session_state[KEY] = UIState()
    return state


def publish(ui: UIState) -> None:
    """Write the state to the address, where it changed."""
    url_state.write_url(ui)
