#!/usr/bin/env bash
# A Hexo build without the key "hexo" in package.json builds nothing, and reports success.
#
# Versions:  hexo 8.1.1 with hexo-generator-sitemap 3.0.1 (npm).
# Expected:  `hexo generate` in a folder with _config.yml, posts and Hexo among the dependencies
#            builds the site, or fails.
# Seen:      it prints its usage, writes no file, and its status is 0. With "hexo": {} in
#            package.json, where Hexo then keeps its version, the same command writes sitemap.xml.
# Why:       the step is green, and what is published next is an empty folder or the site of the
#            last build: an old sitemap, or none. So a check of sitemaps has to look at the file
#            and its dates, and not at the status of the build.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p source/_posts
echo '{"name": "blog", "private": true}' >package.json
npm install --silent --no-audit --no-fund hexo@8.1.1 hexo-generator-sitemap@3.0.1
echo 'url: https://example.org' >_config.yml
printf -- '---\ntitle: One\n---\nText.\n' >source/_posts/one.html

if ! npx hexo generate >first.txt 2>&1; then
  echo "changed: the build fails"
  exit 1
fi
if ! grep -q '^Usage: hexo' first.txt || [ -e public ]; then
  echo "changed: the build does something"
  exit 1
fi
echo "without the key: $(head -n 1 first.txt), status 0, no files"

npm pkg set --json 'hexo={}'
npx hexo generate >second.txt 2>&1
if [ ! -e public/sitemap.xml ]; then
  echo "changed: the key is not enough"
  exit 1
fi
echo "with the key:    $(grep -o '<loc>[^<]*' public/sitemap.xml | head -n 1)"
