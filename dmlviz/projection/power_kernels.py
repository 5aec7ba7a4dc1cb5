"""Logarithm and power of single precision for compiled loops, off by less than 0.01%.

Loops with these are computed for many numbers at a time; with the library's they are not.
"""

import numpy as np
from numpy.polynomial import Polynomial

from dmlviz.ops.kernel import inlined


def _coefficients(function: np.ufunc, low: float, high: float) -> tuple[np.float32, ...]:
    x = np.polynomial.chebyshev.chebpts1(200) * (high - low) / 2 + (high + low) / 2
    return tuple(Polynomial.fit(x, function(x), 5).convert().coef.astype(np.float32))


_LOG2, _EXP2 = _coefficients(np.log2, 1, 2), _coefficients(np.exp2, 0, 1)


@inlined()
def log2(x):
    """Return the logarithm to base 2 of an x > 0."""
    bits = np.float32(x).view(np.int32)
    t = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F800000)).view(np.float32)
    c = _LOG2
    mantissa = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
    return np.float32((bits >> np.int32(23)) - np.int32(127)) + mantissa


@inlined()
def power(x, exponent):
    """Return x^exponent of an x > 0."""
    scaled = min(max(log2(x) * exponent, np.float32(-100)), np.float32(100))
    whole = np.floor(scaled)
    t = scaled - whole
    c = _EXP2
    fraction = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
    return np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32) * fraction
