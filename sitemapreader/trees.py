"""The documents of a walk as a tree of text, each below the one that lists it.

Texts that came from a site are cut and escaped for a terminal.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import show_url
from sitemapreader.models import Via
from sitemapreader.outcomes import Document, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FORKS = ("├── ", "│   ", "└── ", "    ")
"""What stands before a document and below it; then the same for the last child of a parent."""
_ASCII_FORKS = ("|-- ", "|   ", "`-- ", "    ")


@attrs.define(eq=False)
class DocumentNode:
    """A document and the documents that it lists."""

    document: Document
    children: list[DocumentNode] = attrs.field(factory=list)
    parent: DocumentNode | None = None

    def is_below(self, other: DocumentNode) -> bool:
        """Return whether it is another node, or stands below it."""
        node: DocumentNode | None = self
        while node is not None and node is not other:
            node = node.parent
        return node is other


def build_tree(documents: Iterable[Document]) -> list[DocumentNode]:
    """Put documents below those that list them, by URL; return the roots.

    Probed paths without a sitemap, and a robots.txt fetched only for its rules, are left out.
    """
    shown = [each for each in documents if each.via is not None and not _is_missed(each)]
    nodes = [DocumentNode(each) for each in sorted(shown, key=lambda document: document.url)]
    places: dict[str, DocumentNode] = {}
    for node in nodes:
        for url in (node.document.final_url, node.document.url):
            if url and (url not in places or node.document.children):
                places[url] = node
    roots = []
    for node in nodes:
        parent = places.get(node.document.parent)
        if parent is None or parent.is_below(node):  # they list each other
            roots.append(node)
        else:
            node.parent = parent
            parent.children.append(node)
    return roots


def _is_missed(document: Document) -> bool:
    """Return whether a probe found nothing, or a page instead of a sitemap."""
    is_skipped = document.status is Status.SKIPPED and document.format is None
    return is_skipped and (bool(document.via and document.via.is_guess) or bool(document.final_url))


def draw_tree(
    label: str, documents: Sequence[Document], *, in_ascii: bool = False
) -> Iterator[str]:
    """Yield the lines of a tree; failed probes are counted where no sitemap was found."""
    forks, roots = _ASCII_FORKS if in_ascii else _FORKS, build_tree(documents)
    items: deque[tuple[object, list[DocumentNode]]] = deque((e.document, e.children) for e in roots)
    probes = sum(each.via is Via.WELL_KNOWN and _is_missed(each) for each in documents)
    if probes and not any(e.document.format is not None or e.children for e in roots):
        noun = "path" if probes == 1 else "paths"
        items.append((f"{probes} well-known {noun} tried, and no sitemap", []))
    yield f"{show_url(label)}\n"
    # A stack, not recursion: indexes may be nested as deep as the caller's limit allows.
    levels = [("", items)]
    while levels:
        indent, items = levels[-1]
        if not items:
            levels.pop()
            continue
        shown, children = items.popleft()
        fork, below = forks[:2] if items else forks[2:]
        yield f"{indent}{fork}{shown}\n"
        levels.append((indent + below, deque((e.document, e.children) for e in children)))
