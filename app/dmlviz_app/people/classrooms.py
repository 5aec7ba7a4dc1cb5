"""The classes of a server, a file for each: a teacher opens one, students join with a code, their pages follow."""

import logging
import re
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.files import ensure_dir, write_json
from dmlviz.storage.run_schema.validation import read
from dmlviz.storage.text import one_line
from dmlviz_app.people.classroom import (
    ALPHABET,
    CODE_LENGTH,
    MAX_HOURS,
    MAX_MEMBERS,
    MAX_NEW_MEMBERS,
    MAX_NICKNAME,
    MAX_WRONG_CODES,
    NEW_MEMBERS_WITHIN_S,
    RETENTION_S,
    WRONG_CODES_WITHIN_S,
    Changes,
    Classroom,
    Guess,
    Member,
    Place,
    normal_code,
)

MAX_KEYS = 10_000


class Attempts:
    """Counter of recent attempts by key. Safe for several threads.

    Args:
        limit: Number of allowed attempts.
        within_s: Period of the limit in seconds.
        sentence: Error message once the limit is reached.
        clock: Seconds.
    """

    def __init__(self, limit: int, within_s: float, sentence: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._within_s, self._sentence, self._clock = limit, within_s, sentence, clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def check(self, key: str) -> None:
        """Raise UserError if all attempts for this key are used up."""
        with self._lock:
            if len(self._recent(key)) >= self._limit:
                raise UserError(self._sentence)

    def add(self, key: str) -> None:
        """Count one more."""
        with self._lock:
            times = self._recent(key)
            times.append(self._clock())
            self._times.pop(key, None)
            self._times[key] = times  # last
            while len(self._times) > MAX_KEYS:
                del self._times[next(iter(self._times))]

    def _recent(self, key: str) -> deque[float]:
        times = self._times.get(key, deque(maxlen=self._limit))
        while times and times[0] <= self._clock() - self._within_s:
            times.popleft()
        return times


_FILE: TypeAdapter[Classroom] = TypeAdapter(Classroom)


class Classrooms:
    """Opens classes, knows who is in which, and does what teachers and students do. Safe for several threads.

    Args:
        folder: The runs folder; the files lie in its subfolder `.classrooms`.
        clock: Seconds since 1970.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = Path(folder) / ".classrooms"
        self.changes: dict[str, Changes] = {}
        self.places: dict[str, Place] = {}  # by person; not kept over a restart
        self._clock = clock
        self._lock = threading.RLock()
        self._rooms: dict[str, Classroom] = {}
        self._watchers: Counter[str] = Counter()  # pages that follow the class, by person
        self._wrong_codes = Attempts(
            MAX_WRONG_CODES,
            WRONG_CODES_WITHIN_S,
            "Too many wrong codes came from your address; check the code, and try again in ten minutes.",
            clock,
        )
        self._new_members = Attempts(
            MAX_NEW_MEMBERS,
            NEW_MEMBERS_WITHIN_S,
            "Too many students join this class at once; try again in a minute.",
            clock,
        )
        for path in self.folder.glob("*.json"):
            self._load(path)

    # ---- who is where

    def of_person(self, person: str) -> Classroom | None:
        """Return the open class of a person, as its teacher or as a student."""
        if not person:
            return None
        with self._lock:
            open_rooms = [room for room in self._rooms.values() if self._is_open(room)]
            return next((r for r in open_rooms if r.teacher == person or person in r.present), None)

    def get(self, code: str, person: str) -> Classroom:
        """Return a class that a person is or was in, open or ended; raise UserError otherwise."""
        with self._lock:
            room = self._rooms.get(code)
            if room is None or not person or (room.teacher != person and person not in room.members):
                raise class_not_found(code)
            return room

    def past(self, person: str) -> list[Classroom]:
        """Return the ended classes of a person, as teacher or student, the newest first."""
        with self._lock:
            past_rooms = [room for room in self._rooms.values() if not self._is_open(room)]
            rooms = [room for room in past_rooms if person and (room.teacher == person or person in room.members)]
            return sorted(rooms, key=lambda room: -room.opened)

    def shared_holders(self, person: str) -> list[str]:
        """Return whose pictures a person shares: those kept in their open class, and in classes that they taught."""
        with self._lock:
            shared = []
            for room in self._rooms.values():
                if person and (room.teacher == person or (self._is_open(room) and person in room.present)):
                    shared += room.holders
                elif person in room.members:
                    shared.append(room.holder(person))  # their own, also when the class is over
            return shared

    def kept(self, person: str, run: str) -> None:
        """Note that a person of a class has changed what is kept with a run, which its board hears of."""
        with self._lock:
            room = self.of_person(person)
            if room is not None:
                room.gallery_run = run
                room.gallery_turn += 1
                self._save(room)

    def is_open(self, room: Classroom) -> bool:
        """Return whether a class has not ended."""
        with self._lock:
            return self._is_open(room)

    @contextmanager
    def watched(self, room: Classroom, person: str) -> Iterator[Changes]:
        """Count one more page of a person that follows the class, until it is closed."""
        changes = self.changes[room.code]
        self._watchers[person] += 1
        changes.announce()
        try:
            yield changes
        finally:
            self._watchers[person] -= 1
            changes.announce()

    def is_online(self, person: str) -> bool:
        """Return whether a person has a page open."""
        return self._watchers[person] > 0

    def is_code(self, text: str, address: str) -> bool:
        """Return whether this is the code of an open class; raise UserError after many wrong codes from an address."""
        self._wrong_codes.check(address)
        with self._lock:
            room = self._rooms.get(normal_code(text))
            if room is not None and self._is_open(room):
                return True
        self._wrong_codes.add(address)
        return False

    # ---- opening, joining, leaving

    def open(self, teacher: str, title: str, hours: float) -> Classroom:
        """Open a class of a teacher, which ends by itself after some hours.

        Raises:
            UserError: If the person has no ID, is in a class already, or asks for too many hours.
        """
        if not teacher:
            raise no_cookie()
        if not 0 < hours <= MAX_HOURS:
            raise UserError(f"A class lasts up to {MAX_HOURS} hours; got {hours:g}.")
        with self._lock:
            if self.of_person(teacher) is not None:
                raise UserError("You are in a class already; end or leave it first.")
            self._sweep()
            code = next(code for code in iter(_new_code, "") if code not in self._rooms)
            now = self._clock()
            title = one_line(title, 60) or "Class"
            room = Classroom(code=code, title=title, teacher=teacher, opened=now, expires=now + 3600 * hours)
            self._rooms[code], self.changes[code] = room, Changes()
            self._save(room)
            return room

    def join(self, code: str, person: str, nickname: str, address: str = "") -> Classroom:
        """Add a student, who comes from a network address, to a class; only the teacher sees the nickname.

        Raises:
            UserError: For a wrong code or too many of them, an empty nickname, a full class, or a student who was
                removed from it.
        """
        name, code = one_line(nickname, MAX_NICKNAME), normal_code(code)
        is_code = self.is_code(code, address)
        with self._lock:
            room = self._rooms.get(code)
            if not is_code or room is None:
                raise UserError("There is no open class with this code; check it with your teacher.")
            if not person:
                raise no_cookie()
            if not name:
                raise UserError("Choose a nickname; only your teacher sees it.")
            if room.teacher == person:
                raise UserError("You opened this class; join from another browser to try it.")
            other = self.of_person(person)
            if other is not None and other is not room:
                raise UserError("You are in another class; leave it first.")
            if person not in room.present and len(room.present) >= MAX_MEMBERS:
                raise UserError(f"A class has at most {MAX_MEMBERS} students, and this one is full.")
            member = room.members.get(person)
            if member is not None and member.removed:
                raise UserError("Your teacher has taken you out of this class; ask them if that was a mistake.")
            if member is None:
                self._new_members.check(code)
                self._new_members.add(code)
                room.members[person] = Member(nickname=name, joined=self._clock())
            else:
                member.nickname, member.gone = name, False
            self._save(room)
            return room

    def leave(self, person: str) -> None:
        """Take a student out of the class; what they have done stays in the teacher's files."""
        with self._lock:
            room = self.of_person(person)
            if room is not None and person in room.present:
                room.members[person].gone = True
                self._save(room)

    # ---- what the teacher does

    def set_removed(self, code: str, teacher: str, person: str, removed: bool) -> None:
        """Take a student out of a class for good, or let them in again; what they have done stays."""
        with self._room_of_teacher(code, teacher) as room:
            if person not in room.members:
                raise UserError("This student is not in your class.")
            member = room.members[person]
            member.removed = removed
            member.gone = member.gone or removed

    def end(self, code: str, teacher: str) -> None:
        """End a class for all."""
        with self._room_of_teacher(code, teacher) as room:
            room.ended, room.leading = self._clock(), False

    def set_task(self, code: str, teacher: str, lesson: str | None, task: int = 1, dataset: str | None = None) -> None:
        """Set a task of a lesson for all, or none; the caller checks that there are such a task and data set."""
        with self._room_of_teacher(code, teacher) as room:
            room.lesson, room.task, room.dataset = lesson, task, dataset
            room.turn += 1

    def reveal(self, code: str, teacher: str) -> None:
        """Show the answer of the task to all."""
        with self._room_of_teacher(code, teacher) as room:
            if room.task_key is not None and room.task_key not in room.revealed:
                room.revealed.append(room.task_key)

    def show(self, code: str, teacher: str, place: Place) -> None:
        """Take all pages to a place, as if the teacher were there."""
        self.set_leading(code, teacher, True)
        self.move(code, teacher, place)

    def set_leading(self, code: str, teacher: str, leading: bool) -> None:
        """Let pages follow the teacher, or not any more; at first all follow."""
        with self._room_of_teacher(code, teacher) as room:
            if leading and not room.leading:
                for member in room.members.values():
                    member.following = True
                room.lead_number = self._next_lead(room)
            room.leading = leading

    def move(self, code: str, person: str, place: Place) -> None:
        """Store the place of a person; a teacher who leads takes the pages along."""
        with self._lock:
            room = self.get(code, person)
            if not self._is_open(room) or self.places.get(person) == place:
                return
            before, self.places[person] = self.places.get(person), place
            if person == room.teacher:
                is_new = room.lead is None or (room.lead.page, room.lead.query) != (place.page, place.query)
                room.lead, room.lead_number = place, self._next_lead(room)
                if is_new and room.leading:
                    self._write(room)
                if not room.leading:
                    return
            elif before is not None and (before.page, before.query) == (place.page, place.query):
                return
            self.changes[code].announce()

    # ---- what students do

    def set_following(self, code: str, person: str, following: bool) -> None:
        """Follow the teacher, or explore on one's own."""
        with self._lock:
            room = self.get(code, person)
            member = room.present.get(person)
            if member is not None and member.following != following:
                member.following = following
                self._save(room)

    def guess(self, person: str, lesson: str, task: int, number: int) -> None:
        """Note a student's guess in a task of the class's lesson; the first counts."""
        with self._lock:
            room = self.of_person(person)
            member = None if room is None else room.present.get(person)
            if room is None or member is None or f"{lesson}/{task}" in member.guesses:
                return
            member.guesses[f"{lesson}/{task}"] = Guess(number=number, time=self._clock())
            self._save(room)

    def guess_of(self, person: str, lesson: str, task: int) -> int | None:
        """Return a student's guess; None if they made none or are in no class."""
        room = self.of_person(person)
        member = None if room is None else room.present.get(person)
        guess = None if member is None else member.guesses.get(f"{lesson}/{task}")
        return None if guess is None else guess.number

    def holds_back(self, person: str, lesson: str, task: int) -> bool:
        """Return whether a person is a student whose teacher has not shown the answer of a task yet."""
        room = self.of_person(person)
        return room is not None and room.teacher != person and room.holds_back(lesson, task)

    def shows(self, person: str, lesson: str, task: int) -> bool:
        """Return whether the teacher of a person's class has shown the answer of a task to all."""
        room = self.of_person(person)
        return room is not None and f"{lesson}/{task}" in room.revealed

    def _next_lead(self, room: Classroom) -> int:
        return max(room.lead_number + 1, round(1000 * self._clock()))

    # ---- files

    @contextmanager
    def _room_of_teacher(self, code: str, teacher: str) -> Iterator[Classroom]:
        with self._lock:
            room = self._rooms.get(code)
            if room is None or not teacher or room.teacher != teacher or not self._is_open(room):
                raise class_not_found(code)
            yield room
            self._save(room)

    def _is_open(self, room: Classroom) -> bool:
        return room.ended is None and self._clock() < room.expires

    def _save(self, room: Classroom) -> None:
        self._write(room)
        self.changes[room.code].announce()

    def _write(self, room: Classroom) -> None:
        ensure_dir(self.folder)
        write_json(self.folder / f"{room.code}.json", _FILE.dump_python(room, mode="json"))

    def _load(self, path: Path) -> None:
        try:
            room = read(_FILE, path)
        except (OSError, DamagedFileError) as error:
            logging.getLogger("dmlviz").error("A class could not be read: %s", error)
            return
        if room.code == path.stem and re.fullmatch(f"[{ALPHABET}]{{{CODE_LENGTH}}}", room.code):
            self._rooms[room.code], self.changes[room.code] = room, Changes()

    def _sweep(self) -> None:
        """Delete the files of classes that ended long ago."""
        before = self._clock() - RETENTION_S
        for code, room in [*self._rooms.items()]:
            if (room.ended or room.expires) < before:
                del self._rooms[code]
                (self.folder / f"{code}.json").unlink(missing_ok=True)


def class_not_found(code: str) -> UserError:
    """Return the error for a class that does not exist or is not this person's."""
    return UserError(f"There is no class {one_line(code, 20)!r}.")


def no_cookie() -> UserError:
    """Return the error for a browser without the cookie that identifies it."""
    return UserError("Your browser sends no cookie: allow cookies to take part in a class.")


def _new_code() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
