#!/usr/bin/env bash
# A dollar in robots.txt: Protego reads too much into one, robots-parser cannot be told of one.
#
# Versions:  protego 0.7.0 (PyPI) and robots-parser 3.0.1 (npm).
# Expected:  RFC 9309, 2.2.3: `$` at the end of a rule marks the end of the path, so that
#            `Disallow: /price$` is for /price alone. A dollar that is meant as such is
#            written `%24`: `Disallow: /price%24` is for /price$ and what begins so.
# Seen:      Protego gives the first rule both meanings, and disallows /price$list as well.
#            robots-parser compares `%24` as three letters: the second rule is for nothing.
# Why:       prices and templates put dollars into addresses. What a site wrote to keep a
#            robot out, or to let it in, depends on the library that asks.
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

rules = Protego.parse(f"User-agent: *\nDisallow: {sys.argv[1]}\n")
for path in sys.argv[2:]:
    if not rules.can_fetch(f"https://example.org{path}", "reader"):
        print(" ", path)
END

cat >read.mjs <<'END'
import robotsParser from "robots-parser";

const [rule, ...paths] = process.argv.slice(2);
const rules = robotsParser("https://example.org/robots.txt", `User-agent: *\nDisallow: ${rule}\n`);
for (const path of paths) {
  if (rules.isDisallowed(`https://example.org${path}`, "reader")) console.log(" ", path);
}
END

seen=""
# shellcheck disable=SC2016 # the dollars are meant
paths=('/price' '/price$' '/price$list' '/prices')
# shellcheck disable=SC2016
for rule in '/price$' '/price%24'; do
  seen+="$rule, protego:"$'\n'"$(venv/bin/python read.py "$rule" "${paths[@]}")"$'\n'
  seen+="$rule, robots-parser:"$'\n'"$(node read.mjs "$rule" "${paths[@]}")"$'\n'
done
printf '%s' "$seen"
# shellcheck disable=SC2016
expected='/price$, protego:
  /price
  /price$
  /price$list
/price$, robots-parser:
  /price
/price%24, protego:
  /price$
  /price$list
/price%24, robots-parser:

'
if [ "$seen" != "$expected" ]; then
  echo "changed: the two read a dollar otherwise"
  exit 1
fi
