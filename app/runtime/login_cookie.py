"""Who is logged in, for the routes: read from the cookie that Streamlit sets after `st.login`.

`st.user` is the public way, but only a page's script has it; a route gets nothing but the request. So the cookie is
read with Streamlit's own functions, which are not public: they check the signature and the age, and put together a
cookie that was too long for one. `tests/app/test_login.py` logs in at a real OIDC server and fails when they move.
"""

import contextlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME


def login_configured() -> bool:
    """Return whether Streamlit's secrets have a section `[auth]`, so that people can log in.

    Looks into the files where Streamlit looks, the person's and the current folder's, because asking Streamlit before
    the server starts would read its options too early.
    """
    for folder in (Path.home(), Path.cwd()):
        with contextlib.suppress(OSError, ValueError):
            if "auth" in tomllib.loads((folder / ".streamlit" / "secrets.toml").read_text()):
                return True
    return False


def login_providers() -> list[str | None]:
    """Return the names of the login providers in the section `[auth]`; None stands for the only one, without a name."""
    auth = st.secrets["auth"]
    named = [name for name in auth if isinstance(auth[name], Mapping) and "client_id" in auth[name]]
    return [None] if "client_id" in auth else [*named]


def login_claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return what the identity provider said of the person who sent these cookies; empty if nobody is logged in."""

    def signed(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(get_cookie_secret(), name, value.encode("latin-1"))

    try:
        content = get_cookie_with_chunks(signed, USER_COOKIE_NAME)
        claims = json.loads(content) if content else {}
    except ValueError:  # cut, or not text
        return {}
    return claims if isinstance(claims, dict) else {}
