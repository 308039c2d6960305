"""`sitemapreader mcp`: a server for agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.parser import ALL_READ, UsageError
from sitemapreader.cli.runtime import run_process

if TYPE_CHECKING:
    import argparse


def run_mcp(arguments: argparse.Namespace) -> int:
    """Serve until the client leaves, and return the exit code."""
    from sitemapreader.mcp import serve  # noqa: PLC0415 (an extra, which takes 2 s)

    folder = Path(arguments.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} is no folder: {error.strerror}; name another one") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{folder} cannot be written: name another folder")
    options = RunConfig.from_arguments(arguments).options

    async def work() -> int:
        await serve(folder, options)
        return ALL_READ

    return run_process(work, str(folder), Console())
