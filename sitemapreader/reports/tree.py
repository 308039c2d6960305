"""Documents as a tree, each below the one that lists it; drawn as lines of text."""

from __future__ import annotations

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


def build_tree(documents: Iterable[Document]) -> list[DocumentNode]:
    """Put documents below those that list them, by URL; return the roots.

    Probed paths without a sitemap, and a robots.txt fetched only for its rules, are left out.
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


def _is_shown(document: Document) -> bool:
    return document.via is not None and not _is_missed(document)


def _is_missed(document: Document) -> bool:
    """Return whether a probe found nothing, or a page instead of a sitemap."""
    is_skipped = document.status is Status.SKIPPED and document.format is None
    return is_skipped and (document.via is Via.WELL_KNOWN or bool(document.final_url))


def _is_below(node: DocumentNode, other: DocumentNode, places: dict[str, DocumentNode]) -> bool:
    """Return whether a document is below another one already: they list each other."""
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
    """Yield the lines of a tree; failed probes are counted where no sitemap was found.

    Args:
        label: the first line, such as the URL of the site.
        documents: in any order.
        in_ascii: whether to draw without Unicode's line characters.
    """
    roots = build_tree(documents)
    fork, below, last_fork, last_below = _ASCII_FORKS if in_ascii else _FORKS
    probes = 0 if any(map(_has_sitemap, roots)) else _count_failed_probes(documents)
    yield f"{show_url(label)}\n"
    if probes:  # without a sitemap, no document has another one below it
        yield from _draw_nodes(roots, "", (fork, below, fork, below))
        noun = "path" if probes == 1 else "paths"
        yield f"{last_fork}{probes} well-known {noun} tried, and no sitemap\n"
    else:
        yield from _draw_nodes(roots, "", (fork, below, last_fork, last_below))


def _count_failed_probes(documents: Iterable[Document]) -> int:
    return sum(document.via is Via.WELL_KNOWN and _is_missed(document) for document in documents)


def _has_sitemap(node: DocumentNode) -> bool:
    return node.document.format is not None or bool(node.children)


def _draw_nodes(nodes: list[DocumentNode], indent: str, forks: tuple[str, ...]) -> Iterator[str]:
    # A stack, not recursion: indexes may be nested as deep as the caller's limit allows.
    stack = [(node, indent, number == 0) for number, node in enumerate(reversed(nodes))]
    fork, below, last_fork, last_below = forks
    while stack:
        node, indent, is_last = stack.pop()
        yield f"{indent}{last_fork if is_last else fork}{node.document}\n"
        indent += last_below if is_last else below
        stack += [
            (child, indent, number == 0) for number, child in enumerate(reversed(node.children))
        ]
