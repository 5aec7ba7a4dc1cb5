"""What a person is told when something cannot be done."""


class UserError(ValueError):
    """A broken rule, said in one or two sentences: the rule, what was received, what to do.

    The command line prints the text and the page shows it; neither shows a traceback.
    """


class UnknownName(UserError, KeyError):
    """A name that no catalogue entry has. Also a KeyError, so that `name in LOSSES` works."""

    __str__ = ValueError.__str__


class DataUnavailable(UserError):
    """A data set that is not on disk and could not be fetched, or files that are not what they claim."""
