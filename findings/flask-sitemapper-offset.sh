#!/usr/bin/env bash
# Flask-Sitemapper writes the hour of a time and leaves out the zone that it was given.
#
# Version:   Flask-Sitemapper 1.8.2 (PyPI).
# Expected:  2024-03-01 01:30 in +09:00 is written as 2024-03-01T01:30:00+09:00, or as the same
#            moment in UTC. W3C dates need a zone when they have a time.
# Seen:      2024-03-01T01:30:00: no valid date, and read as UTC it is nine hours late.
# Why:       here the day moves too: the page changed on 29 February in UTC. A consumer that
#            filters "changed since the last walk" repeats pages or, west of Greenwich, misses
#            them. Nothing in the file tells how far the hours are off.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check Flask-Sitemapper==1.8.2

venv/bin/python - <<'END'
import re
from datetime import datetime, timedelta, timezone

from flask import Flask
from flask_sitemapper import Sitemapper

app = Flask("shop")
app.config["SERVER_NAME"] = "example.org"
sitemapper = Sitemapper(app)


@sitemapper.include(lastmod=datetime(2024, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=9))))
@app.route("/tea")
def tea() -> str:
    return "tea"


with app.test_request_context():
    text = sitemapper.generate().get_data(as_text=True)
[found] = re.findall("<lastmod>(.*)</lastmod>", text)
print("given 2024-03-01T01:30:00+09:00, written", found)
if found != "2024-03-01T01:30:00":
    raise SystemExit("changed: the zone is not dropped any more")
END
