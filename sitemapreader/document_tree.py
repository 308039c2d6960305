"""Documents as a tree: each below the one that lists it, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import IssueCode, show_url
from sitemapreader.models import Via
from sitemapreader.report import Document, Role, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

UNITS = ("B", "KiB", "MiB", "GiB")
FORKS = {True: ("├── ", "│   ", "└── ", "    "), False: ("|-- ", "|   ", "`-- ", "    ")}
"""Whether the output can have line drawing -> what stands before a document and what below it, and
the same for the last one of its parent."""


@attrs.define(eq=False)
class DocumentNode:
    """A document, and those that it lists."""

    document: Document
    children: list[DocumentNode] = attrs.field(factory=list)


def build_tree(documents: Iterable[Document]) -> list[DocumentNode]:
    """Put documents below those that list them, by URL; return those that none lists.

    A guess that was none, and a robots.txt that was only asked for leave, are left out.
    """
    shown = sorted(filter(_is_shown, documents), key=lambda document: document.url)
    nodes = [DocumentNode(document) for document in shown]
    places: dict[str, DocumentNode] = {}
    for node in nodes:
        document = node.document
        for url in (document.final_url, document.url):
            if url and (url not in places or document.children):
                places[url] = node
    roots = []
    for node in nodes:
        parent = places.get(node.document.parent)
        if parent is None or parent is node or _is_below(parent, node, places):
            roots.append(node)
        else:
            parent.children.append(node)
    return roots


def count_guesses(documents: Iterable[Document]) -> int:
    """Return how many well-known paths were tried in vain."""
    return sum(document.via is Via.WELL_KNOWN and _is_missed(document) for document in documents)


def _is_shown(document: Document) -> bool:
    return document.via is not None and not _is_missed(document)


def _is_missed(document: Document) -> bool:
    """Tell whether nothing came of it, and nobody has listed it; or a page came in its place."""
    is_skipped = document.status is Status.SKIPPED and document.format is None
    return is_skipped and (document.via is Via.WELL_KNOWN or bool(document.final_url))


def _is_below(node: DocumentNode, other: DocumentNode, places: dict[str, DocumentNode]) -> bool:
    """Tell whether a document hangs below another one already: two that list each other."""
    seen: set[int] = set()
    place: DocumentNode | None = node
    while place is not None and id(place) not in seen:
        if place is other:
            return True
        seen.add(id(place))
        place = places.get(place.document.parent)
    return False


def draw_tree(
    label: str, documents: Sequence[Document], *, in_ascii: bool = False
) -> Iterator[str]:
    """Yield the lines of a tree. Paths that were guessed are counted where no sitemap was found."""
    roots, (fork, below, last_fork, last_below) = build_tree(documents), FORKS[not in_ascii]
    guesses = 0 if any(map(_has_sitemap, roots)) else count_guesses(documents)
    yield f"{show_url(label)}\n"
    if guesses:  # no document has another one below it then
        yield from _draw(roots, "", (fork, below, fork, below))
        noun = "path" if guesses == 1 else "paths"
        yield f"{last_fork}{guesses} well-known {noun} tried, and no sitemap\n"
    else:
        yield from _draw(roots, "", (fork, below, last_fork, last_below))


def _has_sitemap(node: DocumentNode) -> bool:
    return node.document.format is not None or bool(node.children)


def _draw(nodes: list[DocumentNode], indent: str, forks: tuple[str, ...]) -> Iterator[str]:
    # no recursion: indexes go as deep as --depth lets them
    stack = [(node, indent, number == 0) for number, node in enumerate(reversed(nodes))]
    fork, below, last_fork, last_below = forks
    while stack:
        node, indent, is_last = stack.pop()
        yield f"{indent}{last_fork if is_last else fork}{describe_document(node.document)}\n"
        indent += last_below if is_last else below
        stack += [
            (child, indent, number == 0) for number, child in enumerate(reversed(node.children))
        ]


def describe_document(document: Document) -> str:
    """Say in one line what became of a document, safe for a terminal."""
    status = f" {document.http_status}" if document.reason == IssueCode.HTTP_STATUS else ""
    reason = f" ({document.reason}{status})" if document.reason else ""
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
    return f"{show_url(document.url)}  {', '.join(part for part in parts if part)}"


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
