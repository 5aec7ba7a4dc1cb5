"""The widget's contents as a page of its own, for hosts that show no widgets and for notebooks without their state."""

import html
import json
from typing import Any

from dmlviz.export.page import BUILT

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>dmlviz</title>
<style>{style}</style>
</head>
<body>
<main{plain}>
<section id="map"></section>
<section id="inspector"></section>
<section id="scores"></section>
<section id="loss_curve"></section>
</main>
<script type="application/json" id="kept">{kept}</script>
<script type="module">{script}</script>
</body>
</html>
"""

# The page may run its script, and reach nothing of the notebook around it. JupyterLab takes the frame out of a notebook
# that is not trusted, and leaves the words.
FRAME = (
    '<iframe title="Map of embeddings" sandbox="allow-scripts" srcdoc="{page}" style="{style}">'
    "Trust this notebook to see its map.</iframe>"
)
BESIDE, BESIDE_PLAIN = 180, 50  # pixels that the rest of a run, and of bare embeddings, takes besides the map


def page_in_frame(contents: dict[str, Any], height: int) -> str:
    """Return HTML that plays a finished run without a kernel, a server or a network.

    Args:
        contents: as `dmlviz.export.page_contents.page_contents` returns them.
        height: height of the map in pixels.
    """
    page = PAGE.format(
        style=(BUILT / "standalone.css").read_text(encoding="utf-8"),
        script=(BUILT / "standalone.js").read_text(encoding="utf-8"),
        kept=json.dumps(contents | {"height": height}, separators=(",", ":")).replace("<", "\\u003c"),
        plain=' class="plain"' if contents["plain"] else "",
    )
    pixels = height + (BESIDE_PLAIN if contents["plain"] else BESIDE)
    return FRAME.format(page=html.escape(page), style=f"width: 100%; height: {pixels}px; border: 0")
