"""The root elements: which format each begins, and which records it is made of."""

from __future__ import annotations

from sitemapreader.models import Format

_PROTOCOL_RECORDS = frozenset({"url", "sitemap"})
# local name of a root element, in lower case -> format and the local names of its records
ROOTS: dict[str, tuple[Format, frozenset[str]]] = {
    "urlset": (Format.URLSET, _PROTOCOL_RECORDS),
    "sitemapindex": (Format.INDEX, _PROTOCOL_RECORDS),
    "rss": (Format.RSS, frozenset({"item"})),
    "rdf": (Format.RSS, frozenset({"item"})),
    "feed": (Format.ATOM, frozenset({"entry"})),
}
RECORDS = frozenset[str]().union(*(records for _, records in ROOTS.values()))
RECORD_OF = {Format.URLSET: "url", Format.INDEX: "sitemap"}
"""The record that a format of the protocol is made of."""
ROOTLESS = {"url": "urlset", "sitemap": "sitemapindex"}
"""A record that stands where the root should -> the root that is missing."""
