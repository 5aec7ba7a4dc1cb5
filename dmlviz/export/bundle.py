"""ES modules and what they refer to, gathered into the text of one page: an import map of data: addresses."""

import json
import re
from base64 import b64encode
from pathlib import Path

# `from "./a.js"`, `import "./a.js"`, `import("./a.js")`; only relative addresses are ours to follow.
_SPECIFIER = re.compile(r"""((?:\bfrom|\bimport)\s*\(?\s*)(["'])(\.{1,2}/[^"'\n]+)\2""")
_ASSET = re.compile(r"""new URL\(\s*(["'])([^"'\n]+)\1\s*,\s*import\.meta\.url\s*\)\.href""")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".png": "image/png", ".svg": "image/svg+xml"}


def import_map(entry: Path, root: Path) -> str:
    """The import map (JSON) under which `import "entry"` loads the module `entry` and all that it imports.

    `root` holds all of them. Files that a module names as `new URL("a.css", import.meta.url).href` come along too.
    Raise ValueError for a module that asks for its own address in another way, since here it has none.
    """
    found: dict[Path, str] = {}
    waiting = [entry.resolve()]
    root = root.resolve()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        text = path.read_text(encoding="utf-8")
        waiting += [(path.parent / match[3]).resolve() for match in _SPECIFIER.finditer(text)]
        found[path] = _standing_alone(text, path, root)
    modules = {_name(path, root): data_address(text.encode(), ".js") for path, text in sorted(found.items())}
    return json.dumps({"imports": {"entry": modules[_name(entry.resolve(), root)], **modules}})


def data_address(content: bytes, suffix: str) -> str:
    """The content as an address."""
    return f"data:{_TYPES[suffix]};base64,{b64encode(content).decode()}"


def _standing_alone(text: str, path: Path, root: Path) -> str:
    def import_of(match: re.Match[str]) -> str:
        return f"{match[1]}{json.dumps(_name((path.parent / match[3]).resolve(), root))}"

    def asset_of(match: re.Match[str]) -> str:
        asset = path.parent / match[2]
        return json.dumps(data_address(asset.read_bytes(), asset.suffix))

    text = _ASSET.sub(asset_of, _SPECIFIER.sub(import_of, text))
    if "import.meta" in text:
        raise ValueError(f"{path.name} uses import.meta for more than the address of a file beside it")
    return text


def _name(path: Path, root: Path) -> str:
    return f"dmlviz/{path.relative_to(root).as_posix()}"
