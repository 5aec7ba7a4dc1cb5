"""One lock for the state of a session, whichever thread runs its script.

Where a newer rerun replaces a script, Streamlit's old thread finishes while the new one begins. Each has a wrapper with
a lock of its own around the same state, so that one changes a dictionary over which the other iterates: an error after
which that rerun is lost. `tests/app/test_reruns.py` fails when the names used here move.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

_locks: dict[int, Any] = {}  # by the address of a state; that of one which is gone may serve the next


def share_session_lock() -> None:
    """Give all wrappers of one session's state the same lock; nothing the second time."""
    own_lock = SafeSessionState.__init__
    if hasattr(own_lock, "__wrapped__"):
        return

    @wraps(own_lock)
    def with_one_lock(self: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]) -> None:
        own_lock(self, state, yield_callback)
        object.__setattr__(self, "_lock", _locks.setdefault(id(state), threading.RLock()))

    SafeSessionState.__init__ = with_one_lock  # type: ignore[method-assign]
