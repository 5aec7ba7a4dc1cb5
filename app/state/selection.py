"""Selected test images as a word for an address: the data set's name, a dot, and their bits, deflated."""

import zlib
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from dataclasses import dataclass
from typing import Self

import numpy as np

MAX_BYTES = 1 << 17  # a bit for each of a million images


@dataclass(frozen=True)
class Selection:
    """Test images of `dataset`; `bits` as the map tells them: base64, bit i (little-endian) for image i."""

    dataset: str
    bits: str

    @classmethod
    def of(cls, dataset: str, items: np.ndarray) -> Self | None:
        """Select the images at these indices; None for none."""
        if not len(items):
            return None
        bits = np.zeros(int(items.max()) + 1, np.uint8)
        bits[items] = 1
        return cls(dataset, b64encode(np.packbits(bits, bitorder="little").tobytes()).decode())

    @property
    def encode(self) -> str:
        """For an address: some fifty letters for ten of 10,000 images, under 1,700 for any of them."""
        deflated = zlib.compress(b64decode(self.bits).rstrip(b"\0"), 9)
        return f"{self.dataset}.{urlsafe_b64encode(deflated).decode().rstrip('=')}"

    @classmethod
    def decode(cls, word: str) -> Self | None:
        """What a word selects; None for what is no such word, or selects nothing."""
        dataset, _, text = word.rpartition(".")
        try:
            inflater = zlib.decompressobj()
            bits = inflater.decompress(urlsafe_b64decode(text + "=" * (-len(text) % 4)), MAX_BYTES)
        except (Error, ValueError, zlib.error):
            return None
        return cls(dataset, b64encode(bits).decode()) if inflater.eof and any(bits) else None
