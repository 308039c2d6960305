"""The sitemaps of a report as a tree, and the names of documents."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.audit.models import DocumentFact
from sitemapreader.urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Sequence


MAX_CHILDREN = 25
"""Children of a document that the tree shows; the others are counted."""
_MAX_DEPTH = 10
"""Deeper documents stand at this depth: the template's recursion has an end."""
_READ = frozenset({"complete", "unchanged"})


@attrs.define
class TreeNode:
    """A document, and those that it lists.

    Attributes:
        document: the document.
        depth: 0 for a document that no other lists.
        children: those that it lists; at most `MAX_CHILDREN`.
        hidden: how many more there are.
        hidden_urls: how many URLs are in these.
        hidden_lost: how many of these were not read.
    """

    document: DocumentFact
    depth: int = 0
    children: list[TreeNode] = attrs.field(factory=list)
    hidden: int = 0
    hidden_urls: int = 0
    hidden_lost: int = 0


def build_sitemap_tree(documents: Sequence[DocumentFact]) -> TreeNode:
    """Put documents below those that list them; return a node above all.

    Children that were not read come first, then the largest. Failed probes are left out.

    Args:
        documents: parents before children, so that no document can stand below itself.
    """
    top = TreeNode(DocumentFact(""), depth=-1)
    nodes: list[TreeNode] = []
    holders: dict[str, TreeNode] = {}
    for document in documents:
        if not is_failed_probe(document):
            holder = holders.get(document.parent, top)
            node = TreeNode(document, holder.depth + 1)
            holder.children.append(node)
            holders[document.url] = node if node.depth < _MAX_DEPTH else holder
            nodes.append(node)
    for node in nodes:
        node.children.sort(key=lambda each: (each.document.status in _READ, -each.document.urls))
    for node in (top, *nodes):
        _hide_children(node)
    return top


def is_failed_probe(document: DocumentFact) -> bool:
    """Return whether a well-known path that nobody listed had no sitemap."""
    is_unlisted = document.role == "sitemap" and not document.parent
    return is_unlisted and document.status == "skipped" and not document.format


def _hide_children(node: TreeNode) -> None:
    hidden = [child.document for child in node.children[MAX_CHILDREN:]]
    node.hidden = len(hidden)
    node.hidden_urls = sum(document.urls for document in hidden)
    node.hidden_lost = sum(document.status not in _READ for document in hidden)
    del node.children[MAX_CHILDREN:]


def find_main_origin(documents: Sequence[DocumentFact]) -> str:
    """Return the origin that most documents share, or "" without one."""
    origins = Counter(filter(None, (origin_of(document.url) for document in documents)))
    return origins.most_common(1)[0][0] if origins else ""


def shorten_url(url: str, origin: str) -> str:
    """Return the path of a URL of the main origin, and any other URL as it is."""
    path = url.removeprefix(origin) if origin else url
    return path if path.startswith("/") else url
