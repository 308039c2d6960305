"""Reading a document imports nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys

READ = """
import sys
from sitemapreader import read
list(read(b"<urlset><url><loc>https://a.example/</loc></url></urlset>", "https://a.example/s.xml"))
print(*sorted({"asyncio", "aiohttp", "socket", "ssl", "http.client"} & set(sys.modules)))
"""


def test_reading_imports_no_network() -> None:
    """No module of the network is imported, also not by another module: they take 7 MB."""
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
