"""The JSON response of all routes: standard JSON for any numbers and texts."""

import json
from dataclasses import asdict
from typing import Any

from starlette import responses

from dmlviz.storage.files import to_json


class JSONResponse(responses.JSONResponse):
    """An answer in JSON: NaN and infinity become null, which browsers read, half a character a question mark.

    A dataclass is sent as its fields.
    """

    def render(self, content: Any) -> bytes:
        """Return the document."""
        try:
            text = _dumps(content)
        except ValueError:  # a number that JSON has no word for; most answers hold none, and are not searched
            text = _dumps(to_json(content))
        return text.encode(errors="replace")


def _dumps(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=asdict)
