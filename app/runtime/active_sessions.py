"""Which sessions show which runs, so that a run that somebody looks at is not deleted to make room."""

import threading
from collections.abc import Iterable

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx


class ActiveSessions:
    """The runs that each page of each open session shows."""

    def __init__(self) -> None:
        self._runs_by_page: dict[tuple[str, str], frozenset[str]] = {}
        self._lock = threading.Lock()

    def mark_viewing(self, page: str, runs: Iterable[str]) -> None:
        """Note that the page that runs now shows these runs to its session."""
        context = get_script_run_ctx()
        if context is not None:
            with self._lock:
                self._runs_by_page[context.session_id, page] = frozenset(runs)

    def viewed_runs(self) -> frozenset[str]:
        """Every run that an open session shows."""
        with self._lock:
            if runtime.exists():
                instance = runtime.get_instance()
                self._runs_by_page = {
                    key: runs for key, runs in self._runs_by_page.items() if instance.is_active_session(key[0])
                }
            return frozenset[str]().union(*self._runs_by_page.values())
