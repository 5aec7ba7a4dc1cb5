"""Who a session belongs to: the browser's cookie, or the session alone where no server set one."""

import secrets

import streamlit as st

from app.api.middleware import owner_of

_KEY = "owner"


def owner() -> str:
    """An opaque name of the browser that this session belongs to."""
    known = owner_of(st.context.cookies)
    if known is not None:
        return known
    return str(st.session_state.setdefault(_KEY, secrets.token_hex(16)))
