"""The features: what each adds to the program. The core goes over `FEATURES` and imports none of them by name.

A record is read by the command line and by every worker, too: it loads nothing, and names what it calls.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dmlviz.errors import UserError
from dmlviz.parts import PLUGGED, Command, Kind

if TYPE_CHECKING:
    from starlette.routing import Route

    from dmlviz.export.site_builder import SiteBuilder
    from dmlviz_app.people.policy import Action
    from dmlviz_app.server.services import Services

# The packages with a record, `FEATURE`. Pages are linked to in this order, and the first page is the home page.
FOLDERS = (
    "server",
    "people",
    "widgets",
    "answers",
    "workbench",
    "explore",
    "compare",
    "labs",
    "runs",
    "clean",
    "learn",
    "classroom",
    "batch_explorer",
)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page.

    Attributes:
        address: What follows the server's address; the page keeps its state in the session as `page.ADDRESS`.
        title: What links to it say.
        script: What Streamlit runs.
        shared_only: Whether a server for one person does not link to it.
        bar: Renders a line on top of every page.
        sidebar: Renders the sidebar of every page, after it, given whether it is this one.
        catalog: The catalog whose entries Learn lists and finds, as "module:name"; `ADDRESS?NOUN=ENTRY` shows one.
        slow_imports: Modules that take long to import: the server does it before anyone asks.
    """

    address: str
    title: str
    script: Path
    shared_only: bool = False
    bar: Callable[["Services"], object] | None = None
    sidebar: Callable[[bool], object] | None = None
    catalog: str = ""
    slow_imports: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What a feature adds.

    Attributes:
        name: Its name, and that of its folder.
        page: Its page, linked to at the top.
        routes: Returns what it answers over HTTP, below /dmlviz; each declares who may ask (`server.access`).
        kinds: Background work, by name.
        components: Modules below frontend/src whose default export is a component: `labs/tracker/tracker.tsx` is
            mounted as "tracker", with `TrackerProps` of the folder's `protocol.py`; `npm run build` takes them.
        commands: Commands, `dmlviz NAME`.
        actions: What a person may do, by their role: `services.person.may(ACTION)` answers.
        site: Adds pages to a site, and cards of its first page.
    """

    name: str
    page: Page | None = None
    routes: Callable[[], "Sequence[Route]"] = tuple
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    components: Sequence[str] = ()
    commands: Sequence[Command] = ()
    actions: Sequence["Action"] = ()
    site: Callable[["SiteBuilder"], object] | None = None


class Features(Sequence[Feature]):
    """The features that come with the program, read when they are first asked for, then those of plug-ins."""

    @cached_property
    def _own(self) -> list[Feature]:
        return [import_module(f"dmlviz_app.{folder}").FEATURE for folder in FOLDERS]

    def add(self, feature: Feature) -> None:
        """Add the feature of a plug-in; raise UserError where something of that name is there."""
        for one in self:
            taken = _names(one) & _names(feature)
            if taken:
                raise UserError(f"The feature {one.name} has {' and '.join(sorted(taken))}: take another name.")
        PLUGGED.append(feature)

    @overload
    def __getitem__(self, index: int) -> Feature: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Feature]: ...
    def __getitem__(self, index: int | slice) -> Feature | Sequence[Feature]:
        """Return a feature by its place, or some of them."""
        return [*self._own, *PLUGGED][index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._own) + len(PLUGGED)


FEATURES = Features()


def pages() -> dict[str, Page]:
    """Return all pages by address."""
    return {feature.page.address: feature.page for feature in FEATURES if feature.page is not None}


def components() -> dict[str, str]:
    """Return the modules of all components by name."""
    modules = [module for feature in FEATURES for module in feature.components]
    return {re.sub("(?=[A-Z])", "_", Path(module).stem).lower(): module for module in modules}


def messages() -> dict[str, Any]:
    """Return by name what server and page send each other, as types; `protocol.py` of each folder has its own.

    They are props of components and answers of routes; frontend/protocol.mjs makes TypeScript of them. The types are
    typing_extensions' TypedDict: pydantic, which checks them in the tests, takes no other in Python 3.11.
    """
    names = [f"dmlviz_app.{folder}.protocol" for folder in FOLDERS]
    modules = [import_module(name) for name in names if find_spec(name) is not None]
    return {name: value for module in modules for name, value in vars(module).items()}


def props() -> dict[str, type]:
    """Return the type of the props of each component, by its name: `run_list` has `RunListProps`."""
    types = messages()
    return {name: types[f"{name.title().replace('_', '')}Props"] for name in components()}


def _names(feature: Feature) -> set[str]:
    """Return the names that no other feature may take."""
    page = [] if feature.page is None else [f"a page /{feature.page.address}"]
    kinds = [f"the work {name!r}" for name in feature.kinds]
    return {f"the name {feature.name!r}", *page, *kinds, *(f"the command {one.name!r}" for one in feature.commands)}
