"""Errors between two machines."""

from dmlviz.errors import UserError


class FleetError(UserError):
    """A fleet that cannot be reached or joined; the message says why and what to do."""


class MachineLostError(Exception):
    """A machine that has a job is gone, or gives no answer; the job should begin again elsewhere."""
