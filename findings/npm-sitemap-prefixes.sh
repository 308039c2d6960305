#!/usr/bin/env bash
# The npm package sitemap knows elements by their prefix, not by their namespace.
#
# Version:   sitemap 9.0.1 (npm), its function parseSitemap.
# Expected:  prefixes are free (Namespaces in XML 1.0, section 4). The three documents below say
#            the same: one page, /page, with one image, /photo.png.
# Seen:      with prefixes for the sitemap's own elements there is no entry at all, and no error.
#            With the image's namespace as a default one, the image's address replaces that of
#            the page: the list has one entry, /photo.png.
# Why:       serialisers choose prefixes as they like (ns0, ns1). A count of entries does not
#            show the second case, because the number is right and only the page is wrong.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund sitemap@9.0.1

cat >read.mjs <<'END'
import { Readable } from "node:stream";
import { parseSitemap } from "sitemap";

const MAP = "http://www.sitemaps.org/schemas/sitemap/0.9";
const IMAGE = "http://www.google.com/schemas/sitemap-image/1.1";
const PAGE = "https://example.org/page";
const PHOTO = "https://example.org/photo.png";
const documents = {
  usual: `<urlset xmlns="${MAP}" xmlns:image="${IMAGE}"><url><loc>${PAGE}</loc>
    <image:image><image:loc>${PHOTO}</image:loc></image:image></url></urlset>`,
  prefixed: `<s:urlset xmlns:s="${MAP}" xmlns:image="${IMAGE}"><s:url><s:loc>${PAGE}</s:loc>
    <image:image><image:loc>${PHOTO}</image:loc></image:image></s:url></s:urlset>`,
  unprefixed: `<urlset xmlns="${MAP}"><url><loc>${PAGE}</loc>
    <image xmlns="${IMAGE}"><loc>${PHOTO}</loc></image></url></urlset>`,
};
const seen = { usual: [PAGE], prefixed: [], unprefixed: [PHOTO] };

for (const [name, text] of Object.entries(documents)) {
  const entries = await parseSitemap(Readable.from([text]));
  const found = entries.map((entry) => entry.url);
  console.log(name, found);
  if (JSON.stringify(found) !== JSON.stringify(seen[name])) {
    console.log(`changed: ${name} gave`, seen[name]);
    process.exit(1);
  }
}
END
node read.mjs 2>/dev/null
