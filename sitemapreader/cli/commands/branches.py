"""Trees of documents as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.document_tree import DocumentNode


def write_json(label: str, roots: list[DocumentNode]) -> Iterator[str]:
    """Yield a tree as one JSON object in one line."""
    yield json.dumps({"source": label, "sitemaps": [_row(root) for root in roots]}) + "\n"


def _row(node: DocumentNode) -> dict[str, Any]:
    document = node.document
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
        "sitemaps": [_row(child) for child in node.children],
    }
