"""Links to shared items, as an address holds them, and those that wait until their browser has logged in."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from dmlviz_app.people.policy import Action
from dmlviz_app.server.services import Services

SHARE = "share"  # the parameter with the key
KINDS: tuple[Literal["run", "dataset"], ...] = ("run", "dataset")  # the parameters that name what is shared
MAX_WAITING = 10_000
WAIT_S = 3600.0  # seconds that a link waits for a login


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
        if not reader or not services.person.may(Action.SEE):
            return False
        if self.kind == "dataset":
            return services.datasets.may_train_on(self.item) or services.data_owners.open_link(
                self.item, self.key, reader
            )
        services.runs.open_link(self.item, self.key)
        return True


class WaitingLinks:
    """Links that were opened before their browser had logged in: the way back from the login has no parameters."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._links: dict[str, tuple[float, SharedLink]] = {}
        self._lock = threading.Lock()

    def keep(self, browser: str | None, link: SharedLink) -> None:
        """Keep a link for a browser, in the place of one before; nothing for a browser without a cookie."""
        if browser is None:
            return
        with self._lock:
            self._links.pop(browser, None)
            self._links[browser] = self._clock(), link
            while len(self._links) > MAX_WAITING:
                del self._links[next(iter(self._links))]

    def take(self, browser: str | None) -> SharedLink | None:
        """Return the link that waits for a browser, once; None if there is none, or it has waited too long."""
        with self._lock:
            time_s, link = self._links.pop(browser or "", (float("-inf"), None))
        return link if self._clock() - time_s <= WAIT_S else None


WAITING = WaitingLinks()
"""Of this process."""
