#!/usr/bin/env bash
# Python's email.utils reads the year 0001 of an RSS date as 2001.
#
# Versions:  the standard library of Python, beside feedparser 6.0.12 (PyPI).
# Expected:  RSS has the dates of mail. RFC 5322, 4.3 adds 2000 to a year that is written with two
#            digits. 0001 has four, so it is the year 1: what .NET writes for a date never set
#            (mail has no year before 1900, but its grammar takes one).
# Seen:      email.utils looks at the number, not at its digits, and gives 1 January 2001, a
#            date that looks true. feedparser gives the year 1.
# Why:       a reader can drop a date before the web, but not one in 2001. By the first answer
#            the page is old and gets skipped by each filter; by the second it has no date.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check feedparser==6.0.12

venv/bin/python - <<'END'
from email.utils import parsedate_to_datetime

import feedparser

DATE = "Mon, 01 Jan 0001 00:00:00 GMT"
FEED = f"""<rss version="2.0"><channel><title>News</title><link>https://example.org/</link>
<description>News</description><item><title>One</title><link>https://example.org/one</link>
<pubDate>{DATE}</pubDate></item></channel></rss>"""

by_mail = parsedate_to_datetime(DATE).year
by_feed = feedparser.parse(FEED).entries[0].published_parsed.tm_year
print(f"{DATE}: email.utils {by_mail}, feedparser {by_feed}")
if by_mail != 2001:
    raise SystemExit("changed: email.utils reads another year")
if by_feed != 1:
    raise SystemExit("changed: feedparser reads another year")
END
