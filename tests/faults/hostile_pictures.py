"""Hostile pictures, and zips of pictures: the same for the same seed."""

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np
from PIL import Image

NAMES = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](http://example.org/x.png)", "$x$ :orange[y]"),
    *("../../up", "..\\..\\up", "/absolute", "C:\\x", "a\x00b", "a\nb", "\x1b[2J", "\u202egpj", "é" * 200, "a" * 5000),
    *(".hidden", "__MACOSX", " ", "CON", "=1+1", "{0}%s", "'; x", '"', "`x`", "$(touch PWNED)", "\ud7ff\ufffe", "-rf"),
]
FORMATS = {
    "PNG": ["L", "RGB", "RGBA", "P", "1", "LA", "I;16", "I"],
    "JPEG": ["L", "RGB", "CMYK"],
    "WEBP": ["RGB", "RGBA"],
    "GIF": ["P", "L"],
    "BMP": ["RGB", "1", "L"],
    "TIFF": ["F", "I;16", "RGB", "CMYK"],
}
TEXTS = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>',
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(PWNED) (w) file\n%%EOF\n",
    "html": b"<html><script>alert(1)</script></html>",
    "pickle": b"cposix\nsystem\n(S'touch PWNED'\ntR.",
    "empty": b"",
    "zeros": bytes(4096),
    "pdf": b"%PDF-1.7\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n",
}


def hostile_picture(draw: random.Random) -> tuple[str, bytes]:
    """One picture, and a word for what is wrong with it."""
    make = draw.choice([_ordinary, _ordinary, _cut, _flipped, _header, _bomb, _chunks, _exif, _polyglot, _odd, _text])
    return make(draw)


def _ordinary(draw: random.Random) -> tuple[str, bytes]:
    kind = draw.choice([*FORMATS])
    mode = draw.choice(FORMATS[kind])
    side = draw.choice([(1, 1), (28, 28), (200, 3), (3, 200), (64, 64), (501, 499)])
    values = np.random.default_rng(draw.randrange(10**6)).integers(0, 256, (side[1], side[0], 4), np.uint8)
    if mode in ("I;16", "I", "F"):
        types = {"I;16": np.uint16, "I": np.int32, "F": np.float32}
        wide = values[..., 0].astype(types[mode]) * (257 if mode != "I" else 2**20)
        picture = Image.fromarray(wide * np.float32(np.nan) if mode == "F" and draw.random() < 0.5 else wide)
    else:
        picture = Image.fromarray(values).convert(mode)
    more = {"save_all": True, "append_images": [picture] * draw.choice([3, 200])} if kind in ("GIF", "WEBP") else {}
    return f"{kind} {mode}{' animated' if more else ''}", saved(picture, kind, **more)


def saved(picture: Image.Image, kind: str, **options: object) -> bytes:
    """A picture as a file."""
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def _cut(draw: random.Random) -> tuple[str, bytes]:
    what, content = _ordinary(draw)
    return f"{what} cut off", content[: draw.randrange(len(content))]


def _flipped(draw: random.Random) -> tuple[str, bytes]:
    what, content = _ordinary(draw)
    changed = bytearray(content)
    for _ in range(draw.choice([1, 4, 40])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return f"{what} flipped bits", bytes(changed)


def png(width: int, height: int, depth: int, color: int, rows: bytes, chunks: bytes = b"") -> bytes:
    """A PNG with any header and any chunks between that and the rows, which are compressed here."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunks, chunk(b"IDAT", rows), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def chunk(kind: bytes, content: bytes) -> bytes:
    """One chunk of a PNG, with its checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _header(draw: random.Random) -> tuple[str, bytes]:
    side = draw.choice([0, 2**31 - 1, 65535, 100_000, 4097])
    kind = draw.choice(["PNG", "JPEG", "GIF", "BMP", "WEBP"])
    if kind == "PNG":
        return f"PNG of {side} × {side}", png(side, side, 8, draw.choice([0, 2, 6, 77]), zlib.compress(b"\0" * 100))
    content = bytearray(saved(Image.new("RGB", (20, 20)), kind))
    at = {"JPEG": content.find(b"\xff\xc0") + 5, "GIF": 6, "BMP": 18, "WEBP": 26}[kind]
    content[at : at + 4] = struct.pack("<I", side) if kind == "BMP" else struct.pack("<HH", side & 65535, side & 65535)
    return f"{kind} header of {side}", bytes(content)


def _bomb(draw: random.Random) -> tuple[str, bytes]:
    """Few bytes, many pixels; the largest that a header may announce, and larger."""
    side, depth, color = draw.choice(
        [(4096, 8, 2), (4096, 8, 6), (4096, 16, 0), (4096, 16, 6), (4096, 8, 0), (7000, 8, 2), (20_000, 1, 0)]
    )
    channels = {0: 1, 2: 3, 6: 4}[color]
    packer = zlib.compressobj(9)
    row = b"\0" + bytes(side * channels * depth // 8)
    rows = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    return f"PNG bomb {side} × {side}, {depth} bit × {channels}", png(side, side, depth, color, rows)


def _chunks(draw: random.Random) -> tuple[str, bytes]:
    rows = zlib.compress((b"\0" + b"\x55" * 60) * 20)
    kind = draw.choice([b"zTXt", b"iCCP", b"iTXt", b"eXIf", b"tEXt", b"PLTE", b"tRNS"])
    inside = draw.choice([zlib.compress(bytes(60_000_000), 9), b"x" * 200_000, b"", draw.randbytes(300)])
    prefix = {b"zTXt": b"a\0\0", b"iCCP": b"a\0\0", b"iTXt": b"a\0\1\0\0\0", b"tEXt": b"<script>\0"}.get(kind, b"")
    return f"PNG with {kind.decode()} of {len(inside):,} bytes", png(
        20, 20, 8, 2, rows, chunk(kind, prefix + inside) * 3
    )


def _exif(draw: random.Random) -> tuple[str, bytes]:
    picture = Image.fromarray(np.full((30, 20, 3), 90, np.uint8))
    if draw.random() < 0.5:
        exif = Image.Exif()
        exif[0x0112] = draw.choice([0, 1, 3, 6, 8, 9, 65535])
        exif[0x010E] = draw.choice(NAMES[:5])
        return "JPEG with EXIF", saved(picture, "JPEG", exif=exif)
    garbage = b"Exif\0\0" + draw.choice(
        [b"II*\0\xff\xff\xff\xff", b"MM\0*\0\0\0\x08\xff\xff" + b"\x01" * 500, b"x" * 60_000]
    )
    return "JPEG with damaged EXIF", saved(picture, draw.choice(["JPEG", "WEBP"]), exif=garbage)


def _polyglot(draw: random.Random) -> tuple[str, bytes]:
    what, content = _ordinary(draw)
    other = draw.choice(
        [TEXTS["html"], TEXTS["pdf"], b"PK\x05\x06" + bytes(18), b"\x7fELF" + bytes(60), b"#!/bin/sh\ntouch PWNED"]
    )
    return f"{what} and something else", content + other if draw.random() < 0.7 else other + content


def _odd(draw: random.Random) -> tuple[str, bytes]:
    size = draw.choice([(4096, 1), (1, 4096), (2, 2000), (28, 28)])
    color = draw.choice([0, 255, 128])
    return f"{size[0]} × {size[1]} of {color}", saved(Image.new("L", size, color), draw.choice(["PNG", "JPEG", "WEBP"]))


def _text(draw: random.Random) -> tuple[str, bytes]:
    name = draw.choice([*TEXTS])
    return f"no picture: {name}", TEXTS[name]


def hostile_zip(draw: random.Random) -> tuple[str, bytes]:
    """A zip of two classes with hostile pictures and names in it; or a hostile zip."""
    files = [
        (f"{name}/{number}.png", _small(number + 7 * (name == "dog"))) for name in ("cat", "dog") for number in range(4)
    ]
    what = draw.choice(
        ["pictures", "pictures", "names", "names", "classes", "cut", "sizes", "link", "locked", "many", "bomb"]
    )
    if what in ("pictures", "cut", "sizes", "locked"):
        files += [(f"cat/x{number}.png", hostile_picture(draw)[1]) for number in range(draw.choice([1, 3]))]
    elif what == "names":
        files += [(f"cat/{draw.choice(NAMES)}.png", _small(50 + number)) for number in range(3)]
        files += [(f"{draw.choice(NAMES)}/x.png", _small(60))]
    elif what == "classes":
        files = [
            (f"{name}/{number}.png", _small(9 * at + number))
            for at, name in enumerate(draw.sample(NAMES, 4))
            for number in range(4)
        ]
    elif what == "bomb":
        files += [(f"cat/bomb{number}.png", bytes(draw.choice([19, 21]) << 20)) for number in range(3)]
    content = _zip(files, link=what == "link")
    if what == "many":
        count = draw.choice([100_001, 300_000])
        content = empty_entries(count)
        what = f"{count:,} entries"
    elif what == "cut":
        content = content[: draw.randrange(len(content))]
    elif what in ("sizes", "locked"):
        at = content.index(b"PK\x01\x02") + (24 if what == "sizes" else 8)
        content = (
            content[:at]
            + (b"\xff\xff\xff\x7f" if what == "sizes" else b"\1\0")
            + content[at + (4 if what == "sizes" else 2) :]
        )
    return f"zip: {what}", content


def empty_entries(count: int) -> bytes:
    """A zip of so many empty files: only its directory is large."""
    entry = struct.pack("<4sIHHHHIIIHHHHHII", b"PK\x01\x02", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * count
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count & 65535, count & 65535, len(directory), 0, 0)
    return directory + end


def _small(number: int) -> bytes:
    values = np.random.default_rng(number).integers(0, 256, (12, 12, 3), np.uint8)
    return saved(Image.fromarray(values), "PNG")


def _zip(files: Iterator[tuple[str, bytes]] | list[tuple[str, bytes]], link: bool) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name.replace("\ud7ff", "?"))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o120777 if link and name.endswith("3.png") else 0o100644) << 16
            if entry.filename in archive.namelist():
                continue
            archive.writestr(entry, b"/etc/passwd" if entry.external_attr >> 28 == 0o12 else content)
    return target.getvalue()
