"""Account panel: login, logout and shared links; empty in single-user mode."""

import contextlib

import streamlit as st

from dmlviz.errors import UserError
from dmlviz_app.people.cookies import login_providers
from dmlviz_app.people.people import Person
from dmlviz_app.people.policy import Action
from dmlviz_app.server.services import Services
from dmlviz_app.server.shared_links import SHARE, WAITING, SharedLink
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.markdown import escape_markdown


def check_access(services: Services) -> None:
    """Show nothing but the login to those who may not look, and end the page."""
    if services.person.may(Action.SEE):
        return
    if services.settings.access.login and not services.person.logged_in:
        _keep_link(services)
        st.markdown("Log in to see this page.")
        _login_buttons()
    else:
        st.markdown("You have no access to this server; ask who runs it.")
        _logout_button(services.person, services.settings.access.login)
    st.stop()


def open_link(services: Services) -> None:
    """Keep what a link in the address shares among what this person sees; an invalid link shows nothing.

    A link that was opened before the login is followed after it.
    """
    link = SharedLink.from_query(st.query_params)
    if link is not None:
        _keep_link(services)
        del st.query_params[SHARE]  # an address that is copied from now on has no link
    elif services.person.logged_in:
        link = WAITING.take(services.identity.browsers.token(st.context.cookies))
        if link is not None:
            st.query_params[link.kind] = link.item
    if link is not None:
        with contextlib.suppress(UserError):  # the page then says that there is no such run
            link.open(services)


def _keep_link(services: Services) -> None:
    """Keep the link in the address, if there is one, until a person logs in at this browser."""
    link = SharedLink.from_query(st.query_params)
    if link is not None and services.settings.access.login and not services.person.logged_in:
        WAITING.keep(services.identity.browsers.token(st.context.cookies), link)


def account(services: Services) -> None:
    """Render who the person is, at the end of the sidebar."""
    person, login = services.person, services.settings.access.login
    if not person.may(Action.MEET):
        return
    with st.container(key="account"):
        if not person.logged_in and services.identity.browsers.token(st.context.cookies) is None:
            st.caption(":orange[Your browser sends no cookie: allow cookies to see and keep your runs.]")
        else:
            about = None if person.logged_in else _browser_help(person)
            st.caption(f"{escape_markdown(person.name)} · {person.role.name.lower()}", help=about)
        if login and not person.logged_in:
            _login_buttons()
        _logout_button(person, login)


def _browser_help(person: Person) -> str:
    period = "for this browser, as long as it keeps its cookies" if person.may(Action.KEEP) else "for one day"
    return f"Your runs are kept {period}. This browser is `{person.id}`."


def _login_buttons() -> None:
    for provider in login_providers():
        label = "Log in" if provider is None else f"Log in with {provider.capitalize()}"
        button(label, key=f"login.{provider}", on_click=st.login, args=() if provider is None else (provider,))


def _logout_button(person: Person, login: bool) -> None:
    if login and person.logged_in:
        button("Log out", key="logout", type="tertiary", on_click=st.logout)
