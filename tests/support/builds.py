"""Builds that generators wrote, one text each: the files that an audit of their folder reads.

Of a page the parts of the head are kept that are judged; its title and a word stand for its text.
The first line says what wrote it, the second one where it is served.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

from tests.support import package

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = package.TESTS / "golden" / "builds"
BUILDS = sorted(FOLDER.glob("*.txt"))
_TITLE = re.compile("<title[^>]*>(.*?)</title>")


def unpack(build: Path, folder: Path) -> str:
    """Write the files of a build; return the URL of its folder."""
    head, *files = build.read_text(encoding="utf-8").split("#### ")
    for file in files:
        name, _, text = file.partition("\n")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if title := _TITLE.search(text):
            text += f"<body><h1>{title[1]}</h1><p>Home</p>\n"
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return head.splitlines()[1]
