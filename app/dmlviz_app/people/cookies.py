"""The cookie that says which browser sends a request."""

import os
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from itsdangerous import BadSignature, Signer

from dmlviz.storage.files import atomic_write

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
