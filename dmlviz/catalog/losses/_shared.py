"""Parameters that many losses share, so that they are called and explained the same everywhere."""

from dmlviz.catalog.parameters import Parameter


def margin(default: float, text: str, *, name: str = "margin", minimum: float = 0, maximum: float = 100) -> Parameter:
    """Return a parameter for a margin on a distance or a cosine."""
    return Parameter(name=name, kind=float, default=default, minimum=minimum, maximum=maximum, step=0.05, help=text)


def scale(default: float, text: str, *, name: str = "scale", maximum: float = 1000) -> Parameter:
    """Return a parameter for a positive factor on a score."""
    return Parameter(name=name, kind=float, default=default, minimum=0.001, maximum=maximum, step=1, help=text)


def distance(default: str = "euclidean") -> Parameter:
    """Return a parameter for the distance inside the hinge."""
    return Parameter(
        name="distance",
        kind=str,
        default=default,
        choices=("euclidean", "sqeuclidean", "cosine"),
        help="distance inside the hinge; cosine means 1 − cosine",
    )


def reduction(default: str = "mean") -> Parameter:
    """Return a parameter for the reduction of a batch's terms to one number."""
    return Parameter(
        name="reduction",
        kind=str,
        default=default,
        choices=("mean", "nonzero", "sum"),
        help="mean of all terms, mean of those that are not zero, or their sum",
    )
