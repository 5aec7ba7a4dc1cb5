"""The components as browsers get them: one script that says what the modules say."""

import json
import re
import subprocess

import pytest

from app import components
from app.components.bundle import SCRIPT, bundled, style


def node(script):
    """What a module prints, as JSON."""
    found = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(found.stdout)


@pytest.fixture
def put(tmp_path):
    """`put(name, text)` writes a module."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_every_module_of_the_page_exports_what_it_exports_by_itself():
    (home,) = components.built().iterdir()
    names = re.findall(r'^"([\w/.-]+\.js)"\(exported\)', (home / SCRIPT).read_text(), re.MULTILINE)
    assert {"map/main.js", "shared/bus.js", "lossview/batchview.js", "formulas/index.js"} <= set(names)
    said = node(
        f"const {{ load }} = await import('{home / SCRIPT}');"
        f"const names = {json.dumps(names)}, told = [];"
        f"for (const name of names) {{ const own = await import('{components.FOLDER}/' + name);"
        "  told.push([name, Object.keys(own).sort(), Object.keys(load(name)).sort()]); }"
        "console.log(JSON.stringify(told));"
    )
    assert all(alone == together for _, alone, together in said), said


def test_modules_are_run_once_when_they_are_asked_for(put, tmp_path):
    put("deep/c.js", "globalThis.runs = (globalThis.runs ?? 0) + 1;\nexport const c = 3;\n")
    put("b.js", 'import * as all from "./deep/c.js";\nexport { c } from "./deep/c.js";\nexport const b = all.c + 1;\n')
    put(
        "late.js", 'import {\n  c as see,\n} from "./deep/c.js";\nexport default class Late { say() { return see; } }\n'
    )
    entry = put(
        "a.js",
        'import { b, c } from "./b.js";\n'
        "export default function () { return b + c; }\n"
        'export async function late() { return new (await import("./late.js")).default().say(); }\n'
        "export const at = import.meta.url;\n",
    )
    script = put("out/page.js", bundled([entry], tmp_path))
    said = node(
        f"const {{ load }} = await import('{script}'); const before = globalThis.runs ?? 0; const a = load('a.js');"
        "console.log(JSON.stringify([before, a.default(), await a.late(), globalThis.runs, a.at.slice(-8)]));"
    )
    assert said == [0, 7, 3, 1, "out/a.js"]


def test_a_style_brings_what_it_imports(put):
    put("shared/b.css", ".b {}\n")
    assert style(put("a/a.css", '@import "../shared/b.css";\n.a {}\n')) == ".b {}\n\n.a {}\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('import "./b.js";\n', 'import "./b.js"'),
        ("export * from './b.js';\n", "export"),
        ("export const { x, y } = {};\n", "no name"),
        ("const a = 1;\nexport { a };\n", "export { a }"),
        ("console.log(import.meta.env);\n", "import.meta.env"),
        ('import { b } from "./b.js";\n', "import each other"),
    ],
)
def test_what_is_beyond_the_grammar_is_named(put, tmp_path, text, named):
    put("b.js", 'import { a } from "./a.js";\nexport const b = 1;\n')
    entry = put("a.js", text)
    with pytest.raises(ValueError, match=re.escape(named)):
        bundled([entry], tmp_path)
