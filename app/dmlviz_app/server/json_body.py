"""JSON bodies of requests: read up to a limit, and checked by a model before anything looks at them."""

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from dmlviz.errors import UserError
from dmlviz.storage.run_schema.validation import complaint

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
