#!/usr/bin/env bash
# In feedgen's Atom feeds an entry that was published in 2001 was "updated" when the feed was made.
#
# Version:   feedgen 1.0.0 (PyPI).
# Expected:  RFC 4287, 4.2.15: atom:updated is the last time at which the entry changed in a way
#            that its publisher considers significant. An entry with only a date of publication
#            changed then, or feedgen asks for a date, since Atom requires one.
# Seen:      the moment at which the entry was made in memory, at each run a new one. The RSS
#            feed of the same objects has the true date.
# Why:       sitemaps may be Atom feeds, and `updated` is the lastmod there: each walk finds that
#            all pages of such a site have just changed. Published dates are the better witness.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check feedgen==1.0.0

venv/bin/python - <<'END'
import re
from datetime import datetime, timezone

from feedgen.feed import FeedGenerator

started = datetime.now(timezone.utc)
feed = FeedGenerator()
feed.id("https://example.org/")
feed.title("News")
feed.description("News of the house")
feed.link(href="https://example.org/")
entry = feed.add_entry()
entry.id("https://example.org/old")
entry.title("Old")
entry.link(href="https://example.org/old")
entry.published("2001-02-03T04:05:06Z")

atom = feed.atom_str().decode().split("<entry>")[1]
[updated] = re.findall("<updated>(.*)</updated>", atom)
[date] = re.findall("<pubDate>(.*)</pubDate>", feed.rss_str().decode())
print("Atom's updated:", updated)
print("RSS's pubDate: ", date)
if date != "Sat, 03 Feb 2001 04:05:06 +0000":
    raise SystemExit("changed: RSS has another date")
if datetime.fromisoformat(updated) < started:
    raise SystemExit("changed: updated is not the moment of the run")
END
