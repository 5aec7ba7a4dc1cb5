"""The nets of the lab *patches* in words, for their drawings: inputs, layers, what is shared, what decides."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NetDrawing:
    """A net that compares two patches.

    Attributes:
        inputs: What goes into each tower; one entry where there is one body only.
        layers: The layers with weights of each tower, in words.
        shared: Whether both towers have the same weights.
        end: What makes a score of what the towers give.
    """

    inputs: tuple[str, ...]
    layers: tuple[str, ...]
    shared: bool
    end: str


_PATCHES = ("first patch", "second patch")
_TOWER = ("8 × 8 convolution, 32", "3 × 3 convolution, 48", "linear, 112", "linear, 64")
_DECISION = "a small net decides: linear, 64; linear, 1"

DRAWINGS = {
    "siam-l2": NetDrawing(_PATCHES, _TOWER, True, "the distance of two descriptors of length 1"),
    "siam": NetDrawing(_PATCHES, _TOWER, True, _DECISION),
    "pseudo-siam": NetDrawing(_PATCHES, _TOWER, False, _DECISION),
    "2ch": NetDrawing(("both patches as two channels",), (*_TOWER[:-1], "linear, 1"), False, "its output is the score"),
    "2ch-2stream": NetDrawing(
        ("the middles of both, two channels", "both at half the size, two channels"),
        ("4 × 4 convolution, 32", *_TOWER[1:]),
        False,
        _DECISION,
    ),
}
