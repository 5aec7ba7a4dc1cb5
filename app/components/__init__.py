"""The components of the page: plain ES modules in one folder, mounted by name.

Component `pad` is `pad/pad.js` with `pad/pad.css`; `map` is `map/main.js`, which brings its own style. Browsers get
them put together (see `bundle`) from a folder named by what is in it, so that they need not ask twice.
Streamlit's own discovery looks for assets inside the package that the distribution is named after, which is the
library; so that folder is registered here, the same way for `dmlviz serve`, `streamlit run app/main.py`, a wheel
and a test.
"""

import atexit
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from app.components.bundle import SCRIPT, bundled, style

NAMES = (
    *("map", "inspector", "readouts", "curve", "progress", "study", "pad", "paste", "shelf", "versus", "keep", "look"),
    *("lossview", "lossplot", "plane", "spaces"),
)
FOLDER = Path(__file__).parent
PROJECT = "dmlviz"


def mount(
    name: str,
    *,
    key: str,
    data: dict[str, Any],
    height: int | str = "content",
    default: dict[str, Any] | None = None,
    **callbacks: Callable[[], None],
) -> Any:
    """Mount component `name` and return its values; `callbacks` are Streamlit's `on_<value>_change`.

    Raises TypeError where `data` holds more than JSON does: Streamlit would silently send it as one string.
    """
    json.dumps(data)
    register()
    return _renderer(name)(key=key, data=data, default=default, height=height, **callbacks)


def register() -> None:
    """Tell Streamlit where the components' files are: a tab left open asks for them before any page has run."""
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(f"{PROJECT}.{NAMES[0]}") is None:
        served = built()
        components = [ComponentConfig(name=name, asset_dir=served.name) for name in NAMES]
        manager.register_from_manifest(ComponentManifest(PROJECT, "0", components), served.parent)


@cache
def built() -> Path:
    """The folder that browsers load from, made once a process: version/page.js, an entry a component, the styles."""
    folder = Path(tempfile.mkdtemp(prefix="dmlviz-page-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = bundled((FOLDER / _module(name) for name in NAMES), FOLDER)
    styles = {path.relative_to(FOLDER): style(path) for path in sorted(FOLDER.glob("*/*.css"))}
    version = hashlib.sha256("".join([script, *styles.values()]).encode()).hexdigest()[:16]
    home = folder / "components" / version
    for path, text in styles.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    (home / SCRIPT).write_text(script, encoding="utf-8")
    for name in NAMES:  # every component has an address of its own, but they all load the same script
        script_of_all = f"../../{PROJECT}.{NAMES[0]}/{version}/{SCRIPT}"
        load = f'import {{ load }} from "{script_of_all}";\nexport default load({json.dumps(_module(name))}).default;\n'
        (home / f"{name}.js").write_text(load, encoding="utf-8")
    return home.parent


def _module(name: str) -> str:
    return "map/main.js" if name == "map" else f"{name}/{name}.js"


@cache
def _renderer(name: str) -> Any:
    (version,) = (path.name for path in built().iterdir())
    css = None if name == "map" else f"{version}/{name}/{name}.css"
    return st.components.v2.component(f"{PROJECT}.{name}", js=f"{version}/{name}.js", css=css)
