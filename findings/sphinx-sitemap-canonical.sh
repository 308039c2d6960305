#!/usr/bin/env bash
# One build of Sphinx gives each page two addresses: one in its sitemap, one as its canonical link.
#
# Versions:  sphinx-sitemap 2.9.0 with sphinx 8.2.3 (PyPI), both as they come, and html_baseurl set.
# Expected:  a page is listed under the address that it names as its canonical one, and that is
#            where it lies in the output: https://example.org/index.html.
# Seen:      the sitemap has https://example.org/en/index.html: the plug-in puts the language
#            into the path, even of a project that sets no language and has no such folder.
#            The empty search page and the index of terms are listed too.
# Why:       an audit finds a sitemap of nothing but missing pages, or, where /en/ is redirected,
#            of pages whose canonical address is another. The cause is the default, not the site.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check sphinx==8.2.3 sphinx-sitemap==2.9.0

mkdir source
cat >source/conf.py <<'END'
project = "Tea"
extensions = ["sphinx_sitemap"]
html_baseurl = "https://example.org/"
END
printf 'Tea\n===\n\nText.\n' >source/index.rst
venv/bin/sphinx-build -q -b html source output

listed=$(grep -o '<loc>[^<]*' output/sitemap.xml | sed 's/<loc>//' | sort)
canonical=$(grep -o 'rel="canonical" href="[^"]*' output/index.html | sed 's/.*="//')
printf 'listed:\n%s\ncanonical:\n%s\n' "$listed" "$canonical"
if [ "$canonical" != "https://example.org/index.html" ]; then
  echo "changed: the canonical address is another"
  exit 1
fi
expected="https://example.org/en/genindex.html
https://example.org/en/index.html
https://example.org/en/search.html"
if [ "$listed" != "$expected" ]; then
  echo "changed: other addresses are listed"
  exit 1
fi
