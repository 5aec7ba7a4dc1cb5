"""The service described as OpenAPI 3.1, and the same for a person."""

from html import escape
from typing import Any

from dmlviz import __version__
from dmlviz.catalog.datasets import DATASETS
from dmlviz.runs.run import Run

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; }}
pre {{ padding: .8em 1em; border-radius: 8px; background: color-mix(in srgb, currentColor 8%, transparent);
  overflow-x: auto; }}
code {{ font-family: ui-monospace, monospace; font-size: 13px; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{summary}</p>
{paths}
<p>The same for programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
</body>
</html>
"""


def describe(run: Run, address: str, needs_token: bool) -> dict[str, Any]:
    """Return the service as an OpenAPI document.

    Args:
        run: The run that it answers for.
        address: Where it is, without a slash at the end.
        needs_token: Whether callers send a token.
    """
    spec = DATASETS[run.config.dataset]
    neighbor = _object(item=_type("integer"), distance=_type("number"), **{"class": _type("string")})
    answer = _object(
        votes=_type("integer", "How many of the neighbors are of this class."),
        neighbors={"type": "array", "items": neighbor, "description": "The nearest test images, nearest first."},
        embedding={"type": "array", "items": _type("number")},
        **{"class": _type("string", "The class of most neighbors.")},
    )
    k = {"name": "k", "in": "query", "description": "Number of neighbors, 1 to 1000.", "schema": _type("integer")}
    item = {"name": "item", "in": "path", "required": True, "schema": _type("integer")}
    picture = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ("image/png", "image/jpeg")}
    errors = {"400": _answer("The picture or k is refused; `error` says why.", _object(error=_type("string")))}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": run.title,
            "version": __version__,
            "summary": f"Send a picture, get the nearest of the test images of {spec.title}.",
        },
        "servers": [{"url": address}],
        "paths": {
            "/neighbors": {
                "post": {
                    "summary": "Prepare and embed a picture, and find its nearest test images.",
                    "parameters": [k],
                    "requestBody": {"required": True, "content": picture},
                    "responses": {"200": _answer("The neighbors.", answer), **errors},
                }
            },
            "/images/{item}.png": {
                "get": {
                    "summary": "One test image.",
                    "parameters": [item],
                    "responses": {"200": {"description": "The image.", "content": {"image/png": {}}}},
                }
            },
        },
    }
    if needs_token:
        document["components"] = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
        document["security"] = [{"token": []}]
    return document


def page(document: dict[str, Any]) -> str:
    """Return the document as a page."""
    address = document["servers"][0]["url"]
    token = '-H "Authorization: Bearer TOKEN" ' if "security" in document else ""
    examples = {
        "/neighbors": f"curl {token}--data-binary @digit.png '{address}/neighbors?k=5'",
        "/images/{item}.png": f"curl {token}-o 42.png {address}/images/42.png",
    }
    paths = [
        f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"
        f"<pre><code>{escape(examples[path])}</code></pre>"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    info = document["info"]
    return PAGE.format(title=escape(info["title"]), summary=escape(info["summary"]), paths="\n".join(paths))


def _type(name: str, description: str = "") -> dict[str, Any]:
    return {"type": name} | ({"description": description} if description else {})


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
