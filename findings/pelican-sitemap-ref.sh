#!/usr/bin/env bash
# pelican-sitemap names the translations of a page in an attribute that nothing reads.
#
# Version:   pelican-sitemap 1.2.2 with pelican 4.12.0 (PyPI).
# Expected:  a translation is <xhtml:link rel="alternate" hreflang="de" href="..."/>: XHTML's link
#            has its address in href, and that is what search engines document.
# Seen:      ref="...": the element has a language and no address.
# Why:       a reader that trusts the element finds a language without a page; one that
#            requires both drops it. Either way the translations of all sites with this
#            plug-in are lost, unless the reader knows the attribute of this generator.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check \
  pelican==4.12.0 pelican-sitemap==1.2.2

mkdir content
for language in en de; do
  printf ':date: 2024-03-01\n:slug: tea\n:lang: %s\n\nText.\n' "$language" |
    sed '1i Tea\n###\n' >"content/tea-$language.rst"
done
cat >pelicanconf.py <<'END'
PATH = "content"
SITEURL = "https://example.org"
TIMEZONE = "UTC"
DEFAULT_LANG = "en"
PLUGINS = ["pelican.plugins.sitemap"]
END
venv/bin/pelican --quiet --settings pelicanconf.py --output output

grep 'xhtml:link' output/sitemap.xml
if ! grep -q '<xhtml:link rel="alternate" hreflang="de" ref="' output/sitemap.xml; then
  echo "changed: the address is not in ref any more"
  exit 1
fi
if grep -q 'href=' output/sitemap.xml; then
  echo "changed: there is a href"
  exit 1
fi
