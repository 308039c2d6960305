"""Documents as trees: each below the one that lists it, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.issues import excerpt
from sitemapreader.report import Document, Role, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UNITS = ("B", "KiB", "MiB", "GiB")
FORKS = {True: ("├── ", "│   ", "└── ", "    "), False: ("|-- ", "|   ", "`-- ", "    ")}
"""Whether the output can have line drawing -> what stands before a document and what below it, and
the same for the last one of its parent."""


@attrs.define(eq=False)
class Branch:
    """A document, and those that it lists."""

    document: Document
    children: list[Branch] = attrs.field(factory=list)


def grow(documents: Iterable[Document]) -> list[Branch]:
    """Put documents below those that list them, by URL; return those that none lists.

    A guess that was none, and a robots.txt that was only asked for leave, are left out.
    """
    shown = sorted(filter(_is_shown, documents), key=lambda document: document.url)
    branches = [Branch(document) for document in shown]
    places: dict[str, Branch] = {}
    for branch in branches:
        document = branch.document
        for url in (document.final_url, document.url):
            if url and (url not in places or document.children):
                places[url] = branch
    roots = []
    for branch in branches:
        parent = places.get(branch.document.parent)
        if parent is None or parent is branch or _is_below(parent, branch, places):
            roots.append(branch)
        else:
            parent.children.append(branch)
    return roots


def _is_shown(document: Document) -> bool:
    missed = document.status is Status.SKIPPED and document.format is None and document.final_url
    return document.via is not None and not missed


def _is_below(branch: Branch, other: Branch, places: dict[str, Branch]) -> bool:
    """Tell whether a document hangs below another one already: two that list each other."""
    seen: set[int] = set()
    place: Branch | None = branch
    while place is not None and id(place) not in seen:
        if place is other:
            return True
        seen.add(id(place))
        place = places.get(place.document.parent)
    return False


def draw(label: str, roots: list[Branch], *, in_ascii: bool) -> Iterator[str]:
    """Yield the lines of a tree."""
    yield f"{excerpt(label, 2048)}\n"
    yield from _draw(roots, "", FORKS[not in_ascii])


def _draw(branches: list[Branch], indent: str, forks: tuple[str, ...]) -> Iterator[str]:
    # no recursion: indexes go as deep as --depth lets them
    stack = [(branch, indent, number == 0) for number, branch in enumerate(reversed(branches))]
    fork, below, last_fork, last_below = forks
    while stack:
        branch, indent, is_last = stack.pop()
        yield f"{indent}{last_fork if is_last else fork}{describe(branch.document)}\n"
        indent += last_below if is_last else below
        stack += [
            (child, indent, number == 0) for number, child in enumerate(reversed(branch.children))
        ]


def describe(document: Document) -> str:
    """Say in one line what became of a document, safe for a terminal."""
    reason = f" ({document.reason})" if document.reason else ""
    parts = [
        document.role if document.role is not Role.SITEMAP else document.format,
        f"{document.status}{reason}",
        f"{document.entries} URLs" if document.entries else "",
        f"{document.children} sitemaps" if document.children else "",
        f"{document.filtered} left out" if document.filtered else "",
        f"{document.known} known" if document.known else "",
        f"{document.tries} tries" if document.tries > 1 else "",
        _size(document),
        f"lastmod {document.lastmod.isoformat()}" if document.lastmod else "",
    ]
    return f"{excerpt(document.url, 2048)}  {', '.join(part for part in parts if part)}"


def _size(document: Document) -> str:
    raw, inflated = document.bytes_raw, document.bytes_inflated
    if not raw:
        return ""
    return _bytes(raw) if raw == inflated else f"{_bytes(raw)} -> {_bytes(inflated)}"


def _bytes(count: float) -> str:
    for unit in UNITS[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {UNITS[-1]}"


def write_json(label: str, roots: list[Branch]) -> Iterator[str]:
    """Yield a tree as one JSON object in one line."""
    yield json.dumps({"source": label, "sitemaps": [_row(root) for root in roots]}) + "\n"


def _row(branch: Branch) -> dict[str, Any]:
    document = branch.document
    return {
        "url": document.url,
        "final_url": document.final_url or None,
        "role": document.role,
        "via": document.via,
        "format": document.format,
        "status": document.status,
        "reason": document.reason or None,
        "http_status": document.http_status,
        "tries": document.tries,
        "urls": document.entries,
        "urls_listed": document.listed,
        "left_out": document.filtered,
        "sitemaps_listed": document.children,
        "bytes_raw": document.bytes_raw,
        "bytes_inflated": document.bytes_inflated,
        "seconds": round(document.seconds, 3),
        "lastmod": document.lastmod.isoformat() if document.lastmod else None,
        "issues": dict(document.counts),
        "sitemaps": [_row(child) for child in branch.children],
    }
