"""The files of an audited folder: their paths, and the lines of URLs in them."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from xml.sax.saxutils import escape

import attrs

from sitemapreader.audit.models import Example, Finding, Place
from sitemapreader.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.fetch.folder import FolderFetcher

T = TypeVar("T", Place, Example)

_GZIP_MAGIC = b"\x1f\x8b"
_BEHIND_A_URL = b"<]\"' \t\r\n"


def locate_findings(
    findings: Iterable[Finding], folder: FolderFetcher
) -> tuple[list[Finding], dict[str, str]]:
    """Find the files of sitemaps with hits, and the lines of hits that are named.

    Returns:
        findings whose places and examples have lines, where a URL stands in a file as it is; and
        URL of a sitemap -> its path, relative to the working directory if it lies below that.
    """
    findings = list(findings)
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        hits: list[Place | Example] = [*finding.places, *finding.examples]
        for hit in hits:
            wanted[hit.document] |= {hit.url} if hit.url and hit.line is None else set()
    files = {folder.base_url: _name_path(folder.folder)}
    lines: dict[tuple[str, str], int] = {}
    for document, urls in wanted.items():
        try:
            path = folder.find_file(document)
            files[document] = _name_path(path)
            lines |= {(document, url): n for url, n in _find_lines(path, urls).items()}
        except (FetchError, OSError):
            continue  # it is in no file, or gone meanwhile

    def add_line(hit: T) -> T:
        return attrs.evolve(hit, line=hit.line or lines.get((hit.document, hit.url)))

    found = [
        attrs.evolve(
            finding,
            places=tuple(map(add_line, finding.places)),
            examples=tuple(map(add_line, finding.examples)),
        )
        for finding in findings
    ]
    return found, files


def _name_path(path: Path) -> str:
    here = Path(os.path.realpath("."))
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _find_lines(path: Path, urls: Iterable[str]) -> dict[str, int]:
    """Return the first line of each URL that stands in a file, escaped for XML or not."""
    content = path.read_bytes()
    if content.startswith(_GZIP_MAGIC):
        return {}
    ends = {
        url: min(filter(None, (_find_end(content, form) for form in {url, escape(url)})), default=0)
        for url in urls
    }
    return {url: content.count(b"\n", 0, end) + 1 for url, end in ends.items() if end}


def _find_end(content: bytes, text: str) -> int:
    """Return where a URL ends that does not begin a longer one; 0 if it is not there."""
    wanted, end = text.encode("utf-8", "surrogatepass"), 0
    while (at := content.find(wanted, end)) >= 0:
        end = at + len(wanted)
        if end == len(content) or content[end] in _BEHIND_A_URL:
            return end
    return 0
