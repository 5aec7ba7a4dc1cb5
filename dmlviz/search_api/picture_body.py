"""The picture in the body of a request: the body itself, or the file of a form."""

from collections.abc import AsyncGenerator

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from dmlviz.data.query_image import MAX_BYTES
from dmlviz.errors import UserError

FORM = "multipart/form-data"
_FORM_BYTES = 64 * 1024  # of a form, beside the picture


class TooLargeError(UserError):
    """More bytes than a picture has."""


async def read_picture(request: Request) -> bytes:
    """Return the encoded picture that was sent, without reading more than one may have.

    Raises:
        UserError: Without a picture; its kin `TooLargeError` for more than 2 MB.
    """
    form = request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM
    body = await _read(request, MAX_BYTES + form * _FORM_BYTES)
    picture = await _file_of_form(request, body) if form else body
    if not picture:
        raise UserError(
            "The body is empty: send a PNG, JPEG or WebP file as the body, as curl --data-binary @digit.png does."
        )
    return picture


async def _read(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise TooLargeError("A picture has up to 2 MB: send a smaller one.")
    return bytes(body)


async def _file_of_form(request: Request, body: bytes) -> bytes:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        form = await MultiPartParser(request.headers, stream(), max_files=1, max_fields=10).parse()
    except MultiPartException as error:
        raise UserError(f"The form could not be read ({error.message.rstrip('.')}): send one file in it.") from None
    try:
        files = [value for value in form.values() if isinstance(value, UploadFile)]
        if not files:
            raise UserError("The form holds no file: send one, as curl -F image=@digit.png does.")
        return await files[0].read()
    finally:
        await form.close()
