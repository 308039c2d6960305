#!/usr/bin/env bash
# feedparser gives an Atom entry without a page the entry's identifier for one.
#
# Version:   feedparser 6.0.12 (PyPI).
# Expected:  RFC 4287, 4.2.6: an id may look like an address, but a processor must not assume that
#            it can be fetched. An entry that has its text inside needs no link: it has no page.
# Seen:      entry.link is the id, be it an address or a urn: name, also when the entry has a link
#            of another relation. entry.links, beside it, has only what the feed says.
# Why:       a reader that uses entry.link lists addresses that the site never gave as pages, and
#            names that are no addresses. entry.links and its relations are the witness.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check feedparser==6.0.12

venv/bin/python - <<'END'
import feedparser

RECORDING = '<link rel="enclosure" type="audio/mpeg" href="https://example.org/talk.mp3"/>'
ADDRESS = "https://example.org/ids/17"
CASES = [(ADDRESS, ""), (ADDRESS, RECORDING), ("urn:example:17", RECORDING)]

for identifier, links in CASES:
    feed = f"""<feed xmlns="http://www.w3.org/2005/Atom">
<title>Talks</title><id>urn:example:talks</id><updated>2024-01-01T00:00:00Z</updated>
<author><name>Somebody</name></author><entry><title>One</title><id>{identifier}</id>
<updated>2024-01-01T00:00:00Z</updated><content>All of it.</content>{links}</entry></feed>"""
    [entry] = feedparser.parse(feed).entries
    relations = [link.rel for link in entry.get("links", [])]
    print(f"id {identifier}: link {entry.get('link')}, relations of links {relations}")
    if entry.get("link") != identifier:
        raise SystemExit("changed: the id is not taken for the link any more")
    if "alternate" in relations:
        raise SystemExit("changed: the id is among the links")
END
