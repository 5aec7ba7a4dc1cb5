"""Access policy: what each role may do with what is theirs, and with what belongs to others."""

import enum
from typing import Literal


class Role(enum.IntEnum):
    """The rights of a person; each role includes those before it."""

    NOBODY = 0  # nothing
    GUEST = 1  # look, and train in a corner that empties itself after a day
    MEMBER = 2  # keep runs and data, share them by link
    TEACHER = 3  # put runs on the shelf of all, see the queue
    ADMIN = 4  # see and change everything
    SOLE = 5  # the only person of a server, to whom everything belongs


ROLES = {role.name.lower(): role for role in Role if role is not Role.SOLE}

Relation = Literal["mine", "shared", "shelf", "others"]
"""Why a person sees an item: they hold it, they opened its link, it is on the shelf; or only that others hold it."""


class Action(enum.Enum):
    """An action, and the lowest role that it needs on a server that people share; None where no one may do it there."""

    SEE = "see a run or a data set", Role.GUEST
    TRAIN = "train on a data set", Role.GUEST
    CHANGE = "rename, tag, pin and delete a run, and keep it private", Role.GUEST
    STOP = "stop a job or a study", Role.GUEST
    MEET = "have an account, join a class", Role.GUEST
    KEEP = "keep runs and data for longer than a day", Role.MEMBER
    SHARE_LINK = "share runs and data by link", Role.MEMBER
    OPEN_CLASS = "open a class", Role.MEMBER
    SHARE_SHELF = "put runs and data on the shelf of all", Role.TEACHER
    CORRECT = "correct the data sets on which all train", Role.TEACHER
    READ_SHEETS = "read the teacher's sheets of lessons", Role.TEACHER
    SEE_QUEUE = "see all jobs", Role.TEACHER
    READ_FILES = "choose files of the server's machine", None

    def __init__(self, description: str, role: Role | None) -> None:
        self.description = description
        self.role = role


WITH_OTHERS = {Action.MEET, Action.SHARE_LINK, Action.OPEN_CLASS, Action.SHARE_SHELF, Action.SEE_QUEUE}
"""The actions that make no sense for the only person of a server; all else that person may do."""

READING = {Action.SEE, Action.TRAIN}
"""The actions that a person may do with what others share; all else with what is not theirs is for an admin."""
