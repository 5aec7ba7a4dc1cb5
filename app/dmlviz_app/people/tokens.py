"""The access tokens of a server that is open to a network: one for each role that a browser can get by a link."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from types import MappingProxyType

from dmlviz.errors import UserError
from dmlviz_app.people.policy import Role

COOKIE = "dmlviz_access"
ROLES = Role.MEMBER, Role.TEACHER, Role.GUEST


class AccessTokens:
    """What a browser must show to get in; without any, everybody gets in.

    Args:
        tokens: Token of each role; where one is given, the others are made.

    Raises:
        UserError: If two roles have the same token.
    """

    def __init__(self, tokens: Mapping[Role, str | None] = MappingProxyType({})) -> None:
        given = {role: token for role, token in tokens.items() if token}
        if len(set(given.values())) < len(given):
            raise UserError(
                "Each role needs a token of its own; give --token, --teacher-token and --guest-token others."
            )
        self.tokens = {role: given.get(role) or secrets.token_hex(16) for role in ROLES if given}
        # A cookie does not hold the token.
        self.marks = {
            role: hashlib.sha256(f"{COOKIE} {token}".encode()).hexdigest() for role, token in self.tokens.items()
        }

    def __bool__(self) -> bool:
        """Return whether a token is asked for."""
        return bool(self.tokens)

    def role_of_token(self, text: str) -> Role | None:
        """Return the role that this token gives, compared in constant time; None for no token."""
        return _match(self.tokens, text)

    def role(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Role | None:
        """Return the role that a request shows in a cookie or a header; None where no token is asked for."""
        if not self:
            return None
        mark, bearer = cookies.get(COOKIE, ""), headers.get("authorization", "").removeprefix("Bearer ")
        return _match(self.marks, mark) or _match(self.tokens, bearer) or Role.NOBODY


def _match(texts: Mapping[Role, str], text: str) -> Role | None:
    found = [role for role, known in texts.items() if hmac.compare_digest(text.encode(), known.encode())]
    return found[0] if found else None
