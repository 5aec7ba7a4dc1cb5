"""What all pages of a site have in common."""

import html

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="dmlviz">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; img-src 'self' data: blob:; \
style-src 'self' 'unsafe-inline'; script-src 'self' blob: 'wasm-unsafe-eval'; \
connect-src 'self' blob:; object-src 'none'; base-uri 'none'">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}style.css">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""


def site_page(title: str, body: str, root: str = "../") -> str:
    """Return a whole page; `root` leads from it to the folder of the style sheet."""
    return FRAME.format(root=root, title=html.escape(title), body=body)
