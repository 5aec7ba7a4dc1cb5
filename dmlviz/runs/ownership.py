"""Owners and readers of runs and data sets: one small file for each, beside the runs.

Equal configs are one run, so several people can hold the same folder. Each of them has an entry of their own: title,
tags, pin and visibility. Deleting removes one entry; the folder may be deleted once it has no holder.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from hmac import compare_digest
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.file_lock import FileLock
from dmlviz.storage.files import ensure_dir, is_run_id, write_json
from dmlviz.storage.run_schema.validation import read

Visibility = Literal["private", "link", "public"]
"""The people besides its holder who see it: none, everyone who opened its link, or everyone."""

VISIBILITIES: tuple[Visibility, ...] = ("private", "link", "public")
MAX_READERS = 2000  # people who opened the link of one entry
NO_LONGER_YOURS = "This run is no longer yours; reload the page."

PersonId = Annotated[str, Field(min_length=1, max_length=250)]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A holder's record of a run or a data set.

    Attributes:
        holder: ID of the person.
        name: Name of the person.
        title: Title that the holder gave it.
        tags: The holder's tags.
        pinned: Whether it is never deleted to make room.
        visibility: The other people who see it.
        key: The secret part of its link; empty if it has none.
        readers: IDs of the people who opened the link.
        added: Time when the holder got it, in seconds since 1970.
        temporary: Whether it is deleted after a day, as the runs of guests are.
        deleted: Time when the holder deleted it, in seconds since 1970; None if not.
    """

    holder: PersonId
    name: Annotated[str, Field(max_length=250)]
    title: Annotated[str, Field(max_length=1000)]
    tags: tuple[str, ...] = ()
    pinned: bool = False
    visibility: Visibility = "private"
    key: Annotated[str, Field(max_length=100)] = ""
    readers: tuple[PersonId, ...] = ()
    added: float
    temporary: bool = False
    deleted: float | None = None


_ENTRIES: TypeAdapter[tuple[Entry, ...]] = TypeAdapter(tuple[Entry, ...])


class Ownership:
    """The holders of the runs of a folder, or of its data sets. Safe for several threads and processes.

    Args:
        folder: The folder of the runs or data sets; the files lie in its subfolder `.owners`.
        has_owners: Whether something of this name can have owners: `is_run_id`, `is_custom`. Whatever else is asked
            for, as a built-in data set, has none, and cannot get one.
    """

    def __init__(self, folder: Path, has_owners: Callable[[str], bool] = is_run_id) -> None:
        self.folder = Path(folder) / ".owners"
        self.has_owners = has_owners
        self._thread_lock = threading.Lock()

    def all_entries(self, item: str) -> tuple[Entry, ...]:
        """Return every entry, deleted ones too; none if the file is missing or damaged, which hides the item."""
        try:
            return self._read(item)
        except DamagedFileError:
            return ()

    def entries(self, item: str) -> tuple[Entry, ...]:
        """Return the entries of those who hold it now."""
        return tuple(entry for entry in self.all_entries(item) if entry.deleted is None)

    def entry(self, item: str, holder: str) -> Entry | None:
        """Return the entry of one holder; None if this person does not hold it."""
        return next((entry for entry in self.entries(item) if entry.holder == holder), None)

    def visible_entry(self, item: str, person: str) -> Entry | None:
        """Return the entry through which a person sees it: their own, else a public one, else one by link."""
        visible = [entry for entry in self.entries(item) if _sees(entry, person)]
        order = {"public": 1, "link": 2, "private": 3}
        return min(visible, key=lambda entry: 0 if entry.holder == person else order[entry.visibility], default=None)

    def items(self) -> Iterator[str]:
        """Yield each item that has a file, deleted entries included."""
        yield from sorted(path.stem for path in self.folder.glob("*.json") if self.has_owners(path.stem))

    def held_by(self, person: str) -> list[str]:
        """Return what a person holds."""
        return [item for item in self.items() if self.entry(item, person) is not None]

    def add(
        self, item: str, *, holder: str, name: str, title: str, tags: tuple[str, ...] = (), temporary: bool = False
    ) -> None:
        """Give a person an entry, with the fields of `Entry`; one that they hold already stays as it is."""

        def change(entries: list[Entry]) -> list[Entry]:
            if any(entry.holder == holder and entry.deleted is None for entry in entries):
                return entries
            others = [entry for entry in entries if entry.holder != holder]
            new = Entry(holder=holder, name=name, title=title, tags=tags, temporary=temporary, added=time.time())
            return [*others, new]

        self._change(item, change)

    def change(self, item: str, holder: str, **fields: Any) -> None:
        """Change fields of a holder's entry; raise UserError if this person does not hold it."""

        def change(entries: list[Entry]) -> list[Entry]:
            if not any(entry.holder == holder and entry.deleted is None for entry in entries):
                raise UserError(NO_LONGER_YOURS)
            return [replace(entry, **fields) if entry.holder == holder else entry for entry in entries]

        self._change(item, change)

    def share(self, item: str, holder: str, visibility: Visibility) -> None:
        """Set the visibility of an item. A link that is taken back never works again, nor for those who opened it."""
        if visibility not in VISIBILITIES:
            raise UserError(f"Visibility is one of {', '.join(VISIBILITIES)}; got {str(visibility)[:40]!r}.")
        key = secrets.token_urlsafe(16) if visibility == "link" else ""

        def change(entry: Entry) -> Entry:
            is_meant = entry.holder == holder and entry.deleted is None and entry.visibility != visibility
            return replace(entry, visibility=visibility, key=key, readers=()) if is_meant else entry

        self._change(item, lambda entries: [*map(change, entries)])

    def open_link(self, item: str, key: str, reader: str) -> bool:
        """Let a person who has the link see it from now on; return whether the link is valid."""
        return self._admit(item, lambda entry: compare_digest(entry.key.encode(), key.encode()), [reader])

    def admit(self, item: str, holder: str, readers: Iterable[str]) -> None:
        """Let people see an item that is shared by link, as if they had opened the link."""
        self._admit(item, lambda entry: entry.holder == holder, readers)

    def _admit(self, item: str, is_meant: Callable[[Entry], bool], readers: Iterable[str]) -> bool:
        """Add readers to an entry that is shared by link; return whether there is one."""
        found = False

        def change(entries: list[Entry]) -> list[Entry]:
            nonlocal found
            for number, entry in enumerate(entries):
                if entry.deleted is None and entry.visibility == "link" and entry.key and is_meant(entry):
                    found = True
                    everyone = dict.fromkeys((*entry.readers, *readers))
                    everyone.pop(entry.holder, None)
                    entries[number] = replace(entry, readers=tuple(everyone)[-MAX_READERS:])
            return entries

        self._change(item, change)
        return found

    def forget_link(self, item: str, reader: str) -> None:
        """Take it off the list of a person who opened its link."""
        self._change(
            item, lambda entries: [replace(e, readers=tuple(r for r in e.readers if r != reader)) for e in entries]
        )

    def remove(self, item: str, holder: str, before_last: Callable[[], object] = lambda: None) -> bool:
        """Delete a holder's entry, restorable; return whether the item has no holder any more.

        Args:
            item: The item.
            holder: The holder.
            before_last: Called first where nobody else holds the item, and no other process can change that meanwhile.
        """
        is_last = False

        def change(entries: list[Entry]) -> list[Entry]:
            nonlocal is_last
            held = [entry for entry in entries if entry.deleted is None]
            if all(entry.holder != holder for entry in held):
                raise UserError(NO_LONGER_YOURS)
            is_last = len(held) == 1
            if is_last:
                before_last()
            now = time.time()
            return [
                replace(entry, deleted=now, visibility="private", key="", readers=())
                if entry.holder == holder
                else entry
                for entry in entries
            ]

        self._change(item, change)
        return is_last

    def restore(self, item: str, holder: str) -> None:
        """Restore a deleted entry; raise UserError if there is none."""

        def change(entries: list[Entry]) -> list[Entry]:
            if not any(entry.holder == holder for entry in entries):
                raise UserError("This run can no longer be restored; train it again.")
            return [replace(entry, deleted=None) if entry.holder == holder else entry for entry in entries]

        self._change(item, change)

    def remove_all(self, item: str) -> None:
        """Delete everyone's entry, restorable by each."""
        now = time.time()
        self._change(item, lambda entries: [replace(e, deleted=e.deleted or now, readers=(), key="") for e in entries])

    def forget(self, item: str) -> None:
        """Remove the file of an item that is deleted for good."""
        with self._locked():
            self._path(item).unlink(missing_ok=True)

    def expired(self, age_s: float, now: float | None = None) -> list[tuple[str, Entry]]:
        """Return the temporary entries that are older than `age_s` seconds, with their items."""
        before = (time.time() if now is None else now) - age_s
        return [
            (item, entry)
            for item in self.items()
            for entry in self.entries(item)
            if entry.temporary and entry.added < before
        ]

    def sweep(self, exists: Callable[[str], bool], retention_s: float) -> None:
        """Remove entries that cannot be restored any more.

        Args:
            exists: Whether an item is still there, or in the trash.
            retention_s: Seconds for which a deleted entry can be restored.
        """
        before = time.time() - retention_s
        for item in [*self.items()]:
            if not exists(item):
                self.forget(item)
            elif any(entry.deleted is not None and entry.deleted < before for entry in self.all_entries(item)):
                self._change(item, lambda entries: [e for e in entries if e.deleted is None or e.deleted >= before])

    def _path(self, item: str) -> Path:
        if not self.has_owners(item):
            raise UserError(f"{item[:40]!r} belongs to nobody, and cannot be given to anybody.")
        return self.folder / f"{item}.json"

    def _read(self, item: str) -> tuple[Entry, ...]:
        if not self.has_owners(item):
            return ()
        path = self._path(item)
        try:
            status = path.stat()
        except OSError:
            return ()
        return _parse(path, (status.st_ino, status.st_mtime_ns, status.st_size))

    def _change(self, item: str, change: Callable[[list[Entry]], list[Entry]]) -> None:
        with self._locked():
            before = self._read(item)  # damaged: raises, so that no entry is overwritten
            after = change([*before])
            if tuple(after) != before:
                write_json(self._path(item), _ENTRIES.dump_python(tuple(after), mode="json"))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._thread_lock:
            lock = FileLock(ensure_dir(self.folder) / "lock")
            if not lock.acquire(5.0):
                raise UserError("The list of owners is in use by another process; try again in a few seconds.")
            try:
                yield
            finally:
                lock.release()


def _sees(entry: Entry, person: str) -> bool:
    if entry.holder == person or entry.visibility == "public":
        return True
    return entry.visibility == "link" and person in entry.readers


@lru_cache(maxsize=4096)
def _parse(path: Path, stamp: tuple[int, int, int]) -> tuple[Entry, ...]:
    try:
        return read(_ENTRIES, path)
    except FileNotFoundError:
        return ()
