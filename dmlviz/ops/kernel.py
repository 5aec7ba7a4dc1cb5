"""The decorators of compiled functions, in modules that `compiled` imports."""

from functools import partial
from typing import Any

from numba import njit

kernel: Any = partial(njit, cache=True, nogil=True, fastmath=True, error_model="numpy")
"""`@kernel("void(f4[::1])")` compiles a function for these types and keeps it."""

inlined: Any = partial(njit, nogil=True, fastmath=True, error_model="numpy", inline="always")
"""`@inlined()` marks a function that is compiled into each kernel that calls it."""
