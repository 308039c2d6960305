#!/usr/bin/env bash
# ultimate-sitemap-parser fills a date that is a year alone with today's month and day.
#
# Version:   ultimate-sitemap-parser 1.8.1 (PyPI); it reads dates with python-dateutil 2.9.0.post0.
# Expected:  sitemaps.org takes W3C dates, and those may be a year, `2024`, or a month, `2024-02`.
#            A reader may keep the precision or take the start; each day gives the same answer.
# Seen:      2024 becomes 2024 with the month and day of the clock: another answer tomorrow.
#            2024-02 becomes the day of the month, or the 29th if the month is shorter.
# Why:       a crawler that keeps lastmod to find out what changed sees a change each day, and
#            a filter "since March" keeps or drops the page depending on the day it runs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check \
  ultimate-sitemap-parser==1.8.1 python-dateutil==2.9.0.post0

venv/bin/python - <<'END'
from datetime import datetime

from usp.tree import sitemap_from_str

TEXT = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.org/year</loc><lastmod>2024</lastmod></url>
<url><loc>https://example.org/month</loc><lastmod>2024-02</lastmod></url>
</urlset>"""

before = datetime.now()
pages = list(sitemap_from_str(TEXT).all_pages())
after = datetime.now()
found = [page.last_modified.date().isoformat() for page in pages]
print("2024 is", found[0], "and 2024-02 is", found[1])
seen = [[f"2024-{now:%m-%d}", f"2024-02-{min(now.day, 29):02}"] for now in (before, after)]
if found not in seen:
    raise SystemExit("changed: the clock does not decide any more")
END
