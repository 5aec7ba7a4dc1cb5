"""A class: its members, their guesses, the teacher's settings, the members' places, and how pages hear of changes."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field


class Changes:
    """A signal that wakes its listeners; several changes in a row may be one waking."""

    def __init__(self) -> None:
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()

    def announce(self) -> None:
        """Say, from any thread, that something has changed."""
        with self._lock:
            listeners = [*self._listeners]
        for loop, event in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """Give an event of the running loop that is set at each change; the listener clears it."""
        listener = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._listeners.add(listener)
        try:
            yield listener[1]
        finally:
            with self._lock:
                self._listeners.discard(listener)


ALPHABET = "ACEFHJKMNPRTVWXY2346789"  # nothing that looks like another: no letter like a digit, no U beside V
CODE_LENGTH = 6
MAX_MEMBERS = 300
MAX_HOURS = 12
MAX_WRONG_CODES, WRONG_CODES_WITHIN_S = 30, 600.0  # from one address: a whole school may have one
MAX_NEW_MEMBERS, NEW_MEMBERS_WITHIN_S = 60, 60.0  # of one class
MAX_NICKNAME = 30  # characters
RETENTION_S = 7 * 24 * 3600.0  # seconds for which a class that has ended can be handed in
RUN_PARAMETERS = ("run", "a", "b")  # the parts of a page's address that name a run

PersonId = Annotated[str, Field(min_length=1, max_length=250)]


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place of a person in the app.

    Attributes:
        page: Name of the page; empty for Explore.
        query: Parameters of its address.
        step: The step that the map shows; None if unknown.
    """

    page: str = ""
    query: dict[str, str] = field(default_factory=dict)
    step: int | None = None


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A guess: its number, from 1, and when it was made, in seconds since 1970."""

    number: int
    time: float


@dataclass(kw_only=True)
class Member:
    """A student in a class.

    Attributes:
        nickname: Name that only the teacher sees.
        joined: Time of joining, in seconds since 1970.
        following: Whether the student's page goes where the teacher leads.
        guesses: Guesses by task, "lesson/number".
        gone: Whether the student has left; their hand-in stays.
        removed: Whether the teacher took the student out, who then cannot come back.
    """

    nickname: str
    joined: float
    following: bool = True
    guesses: dict[str, Guess] = field(default_factory=dict)
    gone: bool = False
    removed: bool = False


@dataclass(kw_only=True)
class Classroom:
    """A class, as its file holds it.

    Attributes:
        code: Code that students type to join.
        title: Its title.
        teacher: ID of the person who opened it.
        opened: Time of opening, in seconds since 1970.
        expires: Time at which it ends by itself.
        ended: Time at which it ended; None while it is open.
        lesson: Name of the lesson that is set for all; None for none.
        task: Number of its task, from 1.
        dataset: Name of the data set on which it is answered; None for the default one.
        turn: Number of times a task was set: pages go to the task when this number grows.
        revealed: Tasks whose answers are shown, as "lesson/number".
        leading: Whether pages follow the teacher.
        lead: The place of the teacher.
        lead_number: Grows with every change of `lead`, across restarts too.
        members: The students, by ID.
        gallery_run: The run with which somebody of the class kept a picture last; empty before.
        gallery_turn: Grows with every picture that is kept or removed.
    """

    code: str
    title: str
    teacher: PersonId
    opened: float
    expires: float
    ended: float | None = None
    lesson: str | None = None
    task: int = 1
    dataset: str | None = None
    turn: int = 0
    revealed: list[str] = field(default_factory=list)
    leading: bool = False
    lead: Place | None = None
    lead_number: int = 0
    members: dict[PersonId, Member] = field(default_factory=dict)
    gallery_run: str = ""
    gallery_turn: int = 0

    def holder(self, person: str) -> str:
        """Return the ID under which a person of the class keeps pictures, which are everybody's in it."""
        return f"class:{self.code}:{person}"

    @property
    def holders(self) -> list[str]:
        """All such IDs; what those kept who have left stays, and nothing of who was taken out."""
        students = [id for id, member in self.members.items() if not member.removed]
        return [self.holder(person) for person in (self.teacher, *students)]

    @property
    def present(self) -> dict[str, Member]:
        """The students who have not left."""
        return {id: member for id, member in self.members.items() if not member.gone}

    @property
    def task_key(self) -> str | None:
        """The task that is set for all, as "lesson/number"."""
        return None if self.lesson is None else f"{self.lesson}/{self.task}"

    def holds_back(self, lesson: str, task: int) -> bool:
        """Return whether students do not see the answer of a task yet: the class's or a later one of its lesson."""
        return self.lesson == lesson and task >= self.task and f"{lesson}/{task}" not in self.revealed


def normal_code(text: str) -> str:
    """Return a code as it is stored, from typed text: capital letters, without spaces and dashes."""
    return re.sub(r"[\s-]", "", text).upper()[:20]
