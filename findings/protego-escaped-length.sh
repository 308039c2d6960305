#!/usr/bin/env bash
# Two robots.txt readers disagree on which rule is the longest.
#
# Versions:  protego 0.7.0 (PyPI) and robots-parser 3.0.1 (npm).
# Expected:  of the rules `Allow: /sitemaps` (9 octets) and `Disallow: /*?page=` (8 octets)
#            the longer one decides about /sitemaps?page=2: it is allowed.
# Seen:      robots-parser allows it. Protego writes `?` as `%3F` before it measures, so that
#            the second rule has 10 octets and wins. A name of one letter more turns it round.
# Why:       paginated sitemaps have such addresses, and sites often disallow query strings.
#            RFC 9309, 2.2.2 asks for reserved characters to be escaped "prior to comparison",
#            yet its table of examples leaves `?` alone, so both readers have a case.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check protego==0.7.0
npm install --silent --no-audit --no-fund robots-parser@3.0.1

cat >robots.txt <<'END'
User-agent: *
Allow: /sitemaps
Allow: /sitemaps-en
Disallow: /*?page=
END

cat >read.py <<'END'
from protego import Protego

rules = Protego.parse(open("robots.txt").read())
for path in ("/sitemaps?page=2", "/sitemaps-en?page=2"):
    print(path, "allowed" if rules.can_fetch(f"https://example.org{path}", "reader") else "disallowed")
END

cat >read.mjs <<'END'
import { readFileSync } from "node:fs";
import robotsParser from "robots-parser";

const rules = robotsParser("https://example.org/robots.txt", readFileSync("robots.txt", "utf8"));
for (const path of ["/sitemaps?page=2", "/sitemaps-en?page=2"]) {
  console.log(path, rules.isAllowed(`https://example.org${path}`, "reader") ? "allowed" : "disallowed");
}
END

protego=$(venv/bin/python read.py)
robots_parser=$(node read.mjs)
printf 'protego:\n%s\nrobots-parser:\n%s\n' "$protego" "$robots_parser"
if [ "$protego" != $'/sitemaps?page=2 disallowed\n/sitemaps-en?page=2 allowed' ]; then
  echo "changed: protego measures otherwise"
  exit 1
fi
if [ "$robots_parser" != $'/sitemaps?page=2 allowed\n/sitemaps-en?page=2 allowed' ]; then
  echo "changed: robots-parser measures otherwise"
  exit 1
fi
