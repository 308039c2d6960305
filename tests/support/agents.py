"""An agent: the client of the official SDK, and a server of ours that it has started."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import package
from launcher import IS_POSSIBLE, write_stand_in
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SITE = "http://site.test/"
SUPPORT = package.TESTS / "support"
CODE = f"""
import runpy, sys
sys.path.append({str(SUPPORT)!r})
runpy.run_path({str(SUPPORT / "mcp_network.py")!r})
from sitemapreader.cli import main
sys.exit(main())
"""
"""The server, with a network of its own."""


@attrs.define(eq=False)
class Agent:
    """A client, and what its server has connected to."""

    client: Client
    connects: Path
    largest: int = 0
    """Bytes of the largest answer, as they are sent."""

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; return its answer, or the text of an error."""
        result = await self.client.call_tool(tool, {"site": SITE} | arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        self.largest = max(self.largest, len(result.model_dump_json()))
        if result.is_error:
            return content.text
        assert result.structured_content == json.loads(content.text)
        return result.structured_content

    def list_connects(self) -> set[str]:
        """Return the addresses that the server has connected to."""
        return set(self.connects.read_text().split()) if self.connects.exists() else set()


@asynccontextmanager
async def connect(folder: Path, base: str) -> AsyncIterator[Agent]:
    """Start a server, for which site.test is a server on loopback, and connect to it.

    If it is not forked by the launcher, it is a child of this process.
    """
    connects = folder / "connects"
    command = [sys.executable, "-c", CODE]
    if IS_POSSIBLE:
        write_stand_in(folder, CODE)
        command = [str(folder / "sitemapreader")]
    server = StdioServerParameters(
        command=command[0],
        args=[*command[1:], "mcp", str(folder / "state")],
        env={**os.environ, "SITE_PORT": base.rpartition(":")[2], "CONNECTS": str(connects)},
    )
    async with Client(stdio_client(server)) as client:
        yield Agent(client, connects)
