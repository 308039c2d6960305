#!/usr/bin/env bash
# In npm's robots-parser a Sitemap line between two user agents ends the group of the first.
#
# Versions:  robots-parser 3.0.1 (npm), beside protego 0.7.0 (PyPI).
# Expected:  RFC 9309, 2.2.4: other records must not interfere with the groups, "for example,
#            a 'Sitemaps' record MUST NOT terminate a group". So the robots.txt below has one
#            group for both robots, and disallows /private to both.
# Seen:      robots-parser leaves /private open to the first robot. Protego keeps one group,
#            but ends it at a Crawl-delay line, of which the RFC's sentence is as true.
# Why:       sitemaps are announced in any place of robots.txt, and tools that insert the line
#            there change who may read what, for some readers only.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check protego==0.7.0
npm install --silent --no-audit --no-fund robots-parser@3.0.1

cat >read.py <<'END'
import sys

from protego import Protego

rules = Protego.parse(sys.stdin.read())
print("open" if rules.can_fetch("https://example.org/private", "first") else "closed")
END

cat >read.mjs <<'END'
import { readFileSync } from "node:fs";
import robotsParser from "robots-parser";

const rules = robotsParser("https://example.org/robots.txt", readFileSync(0, "utf8"));
console.log(rules.isAllowed("https://example.org/private", "first") ? "open" : "closed");
END

seen=""
for line in "# nothing" "Sitemap: https://example.org/sitemap.xml" "Crawl-delay: 3"; do
  printf 'User-agent: first\n%s\nUser-agent: second\nDisallow: /private\n' "$line" >robots.txt
  seen+="${line%% *} protego $(venv/bin/python read.py <robots.txt),"
  seen+=" robots-parser $(node read.mjs <robots.txt)"$'\n'
done
printf '%s' "$seen"
expected="# protego closed, robots-parser closed
Sitemap: protego closed, robots-parser open
Crawl-delay: protego open, robots-parser open
"
if [ "$seen" != "$expected" ]; then
  echo "changed: the two read groups otherwise"
  exit 1
fi
