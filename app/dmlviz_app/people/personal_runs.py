"""The runs of a folder as one person sees them: their own, those shared with them, and the public ones."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dmlviz.errors import UserError
from dmlviz.jobs.job_record import ORDER_FILE
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.ownership import Entry, Ownership, Visibility
from dmlviz.runs.quota import folder_size, run_size, total_size
from dmlviz.runs.run import Run
from dmlviz.runs.store import DamagedRun, Runs, default_title, run_not_found
from dmlviz.storage.files import is_run_id, read_json
from dmlviz_app.people import policy
from dmlviz_app.people.classrooms import Classrooms
from dmlviz_app.people.people import Person
from dmlviz_app.people.policy import Relation

SHARING: dict[Visibility, policy.Action] = {
    "private": policy.CHANGE,
    "link": policy.SHARE_LINK,
    "public": policy.MAKE_PUBLIC,
}


@dataclass(frozen=True)
class RunAccess:
    """The rights of a person on a run; `entry` is the one through which they see it, None without any owner."""

    group: Relation
    entry: Entry | None
    may_change: bool


class PersonalRuns(Runs):
    """Like `Runs`, but what a person may not see does not exist, and a change touches their own entry only.

    The only person of a server sees and changes all runs; none has an entry.

    Args:
        runs: All runs.
        owners: The holders of each run.
        person: The person who views it.
        leave_job: Called with a run that this person deletes while others keep it, to leave its training.
        classrooms: The classes, whose members share what they keep in them.
    """

    def __init__(
        self,
        runs: Runs,
        owners: Ownership,
        person: Person,
        leave_job: Callable[[str], object],
        classrooms: Classrooms | None = None,
    ) -> None:
        super().__init__(runs.folder, runs.bundled)
        self.owners = owners
        self.person = person
        self._leave_job = leave_job
        self._classrooms = classrooms

    def access(self, run: str) -> RunAccess | None:
        """Return what this person may do with a run; None if they may not see it."""
        if self.person.is_alone:
            return RunAccess("mine", None, True)
        if not is_run_id(run):
            return None
        group: Relation = "public"
        entry = None
        if not (self.bundled / run).is_dir():  # a copy of a ready-made run stays everybody's
            entry = self.owners.visible_entry(run, self.person.id)
            group = self.person.relation_to(entry)
            entry = entry or next(iter(self.owners.entries(run)), None)
        if not self.person.may(policy.SEE, group):
            return None
        return RunAccess(group, entry, self.person.may(policy.CHANGE, group))

    def sees(self, run: str) -> bool:
        """Return whether this person may see a run."""
        return self.access(run) is not None

    def look(
        self, is_wanted: Callable[[str], bool] = lambda run: True
    ) -> tuple[tuple[Run, ...], tuple[DamagedRun, ...]]:
        """Return the readable and the damaged runs of this person, those shared with them, and the public ones."""
        readable, damaged = super().look(lambda run: self._lists(run) and is_wanted(run))
        return tuple(map(self._as_seen, readable)), damaged

    def look_at_all(self) -> tuple[tuple[Run, ...], tuple[DamagedRun, ...]]:
        """Return what `look` does, and for an admin the runs of everyone else."""
        if not self.person.may(policy.SEE, "others"):
            return self.look()
        readable, damaged = super().look()  # not only those that `look` lists
        return tuple(map(self._as_seen, readable)), damaged

    def get(self, run: str) -> Run:
        """Return a run; raise RunNotFoundError for one that does not exist, or that this person may not see."""
        if not self.sees(run):
            raise run_not_found(run)
        return self._as_seen(super().get(run))

    def hold(self, run: str, title: str = "", tags: Iterable[str] = ()) -> None:
        """Give this person an entry of a run; a ready-made one belongs to all."""
        if (self.folder / run).is_dir() and not (self.bundled / run).is_dir():
            title = title or default_title(super().get(run).config)
            self.person.hold(self.owners, run, title, tags)

    def used(self) -> int:
        """Return the bytes that the runs of this person take; what several people hold counts for each.

        A projection counts for the person who asked for it, whoever holds the run. The only person has all.
        """
        if self.person.is_alone:
            return total_size(self)
        held = {run for run in self.owners.held_by(self.person.id) if (self.folder / run).is_dir()}
        total = sum(run_size(self.folder / run) for run in held)
        for order in self.folder.glob(f"*/projections/*/{ORDER_FILE}"):
            holder, is_held = _holder(order), order.parts[-4] in held
            if holder and (holder == self.person.id) != is_held:
                total += folder_size(order.parent) * (-1 if is_held else 1)
        return total

    def gallery_holders(self, run: str) -> list[str] | None:
        """Return whose kept pictures and threshold this person has with a run: their own, and of who shares it.

        None for all. The first who has a threshold gives it.

        Of two people who trained with equal settings, and so have one run, neither sees the other's.
        """
        access = self.access(run)
        if self.person.is_alone or access is None:
            return None if self.person.is_alone else []
        shared = self._classrooms.shared_holders(self.person.id) if self._classrooms else []
        return [self.person.id, *([access.entry.holder] if access.entry is not None else []), "", *shared]

    @property
    def keeper(self) -> str:
        """The ID under which this person keeps pictures: in a class, one whose pictures are everybody's there."""
        room = self._classrooms.of_person(self.person.id) if self._classrooms else None
        return self.person.owner if room is None else room.holder(self.person.id)

    def removable_holders(self, run: str) -> list[str] | None:
        """Return whose kept pictures and threshold this person may remove from a run; None for all."""
        room = self._classrooms.of_person(self.person.id) if self._classrooms else None
        if self.may_change(run):
            return self.gallery_holders(run)
        of_class = room.holders if room is not None and room.teacher == self.person.id else [self.keeper]
        return [self.person.id, *of_class]

    def may_keep(self, run: str) -> bool:
        """Return whether this person may keep pictures and a threshold with a run; a guest only with their own."""
        is_known = bool(self.person.id) or self.person.is_alone
        return is_known and (self.may_change(run) or (self.sees(run) and self.person.may(policy.KEEP)))

    def may_change(self, run: str) -> bool:
        """Return whether this person may change a run, and what is kept with it."""
        access = self.access(run)
        return access is not None and access.may_change

    def changed_gallery(self, run: str) -> Gallery:
        """Return the gallery of a run, for this person to keep pictures in.

        Raises:
            UserError: If the run has no net yet, or is another person's, and this one a guest.
        """
        if not self.sees(run):
            raise run_not_found(run)
        self.person.check_known()
        if not self.may_keep(run) and self.keeper == self.person.owner:  # in a class, guests may
            raise UserError("A guest keeps pictures with runs of their own: train one, or log in.")
        Gallery(self.get(run)).check_net()
        return Gallery(self.writable_copy(self.get(run)))

    def share(self, run: str, visibility: Visibility) -> None:
        """Set who else sees a run; raise UserError where the person's role does not allow it."""
        access = self._changeable(run)
        action = SHARING.get(visibility)
        if action is None:
            raise UserError(f"A run is {', '.join(SHARING)}; got {str(visibility)[:40]!r}.")
        if self.person.is_alone:
            raise UserError("This server is for one person: there is no one to share with.")
        if not self.person.may(action, access.group):
            raise UserError(f"You are a {self.person.role.name.lower()}, and may not {action.description}.")
        if self.is_bundled(super().get(run)) or (self.bundled / run).is_dir():
            raise UserError("A ready-made run is public already.")
        holder = self.person.id if access.entry is None else access.entry.holder
        if access.entry is None:  # one without an owner, which the admin takes
            self.owners.add(run, holder=holder, name=self.person.name, title=super().get(run).title)
        self.owners.share(run, holder, visibility)

    def open_link(self, run: str, key: str) -> None:
        """See a run from now on, of which this person has the link; raise RunNotFoundError for an invalid link."""
        if self.sees(run):
            return
        valid = bool(self.person.id) and self.person.may(policy.SEE) and is_run_id(run)
        if not valid or not self.owners.open_link(run, key, self.person.id):
            raise run_not_found(run)

    def delete(self, run: str) -> None:
        """Delete a person's entry; the run itself goes to the trash when it has no other holder."""
        access = self.access(run)
        if access is not None and access.group == "shared" and access.entry is not None:
            self.owners.forget_link(run, self.person.id)
            return
        access = self._changeable(run)
        if self.person.is_alone:
            super().delete(run)
        elif access.group != "mine":
            super().delete(run)
            self.owners.remove_all(run)
        else:
            delete = super().delete
            if not self.owners.remove(run, self.person.id, before_last=lambda: delete(run)):
                self._leave_job(run)

    def restore(self, run: str) -> Run | DamagedRun:
        """Restore a person's deleted entry, and the run if it is in the trash."""
        entries = [entry for entry in self.owners.all_entries(run) if entry.deleted is not None]
        mine = [entry for entry in entries if entry.holder == self.person.id]
        if not mine and not self.person.may(policy.CHANGE, "others"):
            raise run_not_found(run)
        if mine and (self.folder / run).is_dir():  # others kept it
            result: Run | DamagedRun = Run(self.folder / run)
        else:
            result = super().restore(run)
        latest = max((entry.deleted or 0 for entry in entries), default=0)
        for entry in mine or [entry for entry in entries if entry.deleted == latest]:
            self.owners.restore(run, entry.holder)
        return result

    def _lists(self, run: str) -> bool:
        access = self.access(run)
        return access is not None and access.group != "others"

    def _as_seen(self, run: Run) -> Run:
        """Give a run the title, tags and pin of the entry through which this person sees it."""
        access = self.access(run.id)
        if access is not None and access.entry is not None:
            entry = access.entry
            run.info |= {"title": entry.title, "tags": [*entry.tags], "pinned": entry.pinned}
        return run

    def _changeable(self, run: str) -> RunAccess:
        access = self.access(run)
        if access is None:
            raise run_not_found(run)
        if not access.may_change:
            raise UserError("Only its owner can change this run; train your own.")
        return access

    def _note(self, run: str, **fields: object) -> None:
        """Change a person's entry; while any of a run's entries is pinned, it is never evicted."""
        access = self._changeable(run)
        if access.entry is None:
            super()._note(run, **fields)
        else:
            super().get(run)  # says what is wrong with a damaged one
            self.owners.change(run, access.entry.holder, **fields)


def _holder(order: Path) -> str:
    """Return the ID of the person who asked for a projection; empty for none."""
    with contextlib.suppress(OSError):
        return _read_holder(order, order.stat().st_mtime_ns)
    return ""


@lru_cache(maxsize=4096)
def _read_holder(order: Path, _stamp: int) -> str:
    content = read_json(order)
    return str(content.get("holder") or "") if isinstance(content, dict) else ""
