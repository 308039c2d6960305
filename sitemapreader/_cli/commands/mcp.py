"""`sitemapreader mcp`: a server for agents."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from sitemapreader._cli.config import make_keywords
from sitemapreader._cli.parser import ALL_READ, UsageError
from sitemapreader._cli.process import SIGNALS

if TYPE_CHECKING:
    import argparse


def run_mcp(arguments: argparse.Namespace) -> int:
    """Serve until the client leaves, and return the exit code."""
    folder = Path(arguments.folder)
    if sys.stdin is None or sys.stdout is None:
        raise UsageError(
            "standard input or output is closed: let the agent's program start the server"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        said = f"cannot write to folder {folder}: {error.strerror}; name another folder"
        raise UsageError(said) from None
    from sitemapreader._mcp import serve  # noqa: PLC0415 (an extra, which takes 2 s)

    for (
        number
    ) in SIGNALS:  # the SDK would wait for its client; what is remembered survives
        signal.signal(number, signal.SIG_DFL)
    asyncio.run(serve(folder, make_keywords(arguments)["options"]))
    return ALL_READ
