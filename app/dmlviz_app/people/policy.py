"""Access policy: what each role may do with what is theirs, and with what belongs to others."""

import enum
from dataclasses import dataclass
from typing import Literal


class Role(enum.IntEnum):
    """The rights of a person; each role includes those before it."""

    NOBODY = 0  # nothing
    GUEST = 1  # look, and train in a corner that empties itself after a day
    MEMBER = 2  # keep runs and data, share them by link
    TEACHER = 3  # make runs public, see the queue
    ADMIN = 4  # see and change everything
    SOLE = 5  # the only person of a server, to whom everything belongs


ROLES = {role.name.lower(): role for role in Role if role is not Role.SOLE}

Relation = Literal["mine", "shared", "public", "others"]
"""Why a person sees an item: they hold it, they opened its link, it is public; or only that others hold it."""


@dataclass(frozen=True)
class Action:
    """An action; the core's are below, and a feature may bring some.

    Attributes:
        description: What is done.
        role: The lowest role that it needs on a server that people share; None where no one may do it there.
        with_others: Whether it makes no sense for the only person of a server; all else that person may do.
        reading: Whether a person may do it with what others share; all else with what is not theirs is for an admin.
    """

    description: str
    role: Role | None
    with_others: bool = False
    reading: bool = False


SEE = Action("see a run or a data set", Role.GUEST, reading=True)
TRAIN = Action("train on a data set", Role.GUEST, reading=True)
CHANGE = Action("rename, tag, pin and delete a run, and keep it private", Role.GUEST)
STOP = Action("stop a job or a study", Role.GUEST)
MEET = Action("have an account, join a class", Role.GUEST, with_others=True)
KEEP = Action("keep runs and data for longer than a day", Role.MEMBER)
SHARE_LINK = Action("share runs and data by link", Role.MEMBER, with_others=True)
MAKE_PUBLIC = Action("make runs and data public", Role.TEACHER, with_others=True)
SEE_QUEUE = Action("see all jobs", Role.TEACHER, with_others=True)
READ_FILES = Action("choose files of the server's machine", None)
