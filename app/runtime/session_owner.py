"""Who a session belongs to: the browser, by its cookie; without a cookie, the session itself."""

import re
import secrets

import streamlit as st

COOKIE = "dmlviz_browser"
TOKEN = re.compile(r"[0-9a-f]{32}")
_KEY = "owner"


def owner_from_cookies(cookies: object) -> str | None:
    """The token of the browser among its cookies; None if we gave it none."""
    value = cookies.get(COOKIE) if hasattr(cookies, "get") else None
    return value if isinstance(value, str) and TOKEN.fullmatch(value) else None


def session_owner() -> str:
    """An opaque name of the browser whose session this is."""
    known = owner_from_cookies(st.context.cookies)
    if known is not None:
        return known
    return str(st.session_state.setdefault(_KEY, secrets.token_hex(16)))
