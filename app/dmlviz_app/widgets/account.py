"""Account panel: who the person is, and shared links; empty in single-user mode."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from dmlviz.errors import UserError
from dmlviz_app.people import policy
from dmlviz_app.people.people import Person
from dmlviz_app.server.access import NO_ACCESS
from dmlviz_app.server.services import Services
from dmlviz_app.widgets.messages import escape_markdown

SHARE = "share"  # the parameter with the key
KINDS: tuple[Literal["run", "dataset"], ...] = ("run", "dataset")  # the parameters that name what is shared


@dataclass(frozen=True)
class SharedLink:
    """A link: what is shared, a run or a custom data set, its ID, and the key."""

    kind: Literal["run", "dataset"]
    item: str
    key: str

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "SharedLink | None":
        """Return the link that an address holds; None if it holds none."""
        kind = next((kind for kind in KINDS if kind in query), None)
        if SHARE not in query or kind is None:
            return None
        return cls(kind, query[kind][:100], query[SHARE][:200])

    def open(self, services: Services) -> bool:
        """Let this person see it from now on; return whether the link is valid."""
        reader = services.person.owner
        if not reader or not services.person.may(policy.SEE):
            return False
        if self.kind == "dataset":
            return services.datasets.may_train_on(self.item) or services.data_owners.open_link(
                self.item, self.key, reader
            )
        services.runs.open_link(self.item, self.key)
        return True


def check_access(services: Services) -> None:
    """Show nothing to those who may not look, and end the page."""
    if not services.person.may(policy.SEE):
        st.markdown(NO_ACCESS)
        st.stop()


def open_link(services: Services) -> None:
    """Keep what a link in the address shares among what this person sees; an invalid link shows nothing."""
    link = SharedLink.from_query(st.query_params)
    if link is not None:
        del st.query_params[SHARE]  # an address that is copied from now on has no link
        with contextlib.suppress(UserError):  # the page then says that there is no such run
            link.open(services)


def account(services: Services) -> None:
    """Render who the person is, at the end of the sidebar."""
    person = services.person
    if not person.may(policy.MEET):
        return
    with st.container(key="account"):
        if not person.is_named and services.identity.browsers.token(st.context.cookies) is None:
            st.caption(":orange[Your browser sends no cookie: allow cookies to see and keep your runs.]")
        else:
            about = None if person.is_named else _browser_help(person)
            st.caption(f"{escape_markdown(person.name)} · {person.role.name.lower()}", help=about)


def _browser_help(person: Person) -> str:
    period = "for this browser, as long as it keeps its cookies" if person.may(policy.KEEP) else "for one day"
    return f"Your runs are kept {period}. This browser is `{person.id}`."
