"""The command line of sitemapreader, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters import Found


def walk(url: str, found: Found) -> None:
    """Count the lines that it prints."""
    command = [sys.executable, "-m", "sitemapreader", "--quiet", "--sitemap", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in process.stdout or ():
            found(1)
