"""The components of the page: plain ES modules in one folder, mounted by name.

Component `pad` is `pad/pad.js` with `pad/pad.css`; `map` is `map/main.js`, which brings its own style.
Streamlit's own discovery looks for assets inside the package that the distribution is named after, which is the
library; so the folder is registered here, the same way for `dmlviz serve`, `streamlit run app/main.py`, a wheel
and a test.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

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
        components = [ComponentConfig(name=name, asset_dir=FOLDER.name) for name in NAMES]
        manager.register_from_manifest(ComponentManifest(PROJECT, "0", components), FOLDER.parent)


@cache
def _renderer(name: str) -> Any:
    own_style = name == "map"
    js, css = f"{name}/{'main' if own_style else name}.js", None if own_style else f"{name}/{name}.css"
    return st.components.v2.component(f"{PROJECT}.{name}", js=js, css=css)
