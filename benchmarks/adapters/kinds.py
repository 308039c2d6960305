"""The kinds of documents, and the libraries that read them."""

from __future__ import annotations

URLSET = frozenset({"urlset"})
INDEX = frozenset({"index"})
TREES = URLSET | INDEX
FEEDS = frozenset({"rss", "atom"})
TEXT = frozenset({"text"})
GZIP = frozenset({"gzip"})
ALL = TREES | FEEDS | TEXT | GZIP
