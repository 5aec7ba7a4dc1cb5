"""The JSON response of all routes: standard JSON for any numbers and texts."""

import json
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette import responses
from starlette.requests import Request

from dmlviz.errors import UserError
from dmlviz.storage.files import to_json
from dmlviz.storage.run_schema.validation import complaint


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


T = TypeVar("T")


async def read_json_body(request: Request, model: TypeAdapter[T], limit: int, what: str) -> T:
    """Return the body of a request, of up to `limit` bytes.

    Raises:
        UserError: If it is larger, no JSON, or not as the model says; it begins with `what` is sent.
    """
    text = bytearray()
    async for part in request.stream():
        text += part
        if len(text) > limit:
            raise UserError(f"{what} takes at most {limit:,} bytes; got more.")
    return parse_json(bytes(text), model, what)


def parse_json(text: bytes, model: TypeAdapter[T], what: str) -> T:
    """Return what JSON says; raise UserError as `read_json_body`."""
    try:
        return model.validate_json(text, strict=True)
    except ValidationError as error:
        raise UserError(f"{what} is a JSON object with other content: {complaint(error)}.") from None
    except RecursionError:
        raise UserError(f"{what} is a JSON object; this one is nested too deeply.") from None
