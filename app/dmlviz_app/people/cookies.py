"""The cookies that say who sends a request: of a login, set by Streamlit after `st.login`, and of a browser.

`st.user` is the public way to the login, but only a page's script has it; a route gets nothing but the request. So
its cookie is read with Streamlit's own functions, which are not public: they check the signature and the age, and put
together a cookie that was too long for one. `tests/app/test_login.py` logs in at a real OIDC server and fails when they
move.
"""

import contextlib
import json
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st
from itsdangerous import BadSignature, Signer
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from dmlviz.storage.files import atomic_write


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
    names = [name for name in auth if isinstance(auth[name], Mapping) and "client_id" in auth[name]]
    return [None] if "client_id" in auth else [*names]


def login_claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return the identity provider's claims about the sender of these cookies; empty without a login."""

    def content_of(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(get_cookie_secret(), name, value.encode("latin-1"))

    try:
        content = get_cookie_with_chunks(content_of, USER_COOKIE_NAME)
        claims = json.loads(content) if content else {}
    except ValueError:  # cut, or not text
        return {}
    return claims if isinstance(claims, dict) else {}


COOKIE = "dmlviz_browser"
_TOKEN = re.compile("[0-9a-f]{32}")


class BrowserCookie:
    """Gives and checks the cookies of a server.

    Args:
        key: Secret key of the signatures.
    """

    def __init__(self, key: bytes) -> None:
        self._signer = Signer(key, salt=COOKIE)
        self._cached_check = lru_cache(maxsize=4096)(self._check)  # each rerun of a page asks several times

    def issue(self) -> str:
        """Return the cookie's value for a new browser."""
        return self._signer.sign(secrets.token_hex(16)).decode()

    def token(self, cookies: Mapping[str, str]) -> str | None:
        """Return the token of the browser that sent these cookies; None if we gave it none."""
        return self._cached_check(cookies.get(COOKIE, ""))

    def _check(self, value: str) -> str | None:
        try:
            token = self._signer.unsign(value).decode()
        except (BadSignature, UnicodeError):
            return None
        return token if _TOKEN.fullmatch(token) else None


def public_id(token: str) -> str:
    """Return an ID that others may see: the token itself is as good as a password."""
    return sha256(token.encode()).hexdigest()[:12]


def load_key(folder: Path) -> bytes:
    """Return the secret key of a runs folder, made at the first start; only the server's user can read it."""
    path = folder / ".cookie-key"
    try:
        key = path.read_bytes()
    except OSError:
        key = b""
    if len(key) >= 32:
        return key
    key = secrets.token_bytes(32)
    try:
        with atomic_write(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(key)
    except OSError:  # a folder that can only be read: browsers get new cookies after each start
        pass
    return key
