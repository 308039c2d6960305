#!/usr/bin/env bash
# ultimate-sitemap-parser takes the self link of an Atom entry for its page.
#
# Version:   ultimate-sitemap-parser 1.8.1 (PyPI).
# Expected:  RFC 4287, 4.2.7.2: the page of an entry is its link with rel="alternate", also when
#            rel is absent. A link with rel="self" is the entry's own document, for programs.
# Seen:      an entry that has both, in either order, is listed by its self link. feedparser
#            6.0.12 takes the page from the same feed.
# Why:       sitemaps may be Atom feeds (sitemaps.org, "Other Sitemap formats"), and publishing
#            software gives each entry a self link. A crawler then fetches the documents of an
#            interface, and never hears of the pages; the number of entries looks right.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check \
  ultimate-sitemap-parser==1.8.1 feedparser==6.0.12

venv/bin/python - <<'END'
import feedparser
from usp.tree import sitemap_from_str

SELF = '<link rel="self" href="https://example.org/api/1.atom"/>'
PAGE = '<link rel="alternate" href="https://example.org/page"/>'

for links in (PAGE, PAGE + SELF, SELF + PAGE):
    feed = f"""<feed xmlns="http://www.w3.org/2005/Atom">
<title>News</title><id>urn:example:news</id><updated>2024-01-01T00:00:00Z</updated>
<entry><title>One</title><id>urn:example:1</id><updated>2024-01-01T00:00:00Z</updated>
<author><name>Somebody</name></author>{links}</entry></feed>"""
    [page] = sitemap_from_str(feed).all_pages()
    [entry] = feedparser.parse(feed).entries
    print("usp", page.url, "feedparser", entry.link)
    if entry.link != "https://example.org/page":
        raise SystemExit("changed: feedparser does not take the page")
    if page.url.endswith("api/1.atom") != (SELF in links):
        raise SystemExit("changed: the self link is not taken for the page any more")
END
