"""The components as a browser gets them: all modules in one file, so that a page asks for one and not for a hundred.

Each module becomes a function in one script, run when it is first asked for. The grammar is this house's own: named
imports, `import * as` and default imports, each one statement at the start of a line; exports by declaration.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

SCRIPT = "page.js"
_IMPORT = re.compile(
    r'^(?P<again>export|import) (?:(?P<names>\{[^}]*\})|\* as (?P<all>\w+)|(?P<default>\w+)) from "(?P<file>\.[^"]+)";',
    re.MULTILINE,
)
_EXPORT = re.compile(
    r"^export (?P<default>default )?(?P<kind>const|class|(?:async )?function\*?)(?: (?P<name>\w+))?", re.MULTILINE
)
_LATER = re.compile(r'\bimport\("(?P<file>\.[^"]+)"\)')
_LEFT = re.compile(r"^(?:import|export)\b.*|\bimport\.meta(?!\.url).*", re.MULTILINE)
_STYLE = re.compile(r'^@import "(?P<file>[^"]+)";', re.MULTILINE)
_LOADER = """const modules = {};
const addressOf = (name) => new URL(name, import.meta.url).href;
export function load(name) {
  if (!(name in modules)) files[name](modules[name] = {});
  return modules[name];
}
"""


def bundled(entries: Iterable[Path], root: Path) -> str:
    """One module that exports `load(name)`: what the module at root/name exports; it has all that `entries` import.

    Raise ValueError for a statement beyond the grammar, and for modules that import each other.
    """
    found: dict[Path, str] = {}
    under_way: list[Path] = []

    def gather(path: Path) -> None:
        if path in under_way:
            raise ValueError(f"{path.name} and {under_way[-1].name} import each other")
        if path in found:
            return
        text = path.read_text(encoding="utf-8")
        under_way.append(path)
        for match in _IMPORT.finditer(text):
            gather((path.parent / match["file"]).resolve())
        under_way.pop()
        found[path] = text
        for match in _LATER.finditer(text):
            gather((path.parent / match["file"]).resolve())

    root = root.resolve()
    for entry in entries:
        gather(entry.resolve())
    files = ",\n".join(_function(path, text, root) for path, text in sorted(found.items()))
    return f"{_LOADER}const files = {{\n{files}\n}};\n"


def style(path: Path) -> str:
    """A component's style with what it imports in place of the imports."""
    return _STYLE.sub(lambda match: style(path.parent / match["file"]), path.read_text(encoding="utf-8"))


def _function(path: Path, text: str, root: Path) -> str:
    exported: list[str] = []

    def name_of(file: str) -> str:
        return json.dumps((path.parent / file).resolve().relative_to(root).as_posix())

    def imported(match: re.Match[str]) -> str:
        loaded = f"load({name_of(match['file'])})"
        if match["again"] == "export":
            exported.extend(part.strip() for part in match["names"][1:-1].split(",") if part.strip())
        if match["names"]:
            return f"const {match['names'].replace(' as ', ': ')} = {loaded};"
        return f"const {match['all']} = {loaded};" if match["all"] else f"const {match['default']} = {loaded}.default;"

    def declared(match: re.Match[str]) -> str:
        name = match["name"] or ("byDefault" if match["default"] else None)
        if name is None:
            raise ValueError(f"{path.name} exports what has no name: {match[0]}")
        exported.append(f"default: {name}" if match["default"] else name)
        return f"{match['kind']} {name}"

    text = _EXPORT.sub(declared, _IMPORT.sub(imported, text))
    text = _LATER.sub(lambda match: f"Promise.resolve().then(() => load({name_of(match['file'])}))", text)
    if left := _LEFT.search(text):
        raise ValueError(f"{path.name} says what cannot be put into one file: {left[0]}")
    own = json.dumps(path.relative_to(root).as_posix())
    text = text.replace("import.meta.url", f"addressOf({own})")
    return f"{own}(exported) {{\n{text}\nObject.assign(exported, {{ {', '.join(exported)} }});\n}}"
