"""Sets of items as short words: a bit for each item, deflated, in the letters of an address."""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

import numpy as np

from dmlviz.errors import UserError

MAX_BYTES = 1 << 17  # a bit for each of a million items


def pack_bits(bits: bytes) -> str:
    """Return the word of a bit mask (little-endian bits): fifty letters for ten items of 10,000, at most 1,700."""
    return urlsafe_b64encode(zlib.compress(bits.rstrip(b"\0"), 9)).decode().rstrip("=")


def unpack_bits(word: str) -> bytes | None:
    """Return the bit mask of a word; None for what is no such word, or has no item."""
    inflater = zlib.decompressobj()
    try:
        bits = inflater.decompress(urlsafe_b64decode(word + "=" * (-len(word) % 4)), MAX_BYTES)
    except (Error, ValueError, zlib.error):
        return None
    return bits if inflater.eof and any(bits) else None


def pack_items(items: np.ndarray) -> str:
    """Return the word of a set of items (indices ≥ 0, at least one)."""
    bits = np.zeros(int(items.max()) + 1, np.uint8)
    bits[items] = 1
    return pack_bits(np.packbits(bits, bitorder="little").tobytes())


def unpack_items(word: str) -> np.ndarray:
    """Return the items of a word, ascending; raise UserError for what is no such word."""
    bits = unpack_bits(word)
    if bits is None:
        raise UserError(
            f"A subset is a word that names at least one item, as the map writes it; got {word[:40]!r}: copy the whole "
            "word, or select the items again."
        )
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little"))
