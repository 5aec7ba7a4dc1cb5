"""The service described as OpenAPI 3.1, and the same for a person."""

from html import escape
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.image_ops import READABLE
from dmlviz.data.query_image import describe_preparation
from dmlviz.runs.run import Run
from dmlviz.version import __version__

MAX_NEIGHBORS = 1000
USUAL_NEIGHBORS = 10

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
  white-space: pre-wrap; overflow-wrap: anywhere; }}
code {{ font-family: ui-monospace, monospace; font-size: 13px; }}
h2 code {{ font-size: 16px; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{summary}</p>
{paths}
<p>What is refused gets a status from 400 on, and {{"error": …}} as JSON.</p>
<p>The same for programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
</body>
</html>
"""


def describe(run: Run, address: str, needs_token: bool) -> dict[str, Any]:
    """Return the service as an OpenAPI document.

    Args:
        run: The run that it answers for.
        address: Its address, without a slash at the end.
        needs_token: Whether callers send a token.
    """
    spec = DATASETS[run.config.dataset]
    neighbor = _object(item=_type("integer"), distance=_type("number"), **{"class": _type("string")})
    confidence = _object(
        level={"type": "string", "enum": ["sure", "unsure", "unlike"]},
        title=_type("string", "The answer in a few words."),
        sentence=_type("string", "Why it is not sure; empty if it is."),
        basis=_type("string", "On which images that is calibrated."),
    )
    answer = _object(
        votes=_type("integer", "How many of the neighbors are of this class."),
        confidence=confidence,
        neighbors={"type": "array", "items": neighbor, "description": "The nearest test images, nearest first."},
        embedding={"type": "array", "items": _type("number")},
        **{"class": _type("string", "The class of most neighbors.")},
    )
    count = {"type": "integer", "minimum": 1, "maximum": MAX_NEIGHBORS, "default": USUAL_NEIGHBORS}
    k = {"name": "k", "in": "query", "description": "Number of neighbors.", "schema": count}
    item = {"name": "item", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0}}
    file = {"type": "string", "format": "binary"}
    picture = {kind: {"schema": file} for kind in ("image/png", "image/jpeg", "image/webp")}
    picture["multipart/form-data"] = {"schema": _object(image=file)}
    refusals = {"401": _refusal("The token is missing or another one.")} if needs_token else {}
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
                    "description": describe_preparation(run.config.dataset),
                    "parameters": [k],
                    "requestBody": {
                        "required": True,
                        "description": f"{READABLE}, up to 30 MB: as the body, or as the file of a form.",
                        "content": picture,
                    },
                    "responses": {
                        "200": _answer("The neighbors.", answer),
                        "400": _refusal("The picture or k is refused."),
                        **refusals,
                        "413": _refusal("The picture has more than 30 MB."),
                    },
                }
            },
            "/images/{item}.png": {
                "get": {
                    "summary": "One test image.",
                    "description": "Its number is a neighbor's item, from 0.",
                    "parameters": [item],
                    "responses": {
                        "200": {"description": "The image.", "content": {"image/png": {}}},
                        **refusals,
                        "404": _refusal("There is no such test image."),
                    },
                }
            },
        },
    }
    error = _object(error=_type("string", "One sentence: the rule, what was received, what to do."))
    document["components"] = {"schemas": {"Error": error}}
    if needs_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def page(document: dict[str, Any]) -> str:
    """Return the document as a page."""
    address = document["servers"][0]["url"]
    token = '-H "Authorization: Bearer TOKEN" ' if "security" in document else ""
    examples = {
        "/neighbors": f"curl {token}--data-binary @picture.png '{address}/neighbors?k=5'",
        "/images/{item}.png": f"curl {token}-o 42.png {address}/images/42.png",
    }
    paths = [
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(operation['summary'])} {escape(operation['description'])}</p>"
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


def _refusal(description: str) -> dict[str, Any]:
    return _answer(description, {"$ref": "#/components/schemas/Error"})
