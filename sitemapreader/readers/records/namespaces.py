"""Namespaces: the URIs written for each of our vocabularies, and its key.

Real documents have `http` and `https`, with and without `www.` and a final slash, old versions and
none at all; a reader that compares URIs exactly loses whole sites.
"""

from __future__ import annotations

from functools import lru_cache

from sitemapreader.models import Format

SITEMAP, IMAGE, VIDEO, NEWS, XHTML = "sitemap", "image", "video", "news", "xhtml"
RSS, RDF, ATOM, DC, MODULE = "rss", "rdf", "atom", "dc", "module"
RESOURCESYNC, HISTORY, MEDIA = "resourcesync", "history", "media"
OWN = ""
"""Key of the document's own vocabulary, whatever namespace its author gave it."""

PROTOCOL_URI = "http://www.sitemaps.org/schemas/sitemap/0.9"

# How a URI begins, without scheme, `www.` and case -> key; the first that fits holds.
NAMESPACES: dict[str, str] = {
    "sitemaps.org/schemas/sitemap/": SITEMAP,
    "google.com/schemas/sitemap/": SITEMAP,
    "google.com/schemas/sitemap-image/": IMAGE,
    "sitemaps.org/schemas/sitemap-image/": IMAGE,
    "google.com/schemas/sitemap-video/": VIDEO,
    "sitemaps.org/schemas/sitemap-video/": VIDEO,
    "google.com/schemas/sitemap-news/": NEWS,
    "sitemaps.org/schemas/sitemap-news/": NEWS,
    "w3.org/1999/xhtml": XHTML,
    "w3.org/tr/xhtml": XHTML,
    "w3.org/2002/06/xhtml2": XHTML,
    "w3.org/2005/atom": ATOM,
    "purl.org/atom/": ATOM,
    "purl.org/rss/1.0/modules/": MODULE,
    "purl.org/rss/1.0": RSS,
    "my.netscape.com/rdf/simple/0.9": RSS,
    "my.netscape.com/publish/formats/rss-0.91": RSS,
    "channel.netscape.com/rdf/simple/0.9": RSS,
    "backend.userland.com/rss": RSS,
    "blogs.law.harvard.edu/tech/rss": RSS,
    "cyber.law.harvard.edu/rss": RSS,
    "w3.org/1999/02/22-rdf-syntax-ns": RDF,
    "purl.org/dc/elements/": DC,
    "purl.org/dc/terms": DC,
    "search.yahoo.com/mrss": MEDIA,
    "video.search.yahoo.com/mrss": MEDIA,
    "openarchives.org/rs/terms": RESOURCESYNC,
    "purl.org/syndication/history/": HISTORY,
    "sitemaps.org/schemas/sitemap": SITEMAP,  # without a version
}

# Prefixes by convention, for documents that use them without a declaration -> the URI meant.
USUAL_PREFIXES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "media": "http://search.yahoo.com/mrss/",
    "atom": "http://www.w3.org/2005/Atom",
    "dc": "http://purl.org/dc/elements/1.1/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xml": "http://www.w3.org/XML/1998/namespace",
}


OWN_KEYS = {
    Format.URLSET: SITEMAP,
    Format.INDEX: SITEMAP,
    Format.RSS: RSS,
    Format.ATOM: ATOM,
}


MAX_URI_CHARS = 200
"""No vocabulary of ours has a longer one; longer ones are not looked at, nor kept in the cache."""
MAX_NAMESPACES = 256
"""Namespaces that are kept of one document: every batch is parsed with all that are bound."""
MAX_NAMESPACE_CHARS, MAX_NAMESPACES_CHARS = 1_024, 4_096
"""Of one prefix with its URI, and of all that are kept; no real document has 400."""


def namespace_key(uri: str, format_: Format) -> str:
    """Return the key of a namespace URI in any spelling, or the URI itself.

    That of the document's format is `OWN`.
    """
    return _known_key(uri, format_) if len(uri) <= MAX_URI_CHARS else uri


@lru_cache(maxsize=512)
def _known_key(uri: str, format_: Format) -> str:
    bare = uri.strip().lower()
    for start in ("http://", "https://", "//"):
        bare = bare.removeprefix(start)
    bare = bare.removeprefix("www.")
    key = next((key for start, key in NAMESPACES.items() if bare.startswith(start)), uri)
    return OWN if key == OWN_KEYS.get(format_) else key
