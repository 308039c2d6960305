"""`read_body`: the whole body of a response, decompressed, such as that of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits
from sitemapreader.readers.decode.codings import DecompressionError, read_codings
from sitemapreader.readers.decode.layers import Decompressor

if TYPE_CHECKING:
    from sitemapreader.fetch import Response


async def read_body(response: Response, max_bytes: int) -> bytes:
    """Read the body of a response to its end, and decompress it.

    ```python
    async with HttpFetcher() as fetcher, fetcher.open("https://example.org/") as response:
        page = await read_body(response, 10_000_000)
    ```

    Raises:
        FetchError: the body breaks off, is damaged, or decompresses to more than `max_bytes`.
    """
    body = bytearray()
    inflation = Decompressor(Limits(), [], codings=read_codings(response.headers))
    try:
        async for chunk in response.chunks():
            for piece in inflation.feed(chunk):
                body += piece
                _check_size(body, response, max_bytes)
        for piece in inflation.close():
            body += piece
            _check_size(body, response, max_bytes)
    except DecompressionError as error:
        raise FetchError(error.code, response.url, error.detail) from error
    return bytes(body)


def _check_size(body: bytearray, response: Response, max_bytes: int) -> None:
    if len(body) > max_bytes:
        raise FetchError(IssueCode.TOO_LARGE, response.url, f"{max_bytes} bytes")
