#!/usr/bin/env bash
# With one image, express-sitemap-xml writes a document that namespace-aware readers refuse.
#
# Version:   express-sitemap-xml 3.1.0 (npm), read with Python's own xml.etree.
# Expected:  the prefix of <image:image> is declared on urlset (Namespaces in XML 1.0, section 5).
# Seen:      it is declared nowhere. The parser stops at the prefix, and the pages after it are
#            lost with it. Without images the same sitemap is fine.
# Why:       a site adds a picture to one page, and all of its pages vanish from the readers that
#            use a conforming parser, while readers that match names by hand notice nothing.
#            A reader of real sitemaps has to survive prefixes that nobody declared.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund express-sitemap-xml@3.1.0

cat >write.cjs <<'END'
const { buildSitemaps } = require("express-sitemap-xml");

const pages = { plain: ["/tea"], pictured: [{ url: "/tea", image: "/tea.png" }, "/milk"] };
(async () => {
  const maps = await buildSitemaps(pages[process.argv[2]], "https://example.org");
  console.log(maps["/sitemap.xml"]);
})();
END

cat >read.py <<'END'
import sys
import xml.etree.ElementTree as ElementTree

try:
    ElementTree.fromstring(sys.stdin.read())
except ElementTree.ParseError as error:
    print(str(error).partition(":")[0])
else:
    print("well-formed")
END

for case in plain pictured; do
  found=$(node write.cjs "$case" | python3 read.py)
  echo "$case: $found"
  case "$case $found" in
    "plain well-formed" | "pictured unbound prefix") ;;
    *)
      echo "changed: the prefix is declared, or more is wrong"
      exit 1
      ;;
  esac
done
