"""npm's sitemapper, one process a document: self-listing indexes never end."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from adapters import SECONDS_PER_DOCUMENT, Collected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCRIPT = str(Path(__file__).with_suffix(".mjs"))
MEMORY = "--max-old-space-size=1024"


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """List the URLs of each sitemap."""
    for url in urls:
        try:
            done = subprocess.run(
                ["node", MEMORY, SCRIPT, "collect", url],  # noqa: S607 (wherever node is)
                capture_output=True,
                text=True,
                timeout=SECONDS_PER_DOCUMENT,
                check=True,
            )
        except subprocess.TimeoutExpired:
            yield Collected(url, [], f"gave up after {SECONDS_PER_DOCUMENT} s")
        except subprocess.CalledProcessError as error:
            yield Collected(url, [], error.stderr[-200:])
        else:
            answer = json.loads(done.stdout)
            yield Collected(url, answer["urls"], answer["error"])
