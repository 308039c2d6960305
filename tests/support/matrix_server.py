"""The server of the fault matrix: each path names a cell, and gets the cell's script."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any, Self
from unittest import mock

from faults import BEAT, FaultServer, head
from matrix_answers import FAULTS
from matrix_cells import CUTS, Cell
from matrix_faults import NAMES, Script
from walking import index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults import Line, Request

SIBLINGS = 99


class MatrixServer(FaultServer):
    """A server that plays the script of the cell that a path names; `/good/` is sound."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: dict[str, Any] = {}
        self._plain: asyncio.Server | None = None
        self._lines: list[asyncio.WriteTransport] = []

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._plain = await asyncio.start_server(_answer_handshake, self.host, 0)
        with socket.create_server((self.host, 0)) as closed:
            self.targets = {
                "port": self.port,
                "plain": self._plain.sockets[0].getsockname()[1],
                "closed": closed.getsockname()[1],
            }
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._plain is not None
        self._plain.close()
        for transport in self._lines:  # some still send what nobody reads
            transport.abort()
        await asyncio.sleep(0)
        await super().__aexit__(*error)

    @property
    def ports(self) -> tuple[int, ...]:
        """The other ports that redirects lead to."""
        return self.targets["plain"], self.targets["closed"]

    async def _serve(self, line: Line) -> None:
        self._lines.append(line._writer.transport)
        try:
            while request := await line.read_request():
                self.requests.append(request)
                line.keeps_open = False
                await self._answer(line, request)
                if not line.keeps_open:
                    break
        except ConnectionError:
            pass  # the client has closed the connection
        finally:
            await line.close()

    async def _answer(self, line: Line, request: Request) -> None:
        kind, *rest = request.path.strip("/").split("/")
        if kind == "good":
            return await line.answer(good_loc(int(rest[0])).encode())
        if kind == "family":
            return await line.answer(_write_index(self.base, "/".join(rest)))
        cell = _read_cell(request.path)
        asked = sum(earlier.path == request.path for earlier in self.requests)
        is_first = asked == 1 and request.path.endswith("/x")
        script = cell.fault.first if cell.fault.first and is_first else cell.script
        if script.location:
            other = "" if "?" in request.path else f"{request.path}?b"
            target = NAMES[script.location].format(
                **self.targets, path=request.path, other=other or request.path.partition("?")[0]
            )
            return await line.answer(b"", "302 Found", f"Location: {target}")
        return await self._play(line, script)

    async def _play(self, line: Line, script: Script) -> None:
        await line.send(*script.pieces, pause=script.pause)
        await line.send(*script.drops, pause=BEAT)
        if script.end == "half-close":
            line._writer.write_eof()
        if script.end in {"hold", "half-close"}:
            await line.wait_for_end()
        while script.end == "flood":
            await line.send(b"1000\r\n" + b"\n" * 4096 + b"\r\n")
        if script.end == "reset":
            line.reset()


def good_loc(number: int) -> str:
    return f"https://site.example/good/{number}"


def _write_index(base: str, bad: str) -> bytes:
    """Write an index of 99 good children with a bad one in their middle."""
    children = [f"good/{number}" for number in range(SIBLINGS)]
    children.insert(SIBLINGS // 2, bad)
    return index(*(f"{base}/{child}" for child in children))


def _read_cell(path: str) -> Cell:
    row, kind, cut, _ = path.strip("/").split("/")
    return Cell(list(FAULTS.values())[int(row)], kind, CUTS[int(cut)] if cut else "")


async def _answer_handshake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a TLS handshake in plain HTTP."""
    await reader.read(1)
    writer.write(head("400 Bad Request", length=0))
    writer.close()


@contextlib.contextmanager
def failing_names() -> Iterator[None]:
    """Fail to resolve any name below `.invalid`, without asking a resolver."""
    ask = socket.getaddrinfo

    def answer(host: Any, *arguments: Any, **more: Any) -> Any:
        if str(host).endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return ask(host, *arguments, **more)

    with mock.patch("socket.getaddrinfo", answer):
        yield
