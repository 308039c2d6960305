"""`sitemapreader mcp`: a server for agents."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.parser import ALL_READ, UsageError
from sitemapreader.cli.process import SIGNALS

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
    for number in SIGNALS:  # the SDK would wait for its client; what is remembered survives
        signal.signal(number, signal.SIG_DFL)
    asyncio.run(serve(folder, RunConfig.from_arguments(arguments).options))
    return ALL_READ
