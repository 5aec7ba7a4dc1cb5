"""The service described as OpenAPI 3.1, from openapi.json, and the same for a person, as description.html."""

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.image_ops import READABLE
from dmlviz.data.query_image import describe_preparation
from dmlviz.runs.run import Run
from dmlviz.version import __version__

_DOCUMENT = Path(__file__).with_name("openapi.json").read_text(encoding="utf-8")
_PAGE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
_COUNT = json.loads(_DOCUMENT)["paths"]["/neighbors"]["post"]["parameters"][0]["schema"]
MAX_NEIGHBORS, USUAL_NEIGHBORS = _COUNT["maximum"], _COUNT["default"]


def describe(run: Run, address: str, needs_token: bool) -> dict[str, Any]:
    """Return the service as an OpenAPI document.

    Args:
        run: The run that it answers for.
        address: Its address, without a slash at the end.
        needs_token: Whether callers send a token.
    """
    title = DATASETS[run.config.dataset].title
    document: dict[str, Any] = json.loads(_DOCUMENT)
    summary = f"Send a picture, get the nearest of the test images of {title}."
    document["info"] = {"title": run.title, "version": __version__, "summary": summary}
    document["servers"] = [{"url": address}]
    asked = document["paths"]["/neighbors"]["post"]
    asked["description"] = describe_preparation(run.config.dataset)
    asked["requestBody"]["description"] = f"{READABLE}, up to 30 MB: as the body, or as the file of a form."
    if not needs_token:
        del document["security"], document["components"]["securitySchemes"]
        for methods in document["paths"].values():
            for operation in methods.values():
                del operation["responses"]["401"]
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
    return _PAGE.substitute(title=escape(info["title"]), summary=escape(info["summary"]), paths="\n".join(paths))
