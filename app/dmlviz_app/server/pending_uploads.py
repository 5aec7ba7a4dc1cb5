"""Files that wait in memory until a page has read them: their number, size, owner and age.

Streamlit keeps every file sent to its upload route until the session ends, two minutes after the page was closed.
There is no public way to know which page shows a widget that takes files. So this module uses functions of Streamlit
that are not public: `Runtime.get_client`, `Runtime.get_app_session`, `SessionState.get_widget_states` and the methods
of its manager of uploaded files. `tests/app/people/test_upload_route.py` fails when they move.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from streamlit import runtime

from dmlviz.errors import UserError
from dmlviz.runs.quota import format_bytes
from dmlviz_app.people import policy
from dmlviz_app.people.people import MAX_UPLOAD_MB, MB, Person
from dmlviz_app.server.identity_middleware import bound_person, person_name

FRAME = MB  # bytes around a file, at most
FILES, GUEST_FILES = 4, 2  # that wait on one page; twice as many on all pages of a person
MAX_TOTAL = 500 * MB  # bytes that wait on all pages of everybody
UNCLAIMED_S = 60.0  # seconds for a browser to say to which widget a file belongs, once all its files have come
SWEEP_S = 1.0  # seconds between two searches for files that are not needed any more


class UploadRefusedError(Exception):
    """The refusal of a file, in one sentence, with its HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass
class _File:
    person: str
    size: int  # bytes, as announced
    came: float | None = None  # when it had come in; None while it is on its way


class PendingUploads:
    """The files of all pages. Used by the event loop only, so that it needs no lock. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files: dict[tuple[str, str], _File] = {}  # by session and file
        self._is_watching = False

    def begin(self, person: Person, session: str, file: str, size: int) -> None:
        """Take note of a file that begins to come in, with the bytes that its sender announces.

        Raises:
            UploadRefusedError: If it is not for an own page with a widget that takes files, or beyond a limit.
        """
        check_page(person, session)
        if widget_files(session) is None:
            raise UploadRefusedError(403, "This page shows nothing that takes files; open the dialog again.")
        if (session, file) in self._files:
            raise UploadRefusedError(409, "This file has come already.")
        name = person_name(person)
        on_page = [upload.size for (owner, _), upload in self._files.items() if owner == session]
        own = [upload.size for upload in self._files.values() if upload.person == name]
        files = FILES if person.may(policy.KEEP) else GUEST_FILES
        if len(on_page) >= files or len(own) >= 2 * files:
            raise UploadRefusedError(
                429,
                f"{len(on_page)} files wait on this page and {len(own)} on all of yours; "
                f"at most {files} and {2 * files} may: remove one.",
            )
        most = min(person.limits.upload, MAX_UPLOAD_MB * MB)
        if sum(on_page) + size > most + FRAME or sum(own) + size > 2 * most + FRAME:
            raise UploadRefusedError(
                413,
                f"This is {format_bytes(size)}, beside {format_bytes(sum(own))} that wait on your pages; at most "
                f"{format_bytes(most)} may wait on a page and {format_bytes(2 * most)} on all: remove a file.",
            )
        if sum(upload.size for upload in self._files.values()) + size > MAX_TOTAL:
            raise UploadRefusedError(503, "Too many files come in at once; try again in a minute.")
        self._files[session, file] = _File(name, size)
        if not self._is_watching:
            self._is_watching = True
            asyncio.get_running_loop().call_later(SWEEP_S, self._watch)

    def end(self, session: str, file: str, is_kept: bool) -> None:
        """Take note that a file has come in and was kept, or that it was not."""
        if is_kept:
            self._files[session, file].came = self._clock()
        else:
            self._files.pop((session, file), None)

    def check_held(self, person: Person, session: str, file: str) -> None:
        """Raise UploadRefusedError unless this person's page has this file."""
        check_page(person, session)
        upload = self._files.get((session, file))
        if upload is None or upload.came is None:
            raise UploadRefusedError(404, "This page has no such file.")

    def sweep(self) -> None:
        """Free the files of pages that were closed, and those that no widget of a page holds any more."""
        for session in {session for session, _ in self._files}:
            files = {file: upload for (owner, file), upload in self._files.items() if owner == session}
            came = [upload.came for upload in files.values()]
            last = None if None in came else max(time for time in came if time is not None)
            names = widget_files(session)
            for file, upload in files.items():
                is_awaited = last is None or self._clock() - last < UNCLAIMED_S
                if upload.came is None or (names is not None and (file in names or is_awaited)):
                    continue
                runtime.get_instance().uploaded_file_mgr.remove_file(session, file)  # type: ignore[attr-defined]
                self.end(session, file, is_kept=False)

    def _watch(self) -> None:
        self.sweep()
        self._is_watching = bool(self._files)
        if self._is_watching:
            asyncio.get_running_loop().call_later(SWEEP_S, self._watch)


def check_page(person: Person, session: str) -> None:
    """Raise UploadRefusedError unless this person has an open page with this session."""
    try:
        person.check_known()
    except UserError as error:
        raise UploadRefusedError(403, str(error)) from None
    client = runtime.get_instance().get_client(session) if runtime.exists() else None
    context = None if client is None else client.client_context
    if context is None or bound_person(context.headers) != person_name(person):
        raise UploadRefusedError(403, "You have no open page of this name; load the page anew.")


def widget_files(session: str) -> set[str] | None:
    """Return the IDs of the files that the widgets of a page hold; None if it is closed, or shows no such widget."""
    page = runtime.get_instance().get_app_session(session)
    for _ in range(20):  # the page may run in its own thread, and change while its widgets are read
        try:
            states = [] if page is None else page.session_state.get_widget_states()
        except RuntimeError:
            continue
        values = [state.file_uploader_state_value for state in states if state.HasField("file_uploader_state_value")]
        return {info.file_id for value in values for info in value.uploaded_file_info} if values else None
    return set()
