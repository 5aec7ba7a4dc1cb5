"""The classes of a server: a teacher opens one, students join with a code, and their pages follow."""

from dmlviz.errors import UserError
from dmlviz_app.people.classroom import Classroom, Guess, Place
from dmlviz_app.people.classroom_register import ClassroomRegister


class Classrooms(ClassroomRegister):
    """Actions of teachers and students in their classes; its arguments are those of `ClassroomRegister`."""

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
