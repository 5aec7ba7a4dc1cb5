"""The widget's contents as a page of its own, for hosts that show no widgets and for notebooks without their state."""

import html
import json

from dmlviz.export.page import BUILT
from dmlviz.export.page_contents import RunContents

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>dmlviz</title>
<style>{style}</style>
<script>{theme}</script>
</head>
<body>
<main><div id="workbench"></div></main>
<script type="application/json" id="kept">{kept}</script>
<script type="module">{script}</script>
</body>
</html>
"""

# The page receives whether the notebook around it is light or dark; without that, it follows the system.
THEME = """
const { colors } = document.documentElement.dataset;
if (colors) {
  document.documentElement.style.colorScheme = colors;
  for (const { media } of document.styleSheets[0].cssRules)
    if (media?.mediaText.includes("prefers-color-scheme")) media.mediaText = colors === "dark" ? "all" : "not all";
}
"""
TELL_COLORS = """
for (const frame of document.querySelectorAll('.dmlviz-page[data-widget="{page_id}"] iframe')) {{
  const colors = getComputedStyle(frame).colorScheme;
  if (colors === "light" || colors === "dark")
    frame.srcdoc = frame.srcdoc.replace("<html ", `<html data-colors="${{colors}}" `);
}}
"""

# The page may run its script, and reach nothing of the notebook around it. JupyterLab takes the frame out of a notebook
# that is not trusted, and leaves the words. The widget hides the page as soon as it is drawn, and a lazy frame that was
# never seen was never loaded, so the page waits. Where the widget's own output above stays empty ("Loading widget …"),
# it is the page that hides it.
FRAME = (
    "<style>"
    ".dmlviz-page {{ animation: dmlviz-wait 1s linear }}"
    "@keyframes dmlviz-wait {{ 0%, 99% {{ display: none }} }}"
    ":is(.jp-OutputArea-child, .output_area):not(:has(.dmlviz-map))"
    ":has(+ :is(.jp-OutputArea-child, .output_area) .dmlviz-page) {{ display: none }}"
    "</style>"
    '<div class="dmlviz-page" data-widget="{page_id}">'
    '<iframe title="Map of embeddings" loading="lazy" sandbox="allow-scripts" srcdoc="{page}" style="{style}">'
    "Trust this notebook to see its map.</iframe></div>"
    "<script>{colors}</script>"
)
BESIDE, BESIDE_PLAIN = 180, 50  # pixels that the rest of a run, and of bare embeddings, takes besides the map


def page_in_frame(contents: RunContents, height: int, page_id: str) -> str:
    """Return HTML that plays a finished run without a kernel, a server or a network.

    Args:
        contents: As `dmlviz.export.page_contents.page_contents` returns them.
        height: Height of the map in pixels.
        page_id: By which the widget finds its page.
    """
    page = PAGE.format(
        style=(BUILT / "standalone.css").read_text(encoding="utf-8"),
        script=(BUILT / "standalone.js").read_text(encoding="utf-8"),
        theme=THEME,
        kept=json.dumps(contents | {"height": height}, separators=(",", ":")).replace("<", "\\u003c"),
    )
    pixels = height + (BESIDE_PLAIN if contents["plain"] else BESIDE)
    return FRAME.format(
        page_id=page_id,
        page=html.escape(page),
        style=f"width: 100%; height: {pixels}px; border: 0",
        colors=TELL_COLORS.format(page_id=page_id),
    )
