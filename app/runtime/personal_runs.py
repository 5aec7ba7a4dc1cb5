"""The runs of a folder as one person sees them: their own, those shared with them, and the shelf of all."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from app.runtime.people import Person, Role
from dmlviz.errors import UserError
from dmlviz.runs.ownership import Entry, Ownership, Visibility
from dmlviz.runs.run import Run
from dmlviz.runs.store import MAX_TAGS, DamagedRun, Runs, run_not_found
from dmlviz.storage.files import is_run_id
from dmlviz.storage.text import one_line

Group = Literal["mine", "shared", "shelf", "others"]
"""Why somebody sees a run: they hold it, they opened its link, it is on the shelf, or they are an admin."""

SHARING_ROLES: dict[Visibility, Role] = {"private": Role.GUEST, "link": Role.MEMBER, "shelf": Role.TEACHER}


@dataclass(frozen=True)
class RunAccess:
    """What a person may do with a run; `entry` is the one through which they see it, None without any owner."""

    group: Group
    entry: Entry | None
    may_change: bool


class PersonalRuns(Runs):
    """Like `Runs`, but what a person may not see does not exist, and a change touches their own entry only.

    Args:
        runs: All runs.
        owners: Who holds which.
        person: Who looks.
        leave_job: Called with a run that this person deletes while others keep it, to leave its training.
    """

    def __init__(self, runs: Runs, owners: Ownership, person: Person, leave_job: Callable[[str], object]) -> None:
        super().__init__(runs.folder, runs.bundled)
        self.owners = owners
        self.person = person
        self._leave_job = leave_job

    def access(self, run: str) -> RunAccess | None:
        """Return what this person may do with a run; None if they may not see it."""
        if not is_run_id(run):
            return None
        admin = self.person.may(Role.ADMIN)
        if (self.bundled / run).is_dir():  # a copy of a ready-made run stays everybody's
            return RunAccess("shelf", None, may_change=admin)
        entry = self.owners.visible_entry(run, self.person.id) if self.person.may(Role.GUEST) else None
        if entry is not None:
            mine = entry.holder == self.person.id
            group: Group = "mine" if mine else "shelf" if entry.visibility == "shelf" else "shared"
            return RunAccess(group, entry, may_change=mine or admin)
        return RunAccess("others", next(iter(self.owners.entries(run)), None), may_change=True) if admin else None

    def look(
        self, is_wanted: Callable[[str], bool] = lambda run: True
    ) -> tuple[tuple[Run, ...], tuple[DamagedRun, ...]]:
        """Return the readable and the damaged runs of this person, those shared with them, and the shelf."""
        readable, damaged = super().look(lambda run: self._lists(run) and is_wanted(run))
        return tuple(map(self._as_seen, readable)), damaged

    def look_at_all(self) -> tuple[tuple[Run, ...], tuple[DamagedRun, ...]]:
        """Return what `look` does, and for an admin the runs of everyone else."""
        if not self.person.may(Role.ADMIN):
            return self.look()
        readable, damaged = super().look()  # not only those that `look` lists
        return tuple(map(self._as_seen, readable)), damaged

    def get(self, run: str) -> Run:
        """Return a run; raise RunNotFoundError for one that does not exist, or that this person may not see."""
        if self.access(run) is None:
            raise run_not_found(run)
        return self._as_seen(super().get(run))

    def rename(self, run: str, title: str) -> None:
        """Rename a person's entry."""
        title = one_line(title)
        if not title:
            raise UserError("A run needs a title; got an empty one.")
        self._change(run, lambda: super(PersonalRuns, self).rename(run, title), title=title)

    def tag(self, run: str, tags: Iterable[str]) -> None:
        """Replace the tags of a person's entry."""
        unique = tuple(dict.fromkeys(filter(None, (one_line(tag, 30) for tag in tags))))[:MAX_TAGS]
        self._change(run, lambda: super(PersonalRuns, self).tag(run, unique), tags=unique)

    def pin(self, run: str, pinned: bool = True) -> None:
        """Pin or unpin a run: while anybody pins it, it is never evicted."""
        self._change(run, lambda: super(PersonalRuns, self).pin(run, pinned), pinned=pinned)

    def share(self, run: str, visibility: Visibility) -> None:
        """Set who else sees a run; raise UserError where the person's role does not allow it."""
        access = self._changeable(run)
        needed = SHARING_ROLES.get(visibility)
        if needed is None:
            raise UserError(f"A run is {', '.join(SHARING_ROLES)}; got {str(visibility)[:40]!r}.")
        if not self.person.may(needed):
            raise UserError(f"Only a {needed.name.lower()} can do this; you are a {self.person.role.name.lower()}.")
        if self.is_bundled(super().get(run)) or (self.bundled / run).is_dir():
            raise UserError("A ready-made run is on the shelf of all already.")
        holder = self.person.id if access.entry is None else access.entry.holder
        if access.entry is None:  # one without an owner, which the admin takes
            self.owners.add(run, holder=holder, name=self.person.name, title=super().get(run).title)
        self.owners.share(run, holder, visibility)

    def open_link(self, run: str, key: str) -> None:
        """See a run from now on, of which this person has the link; raise RunNotFoundError for an invalid link."""
        valid = bool(self.person.id) and self.person.may(Role.GUEST) and is_run_id(run)
        if not valid or not self.owners.open_link(run, key, self.person.id):
            raise run_not_found(run)

    def delete(self, run: str) -> None:
        """Delete a person's entry; the run itself goes to the trash when nobody else holds it."""
        access = self.access(run)
        if access is not None and access.group == "shared" and access.entry is not None:
            self.owners.forget_link(run, self.person.id)
            return
        access = self._changeable(run)
        if access.group != "mine":
            super().delete(run)
            self.owners.remove_all(run)
        elif len(self.owners.entries(run)) > 1:
            self._leave_job(run)
            self.owners.remove(run, self.person.id)
        else:
            super().delete(run)
            self.owners.remove(run, self.person.id)

    def restore(self, run: str) -> Run | DamagedRun:
        """Restore a person's deleted entry, and the run if it is in the trash."""
        deleted = [entry for entry in self.owners.all_entries(run) if entry.deleted is not None]
        mine = [entry for entry in deleted if entry.holder == self.person.id]
        if not mine and not self.person.may(Role.ADMIN):
            raise run_not_found(run)
        if mine and (self.folder / run).is_dir():  # others kept it
            restored: Run | DamagedRun = Run(self.folder / run)
        else:
            restored = super().restore(run)
        latest = max((entry.deleted or 0 for entry in deleted), default=0)
        for entry in mine or [entry for entry in deleted if entry.deleted == latest]:
            self.owners.restore(run, entry.holder)
        return restored

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

    def _change(self, run: str, change_unowned: Callable[[], None], **fields: object) -> None:
        access = self._changeable(run)
        if access.entry is None:
            change_unowned()
        else:
            super().get(run)  # says what is wrong with a damaged one
            self.owners.change(run, access.entry.holder, **fields)
