"""What the lines of an entry's code make, as types. Importing this loads no torch."""

from typing_extensions import TypedDict


class CodeValue(TypedDict):
    """A variable that a line has made: its shape, and the numbers of it, or of its first part, that are shown.

    `kind` is "number", "whole" or "mask" (of 0 and 1); what is not finite is a text.
    """

    name: str
    shape: list[int]
    kind: str
    rows: list[list[float | str]]


class CodeStep(TypedDict):
    """A line of the code, from 1 on, how often it ran, and what it made the first time."""

    line: int
    times: int
    values: list[CodeValue]


class CodeSteps(TypedDict):
    """dmlviz/code/KIND/NAME/steps.json: code executed with eight images, which are addresses of data."""

    title: str
    images: list[str]
    labels: list[str]
    steps: list[CodeStep]
