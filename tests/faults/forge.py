"""Archives of runs that somebody forged: `python tests/faults/forge.py [COUNT] [SEED]` takes all of them in, and tells.

Each is a whole small run with one thing changed: a value in a JSON file, an array, the zip itself.
"""

import copy
import io
import json
import random
import shutil
import stat
import struct
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from probe import Probe, data_folder, make_seed

from dmlviz.errors import UserError
from dmlviz.runs.archive import import_run
from dmlviz.runs.store import Runs

Files = dict[str, bytes]
CODE = '__import__("os").system("touch PWNED")'
STRINGS = [
    f"1); {CODE}; (",
    f'cpu"; {CODE}; "',
    f"'; {CODE}; '",
    f'"""\n{CODE}\n"""',
    f"\n{CODE}\n",
    f'x\\"); {CODE}  #',
    "'; touch PWNED; '",
    "$(touch PWNED)",
    "`touch PWNED`",
    "a\x00b",
    "\ud800",
    "\x1b[2J\u202e",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "![x](http://example.org/x.png)",
    "../../../etc/passwd",
    "=1+1",
    "a" * 5000,
    "",
    "{0} %s",
    "5",
]
RAW = "@@raw "  # a string that begins so is written as it stands behind it, whatever JSON says
NUMBERS = [
    -1,
    0,
    1.5,
    2**31,
    2**63,
    10**30,
    -(10**30),
    f"{RAW}{'9' * 400}",
    f"{RAW}1e999",
    f"{RAW}NaN",
    f"{RAW}-Infinity",
]
OTHERS = [None, True, False, [], {}, [1], ["x"], {"a": 1}, [[[]]], f"{RAW}{'[' * 3000}{']' * 3000}"]
DATES = [
    *("0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59-12:00", "2026-01-01T00:00:00", "2026-13-45", "yesterday"),
    *("2026-01-01T00:00:00+23:59", "1969-12-31T00:00:00+00:00", "20260101T000000Z", "0001-01-01T00:00:00+14:00"),
]


def forged(seed_folder: Path, count: int = 600, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """So many archives, each with a word for what was changed; the same for the same seed."""
    draw = random.Random(seed)
    files = {
        path.relative_to(seed_folder).as_posix(): path.read_bytes()
        for path in sorted(seed_folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
    families: list[tuple[int, Callable[[random.Random, Files], tuple[str, Files | bytes]]]] = [
        (30, _run_field),
        (8, _config_field),
        (25, _event_field),
        (6, _whole_document),
        (8, _projection_or_metrics),
        (14, _array),
        (9, _bundle),
        (4, _zip),
        (3, _other_file),
    ]
    weights = [weight for weight, _ in families]
    for _ in range(count):
        family = draw.choices([make for _, make in families], weights)[0]
        what, made = family(draw, dict(files))
        yield what, made if isinstance(made, bytes) else zipped(made)


def zipped(files: Files) -> bytes:
    """The files as a zip."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def _dumped(value: object) -> bytes:
    text = json.dumps(value)
    while (start := text.find(f'"{RAW}')) >= 0:
        end = text.index('"', start + 1)
        text = text[:start] + text[start + 1 + len(RAW) : end] + text[end + 1 :]
    return text.encode()


def _value(draw: random.Random) -> object:
    return draw.choice([*STRINGS, *STRINGS, *NUMBERS, *OTHERS])


def _places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Where something stands in a JSON document; of long lists the first entries."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*path, key)
        yield from _places(child, (*path, key))


def _put(document: object, path: tuple, value: object) -> object:
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


def _changed(draw: random.Random, document: object, paths: list[tuple]) -> tuple[str, object]:
    path, value = draw.choice(paths), _value(draw)
    if path[-1] == "created":
        value = draw.choice([value, *DATES])
    return f"{'.'.join(map(str, path))} = {str(value)[:40]!r}", _put(document, path, value)


def _run_field(draw: random.Random, files: Files) -> tuple[str, Files]:
    told = json.loads(files["run.json"])
    own = [("title",), ("created",), ("tags",), ("pinned",), ("device",), ("threads",), ("fails",), ("timings",)]
    own += [("dataset",), ("dmlviz",), ("torch",), ("id",), ("version",), ("timings", "seconds"), ("config",)]
    what, told = _changed(draw, told | {"tags": ["a"], "pinned": True}, [*own, ("device",), ("threads",), ("title",)])
    return f"run.json {what}", files | {"run.json": _dumped(told)}


def _config_field(draw: random.Random, files: Files) -> tuple[str, Files]:
    told = json.loads(files["run.json"])
    paths = [("config", *path) for path in _places(told["config"])] + [("config", "self"), ("config", "a; b")]
    what, told = _changed(draw, told, paths)
    return f"run.json {what}", files | {"run.json": _dumped(told)}


def _event_field(draw: random.Random, files: Files) -> tuple[str, Files]:
    name = draw.choice([name for name in files if name.endswith("events.jsonl")] + ["events.jsonl"] * 2)
    events = [json.loads(line) for line in files[name].splitlines()]
    kind = draw.choice(sorted({event["event"] for event in events}))
    number = draw.choice([i for i, event in enumerate(events) if event["event"] == kind])
    if draw.random() < 0.15:
        events[number] = {"event": "stopped", "step": _value(draw), "metrics": {}, "reason": "x", "time": 1.0}
        return f"{name} stopped at {str(events[number]['step'])[:40]!r}", files | {name: _lines(events)}
    what, events[number] = _changed(draw, events[number], list(_places(events[number])))
    if draw.random() < 0.2:
        events = events[: number + 1]
    return f"{name} {kind}.{what}", files | {name: _lines(events)}


def _lines(events: list) -> bytes:
    return b"".join(_dumped(event) + b"\n" for event in events)


def _whole_document(draw: random.Random, files: Files) -> tuple[str, Files]:
    value = draw.choice([*OTHERS, "text", 5, f"{RAW}NaN", f"{RAW}1e999"])
    name = draw.choice([name for name in files if name.endswith((".json", ".jsonl"))])
    if name.endswith(".jsonl"):
        lines = files[name].splitlines()
        number = draw.choice([0, len(lines) // 2, len(lines) - 1])
        lines[number] = _dumped(value)
        return f"{name} line {number} is {str(value)[:30]!r}", files | {name: b"\n".join(lines) + b"\n"}
    return f"{name} is {str(value)[:30]!r}", files | {name: _dumped(value)}


def _projection_or_metrics(draw: random.Random, files: Files) -> tuple[str, Files]:
    name = draw.choice([name for name in files if name.endswith(("projection.json", "metrics.json"))])
    told = json.loads(files[name])
    what, told = _changed(draw, told, [*_places(told), ("precision_at_1",), ("map_at_r",)])
    return f"{name} {what}", files | {name: _dumped(told)}


def _npy(values: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.save(target, values, allow_pickle=values.dtype == object)
    return target.getvalue()


def _spoilt(draw: random.Random, values: np.ndarray) -> tuple[str, np.ndarray]:
    kind = draw.choice(["text", "object", "bool", "complex", "structured", "float", "scalar", "shorter", "turned"])
    more = draw.choice(["deeper", "empty", "nan", "infinite", "negative", "huge", "beyond", "longer"])
    what = draw.choice([kind, more])
    flat = np.array(values)
    if flat.dtype.kind == "U":
        what = draw.choice(["text", "object", "deeper", "empty"])
    with np.errstate(all="ignore"):
        made = {
            "text": lambda: np.full(flat.shape, "x; touch PWNED"),
            "object": lambda: np.full(flat.shape, {"a": 1}, object),
            "bool": lambda: flat.astype(bool),
            "complex": lambda: flat.astype(np.complex64),
            "structured": lambda: np.zeros(flat.shape, [("a", "<f4"), ("b", "<i4")]),
            "float": lambda: flat.astype(np.float64) + 0.5,
            "scalar": lambda: np.array(flat.ravel()[0] if flat.size else 0),
            "shorter": lambda: flat[: len(flat) // 2] if flat.ndim else flat,
            "turned": lambda: flat.T.copy() if flat.ndim > 1 else flat.reshape(-1)[::-1].reshape(flat.shape).copy(),
            "deeper": lambda: flat.reshape((1, *flat.shape)),
            "empty": lambda: flat[:0] if flat.ndim else np.zeros(0),
            "nan": lambda: _with(flat.astype(np.float32), np.nan),
            "infinite": lambda: _with(flat.astype(np.float32), np.inf),
            "negative": lambda: _with(flat.astype(np.float32 if flat.dtype.kind == "f" else np.int32), -7),
            "huge": lambda: _with(flat.astype(np.float64 if flat.dtype.kind == "f" else np.int64), 2**62),
            "beyond": lambda: _with(flat.astype(np.float32 if flat.dtype.kind == "f" else np.int32), 99_999),
            "longer": lambda: np.concatenate([flat, flat]) if flat.ndim else flat,
        }[what]()
    return what, made


def _with(values: np.ndarray, value: float) -> np.ndarray:
    values = np.array(values)
    if values.size:
        values.ravel()[values.size // 3] = value
        values = values if values.ndim else values.reshape(())
    return values


def _array(draw: random.Random, files: Files) -> tuple[str, Files]:
    names = [name for name in files if name.endswith(".npy")]
    short = [name for name in names if not name.startswith("snapshots/")]
    name = draw.choice([*short, *short, *names])
    if draw.random() < 0.2:
        header = draw.choice([b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }\n", b"x" * 60000])
        return f"{name} header", files | {name: b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header}
    what, values = _spoilt(draw, np.load(io.BytesIO(files[name])))
    if draw.random() < 0.3 and name in ("labels.npy", "tracked.npy"):
        for other in ("embeddings.npy",):  # shapes that fit together, all of them wrong
            files[other] = _npy(np.load(io.BytesIO(files[other]))[: len(values) if values.ndim else 0])
    return f"{name} {what}", files | {name: _npy(values)}


def _bundle(draw: random.Random, files: Files) -> tuple[str, Files]:
    name = draw.choice([name for name in files if name.endswith(".npz")] + ["basis.npz"] * 6)
    with np.load(io.BytesIO(files[name])) as stored:
        arrays = dict(stored)
    key = draw.choice(sorted(arrays))
    if draw.random() < 0.35:
        what = f"without {key}"
        del arrays[key]
    elif draw.random() < 0.1:
        what, arrays = "with none", {}
    else:
        what, arrays[key] = _spoilt(draw, arrays[key])
        what = f"{key} {what}"
    target = io.BytesIO()
    np.savez(target, allow_pickle=True, **arrays)
    return f"{name} {what}", files | {name: target.getvalue()}


def _zip(draw: random.Random, files: Files) -> tuple[str, bytes]:
    what = draw.choice(["twice", "link", "up", "absolute", "backslash", "cut", "encrypted", "size", "kind", "none"])
    whole = zipped(files)
    if what in ("twice", "link", "up", "absolute", "backslash"):
        target = io.BytesIO(whole)
        entry = zipfile.ZipInfo(
            {"twice": "run.json", "link": "secret.json", "up": "../run.json", "absolute": "/tmp/run.json"}.get(
                what, "frames\\..\\run.json"
            )
        )
        entry.external_attr = ((stat.S_IFLNK if what == "link" else stat.S_IFREG) | 0o777) << 16
        with warnings.catch_warnings(), zipfile.ZipFile(target, "a") as archive:
            warnings.simplefilter("ignore")
            archive.writestr(entry, "/etc/passwd" if what == "link" else "{}")
        return what, target.getvalue()
    if what == "cut":
        return what, whole[: draw.randrange(len(whole))]
    central = whole.index(b"PK\x01\x02")
    change = {"encrypted": (8, b"\x01\x00"), "size": (24, b"\xff\xff\xff\x7f"), "kind": (10, b"\x63\x00")}
    if what in change:
        at, content = change[what]
        return what, whole[: central + at] + content + whole[central + at + len(content) :]
    return what, zipped({"x.json": b"{}"})


def _other_file(draw: random.Random, files: Files) -> tuple[str, Files]:
    name = draw.choice(["weights.safetensors", next(name for name in files if name.endswith(".i16"))])
    content = files[name]
    what = draw.choice(["cut", "empty", "header", "flipped"])
    at = draw.randrange(len(content))
    made = {
        "cut": content[:at],
        "empty": b"",
        "header": struct.pack("<Q", 2**40) + content[8:],
        "flipped": content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :],
    }[what]
    return f"{name} {what}", files | {name: made}


def main() -> None:
    """Take all of them in, ask everything of those that were accepted, and print what happened."""
    count, seed = (int(text) for text in [*sys.argv[1:], *("600", "0")[len(sys.argv) - 1 :]])
    work = Path(tempfile.mkdtemp(prefix="dmlviz-forged-"))
    data = data_folder(work)
    told = Counter()
    try:
        run = make_seed(work / "seed")
        for number, (what, content) in enumerate(forged(run, count, seed)):
            outcome, faults = take_in(content, work / f"runs-{number}", data)
            told[outcome] += 1
            told.update(faults)
            if faults:
                print(f"{what[:90]:92}{', '.join(sorted(faults))}".encode("ascii", "replace").decode(), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for name, times in told.most_common():
        print(f"{times:5}  {name}")


def take_in(content: bytes, folder: Path, data: Path) -> tuple[str, set[str]]:
    """What becomes of one archive: how it ended, and what it then broke."""
    try:
        run = import_run(io.BytesIO(content), Runs(folder))
    except UserError:
        return "refused with a sentence", set()
    except Exception as error:
        return f"the check itself broke: {type(error).__name__}", {"the check itself"}
    probe = Probe(folder, data)
    try:
        faults = {f"what everybody sees: {name}" for name in probe.shared()}
        faults |= {"a route answered 500"} if probe.answers(run.path.name) else set()
        faults |= {"code in an export"} if probe.code(run.path.name) else set()
        faults |= {"vanished"} if probe.unsaid(run.path.name) else set()
    finally:
        probe.close()
        shutil.rmtree(folder, ignore_errors=True)
    return "accepted", faults


if __name__ == "__main__":
    main()
