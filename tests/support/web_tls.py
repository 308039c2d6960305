"""Row 118 of the table: servers that cannot prove who they are, or do not try."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from certificates import believe, make_server_context, write_certificate
from faults import FaultServer, Line, head
from web_table import QUICK, row

from sitemapreader.errors import FetchError
from sitemapreader.fetch.http import HttpFetcher

if TYPE_CHECKING:
    from web_table import Web


async def fail(url: str, believed: Path | None = None) -> str:
    """Say with which code, and which of OpenSSL's, a URL cannot be opened."""
    async with AsyncExitStack() as stack:
        if believed is not None:
            believe(stack.enter_context(pytest.MonkeyPatch.context()), believed)
        fetcher = await stack.enter_async_context(HttpFetcher(QUICK))
        fetcher.trust(url)
        try:
            async with fetcher.open(url):
                return "opened"
        except FetchError as error:
            cause = getattr(error.__cause__, "certificate_error", None)
            return f"{error.code} {getattr(cause, 'verify_code', '')}".strip()


async def show(certificate: Path, *, believed: bool) -> str:
    """Try a server that shows a certificate; believing its signer, what else is wrong counts."""
    async with FaultServer("localhost", tls=make_server_context(certificate)) as server:
        said = await fail(server.url("ok"), certificate if believed else None)
        assert server.requests == []
    return said


async def refuse(*, resets: bool) -> str:
    """Try a server that has no TLS: it resets the line, or answers in plain HTTP."""

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if resets:
            Line(FaultServer(), reader, writer).reset()
        else:
            writer.write(head("400 Bad Request", length=0))
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        return await fail(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")


@row(
    118,
    "certificate self-signed, expired, of another name; TLS reset, plain HTTP",
    "tls 18, tls 10, tls 62, tls, tls",
)
async def no_proof(_: Web) -> str:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "certificate.pem"
        said = [
            await show(write_certificate(file), believed=False),
            await show(write_certificate(file, expired=True), believed=True),
            await show(write_certificate(file, name="other.example"), believed=True),
        ]
    return ", ".join([*said, await refuse(resets=True), await refuse(resets=False)])
