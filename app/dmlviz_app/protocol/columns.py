"""Further columns of the test images."""

from typing_extensions import TypedDict


class ColumnInfo(TypedDict):
    """A column that the map can be colored by: of numbers from `low` to `high`, or of categories (`values`).

    The numbers of dates are days since `start`, in milliseconds since 1970 (UTC); null for other columns.
    """

    name: str
    low: float | None
    high: float | None
    values: list[str] | None
    start: float | None
